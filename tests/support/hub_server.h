/* SPDX-License-Identifier: MIT
 * A server for tests that implements the protocol of the Hugging Face Hub. FOLDER/ORG/NAME contains the files of the
 * model ORG/NAME. Its branch is "main". Files that are larger than 20,000 bytes are stored with Git LFS: a request for
 * them is redirected to a second server with its own port, as the Hub does. These models are special:
 *
 *     gated/NAME      403 GatedRepo unless the token is "good"
 *     private/NAME    401 RepoNotFound unless the token is "good"
 *     disabled/NAME   403 with the message of a disabled model
 *     renamed/NAME    requests for files are redirected to models of acme by a relative Location
 *     loop/NAME       requests for files are redirected to themselves
 */
#pragma once

#include "http_server.h"

#define TEST_HUB_COMMIT "0123456789abcdef0123456789abcdef01234567" /* commit of each model */

/* The first four faults concern all requests, the others the second server. The caller initializes the struct with
 * zeros, may set the fields, and may change faults while the server runs. */
typedef struct test_hub {
    const char *folder; /* files of the models; borrowed */
    const char *log;    /* NULL: no log. A line for each request: the server ("hub" or "storage"), the method, the path,
                           the header Range, and "token" if the request has an Authorization header; borrowed */
    int busy;           /* 1: the first GET of each URL is answered with 429 and Retry-After, the second one with 500 */
    int limited;        /* 1: the first request for each URL is answered with 429 and the header RateLimit */
    int down;           /* 1: every request is answered with 503 */
    int traversal;      /* 1: the list contains a file outside the model */
    int no_etag;        /* 1: the headers contain no checksum */
    int longer;         /* 1: the size in the headers is larger than the file */
    size_t cut;         /* each answer ends after so many bytes; 0: it is complete */
    int slow;           /* 1: bodies are sent in many small parts */
    int stall;          /* 1: an answer begins after 30 seconds */
    int wrong;          /* 1: bodies have one wrong byte */
    int ignore_range;   /* 1: complete files are sent instead of the requested part */
    int no_range;       /* 1: requests with Range are answered with 416 */
    int other_part;     /* 1: Content-Range names another part of the file */
    int loop;           /* 1: requests are redirected to themselves */
    test_server *storage; /* the second server; set by test_hub_routes */
} test_hub;

/* Writes the files of a small model to FOLDER/ID, whose parent directories are created: config.json, tokenizer.json,
 * modules.json, 1_Pooling/config.json and model.safetensors, which has 30,000 bytes without meaning. */
void test_hub_write_model(const char *folder, const char *id);

/* Adds the routes to s and starts the second server, which the caller stops. hub must stay valid until both stop. */
void test_hub_routes(test_hub *hub, test_server *s);
/* Turns a fault on. name: the name of the field with '-' instead of '_', "cut=N", or "long" for `longer`. */
void test_hub_fault(test_hub *hub, const char *name);
