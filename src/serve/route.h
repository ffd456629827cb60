/* SPDX-License-Identifier: MIT
 * A route: a method and a path, with the function that answers it and the description of its body and its answer.
 */
#pragma once

#include <stddef.h>

#include "serve/answer.h"
#include "serve/request.h"

typedef struct aoei_call aoei_call; /* serve/call.h */

/* Answers a request, or starts a job that answers it later. */
typedef void (*aoei_route_fn)(aoei_call *call);

/* Flags of a route. */
enum {
    AOEI_ROUTE_OPEN = 1,   /* needs no API key */
    AOEI_ROUTE_WRITES = 2, /* changes an index; the server must allow it */
    AOEI_ROUTE_WAITS = 4   /* may take long until it answers or starts a job; runs in a thread that may wait */
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

/* The route of a request. */
typedef struct aoei_route_match {
    const aoei_route *route; /* NULL: none */
    char allowed[64];        /* methods of the path, separated by ", "; "": there is no such path */
    char first[256];         /* parameters of the path; "": none */
    char second[1024];
} aoei_route_match;

/* Returns the family whose form the errors of a path have, also if no route has the path. */
aoei_family aoei_route_family(const char *path);
/* Looks for the route of a method and a path in a table. HEAD is a GET. Returns 0, or 1 if there is none. */
int aoei_route_find(const aoei_route *routes, size_t n, const char *method, const char *path, aoei_route_match *m);
