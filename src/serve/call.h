/* SPDX-License-Identifier: MIT
 * The parts of a server, and one call of a route. A route parses the body of the request (aoei_call_parse), and either
 * answers at once, or creates a job (serve/job.h), whose function answers when all vectors are there.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "aoe_serve.h"
#include "base/log.h"
#include "serve/answer.h"
#include "serve/cache.h"
#include "serve/exchange.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/models.h"
#include "serve/request.h"
#include "serve/request_threads.h"
#include "serve/route.h"

typedef struct aoei_indexes aoei_indexes;

/* State of a server for /readyz. */
typedef enum aoei_server_state {
    AOEI_LOADING,
    AOEI_READY,
    AOEI_DRAINING, /* requests in flight are finished */
    AOEI_STOPPING  /* requests in flight are given up */
} aoei_server_state;

struct aoe_server {
    aoe_serve_options o; /* the strings are borrowed */
    aoei_log log;
    aoei_http *http;          /* owned */
    aoei_models *models;      /* owned */
    aoei_indexes *indexes;    /* owned; serve/indexes.h */
    aoei_cache *cache;        /* owned; NULL: no cache */
    aoei_metrics *metrics;    /* owned */
    const aoei_route *routes; /* [n_routes] table of all routes, borrowed */
    size_t n_routes;
    aoei_request_threads waiting; /* threads of calls that wait for a model or an index, or take long */
    aoei_request_threads writing; /* the thread of calls that change an index, one after another */
    atomic_int state;             /* an aoei_server_state */
    atomic_size_t requests;       /* requests of routes that compute, in flight */
};

/* One call of a route. */
struct aoei_call {
    aoe_server *server;
    aoei_exchange *x;
    const aoei_route *route;
    aoei_request request; /* body; freed after the call, unless a job took it */
    const char *param[2]; /* parts of the path, see aoei_route.path; NULL: none */
    int may_wait;         /* 1: this thread may wait for a model that is opened */
    int would_wait;       /* set to 1 if a model must be opened, and may_wait is 0. The route must return without an
                             answer; it is then called again in a thread that may wait */
    int counted;          /* 1: the call counts among aoe_server.requests */
};

/* Parses the body by the fields of the route into *out. Returns 0, or 1 after answering that it is wrong. */
int aoei_call_parse(aoei_call *c, void *out);
/* Parses the body, an object, into c->request.root, so that a route can choose the fields by the keys of the body. Then
 * aoei_call_parse reads it. Returns 0, or 1 after answering that it is wrong. */
int aoei_call_load(aoei_call *c);
int aoei_call_load_body(aoei_call *c, aoe_text body); /* the same for a body that the route has changed */
/* Returns the next route of the table with the same path and method, which describes another form of the body; NULL:
 * there is none. */
const aoei_route *aoei_call_next_route(const aoei_call *c);
/* Returns the model `name` (NULL: the default), or NULL after answering the error, or with c->would_wait set. The
 * caller calls aoei_models_release. kind: AOEI_TASK_EMBED: an embedding model is needed; AOEI_TASK_SCORE: a
 * cross-encoder; AOEI_TASK_STATES: any model. */
aoei_served *aoei_call_model(aoei_call *c, const char *name, aoei_task_kind kind);
/* Answers with an error in the form of the route's family. */
void aoei_call_fail(aoei_call *c, aoei_error_kind kind, const char *fmt, ...) AOEI_PRINTF(3, 4);
/* Copies a message of the library to text[size], with the keys of the request instead of the options of the library:
 * "options.NAME" becomes "`NAME`". length_key: key of the maximum length of a text; NULL: the request has none */
void aoei_call_name_keys(const char *message, const char *length_key, char *text, size_t size);
/* Answers with an error of the library. */
void aoei_call_fail_code(aoei_call *c, int code, const aoe_error *err);
/* Answers with JSON. Takes over the memory of body. */
void aoei_call_answer(aoei_call *c, aoei_buffer *body);
/* Answers an exchange with an error in the form of the route's family. param: wrong key of the body, or NULL. */
void aoei_call_fail_exchange(aoei_exchange *x, const aoei_route *route, aoei_error_kind kind, const char *message,
                             const char *param);
/* Returns the kind of error for the client that an aoe_code means. */
aoei_error_kind aoei_call_error_kind(int code);
