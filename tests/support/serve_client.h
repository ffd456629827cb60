/* SPDX-License-Identifier: MIT
 * A server in the process of a test, and a client that sends requests to its socket.
 */
#pragma once

#include <stddef.h>

#include <aoe.h>
#include <aoe_serve.h>
#include <jansson.h>

/* Starts a server with two threads on a free port. models: [n] as in aoe_serve_options, borrowed until the server is
 * stopped; given: further options, or NULL. A failure fails the test. */
aoe_server *serve_start(const char *const *models, size_t n, const aoe_serve_options *given);
/* Stops a server that has answered all requests. */
void serve_stop(aoe_server *server);

/* Sends a request on a new connection. Returns the answer with its headers, which the caller frees. *status: HTTP
 * status. */
char *serve_request(const aoe_server *server, const char *method, const char *path, const char *body, int *status);
/* Sends a request and returns the body of the answer as JSON, which the caller frees with json_decref. Another status
 * fails the test. */
json_t *serve_call(const aoe_server *server, const char *method, const char *path, const char *body, int status);
/* Sends a request that must fail with the status. The answer must be an object whose key `key` is a string that
 * contains `message`. */
void serve_fail(const aoe_server *server, const char *path, const char *body, int status, const char *key,
                const char *message);

/* Checks that a JSON list has the components of v[n], bit by bit. */
void serve_check_vector(const json_t *list, const float *v, size_t n);
/* Computes the embeddings of n texts with aoe_embed and a model opened with the options o (NULL: defaults). Sets
 * vectors: [n, dims]. */
void serve_expect(const char *dir, const aoe_model_options *o, const char *const *texts, size_t n, float *vectors);
