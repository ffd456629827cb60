/* SPDX-License-Identifier: MIT
 * A route: a method and a path, with the function that answers it and the description of its body and its answer.
 */
#pragma once

#include <stddef.h>

#include "serve/answer.h"
#include "serve/request.h"

struct aoei_server;
struct aoei_exchange;

/* Answers a request. It may answer at once, or store x and answer it later from any thread. */
typedef void (*aoei_route_fn)(struct aoei_server *server, struct aoei_exchange *x);

/* Flags of a route. */
enum {
    AOEI_ROUTE_OPEN = 1,  /* needs no API key */
    AOEI_ROUTE_WRITES = 2 /* changes an index; the server must allow it */
};

typedef struct aoei_route {
    const char *method;       /* "GET", "POST" or "DELETE" */
    const char *path;         /* "/embed"; "/index/{name}/{id}" has two parameters, each a part without '/' */
    aoei_route_fn fn;         /* answers the request */
    const aoei_field *fields; /* [n_fields] keys of the body, or parameters of the query of a GET; NULL: none */
    size_t n_fields;          /* number of fields */
    const char *summary;      /* one sentence for /openapi.json */
    const char *answer;       /* JSON schema of the answer as JSON text; NULL: any value */
    const char *type;         /* media type of the answer; NULL: application/json */
    aoei_family family;       /* form of its errors */
    unsigned flags;           /* AOEI_ROUTE_* */
} aoei_route;
