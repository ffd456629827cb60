/* SPDX-License-Identifier: MIT
 * GitHub's API for the collector: a connection with its cache, token and rate limits. Responses are JSON. The
 * functions of collection.h decide what to request. Every response is read from the cache if it is there, and stored in the
 * cache otherwise. Invariant: the token is sent only to the origin of the API.
 */
#ifndef AOEI_COLLECT_GITHUB_H
#define AOEI_COLLECT_GITHUB_H

#include <jansson.h>

#include "aoe.h"
#include "aoe_data.h"
#include "net/fetch.h"
#include "net/http.h"
#include "net/store.h"

typedef struct aoei_github {
    const aoe_github_options *o; /* borrowed */
    char *root;                  /* URL of the API without a slash at the end, such as "https://api.github.com"; owned */
    size_t origin;               /* length of scheme, host and port in root */
    char *graphql;               /* URL of the GraphQL API, owned */
    char *host;                  /* web host that belongs to the API, such as "github.com"; owned */
    const char *hosts[3];        /* web hosts of links to issues, NULL-terminated: `host`, and "github.com" for a mirror */
    aoei_store *store;           /* cache, owned */
    aoei_http *http;             /* connection, owned */
    aoei_fetch *rest_fetch, *graphql_fetch; /* rate limits and counts of REST and GraphQL, which have separate quotas; owned */
    aoe_github_progress progress;           /* last reported progress */
    uint64_t absent;                        /* number of responses that are not in the cache, in offline mode */
    int cancelled;                          /* 1: the progress callback requested cancellation */
} aoei_github;

/* Clock that aoei_github_open gives to new connections. If it is NULL, they use the system clock. Only tests set this
 * variable. */
extern const aoei_fetch_clock *aoei_github_clock;

/* Opens *g, which must be closed even after an error. Errors: AOE_EARG; errors of aoei_store_open and aoei_http_create. */
int aoei_github_open(aoei_github *g, const aoe_github_options *o, aoe_error *err);
void aoei_github_close(aoei_github *g); /* accepts a zeroed or partly opened struct */

#define AOEI_GITHUB_FAILED (-1)   /* status: the server is reachable, but every attempt gave an unusable response */
enum { AOEI_GITHUB_SHOWN = 200 }; /* maximum size in bytes of a server's message, including NUL */

/* A response. Zeroed before the first request; each request replaces its contents. */
typedef struct aoei_github_response {
    int status; /* HTTP status such as 200, 403 (forbidden, not a rate limit) or 404; AOEI_GITHUB_FAILED; or 0 if the response
                   is not in the cache in offline mode */
    char why[AOEI_GITHUB_SHOWN]; /* message of the server if the status is not 200, without the token; "": no message */
    json_t *json;                /* body of a response with status 200 (GraphQL: its "data"), owned; otherwise NULL */
    char *next;                  /* URL of the next page, owned; NULL: this is the last page */
    char *key;                   /* key in the cache for aoei_github_load, owned */
    aoei_http_response response; /* the HTTP response */
} aoei_github_response;

void aoei_github_response_free(aoei_github_response *a); /* accepts a zeroed struct */

/* Detects lists of pages that contain a cycle and would never end (Brent 1980). Zeroed before the first page. */
typedef struct aoei_github_pages {
    char *mark;          /* an earlier page, owned */
    size_t steps, until; /* steps: number of pages so far; until: number of pages at which the current page replaces `mark` */
} aoei_github_pages;

/* Call it before each page, with the page's URL or cursor. Errors: AOE_EFORMAT if the page was already read; AOE_ENOMEM. */
int aoei_github_check_page(aoei_github_pages *w, const char *page, aoe_error *err);
void aoei_github_pages_free(aoei_github_pages *w); /* accepts a zeroed struct */

/* Sends a GET request to a URL with the origin of the API. If again is 1 and a cached response has a status other than
 * 200, the request is sent again, because a missing object may exist now. Errors: AOE_EIO (network, limits, rejected token),
 * AOE_EFORMAT (invalid JSON, a next page with another origin), AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_github_get(aoei_github *g, const char *url, int again, aoei_github_response *a, aoe_error *err);
/* Sends a GraphQL query; `variables` is borrowed, `again` and errors are as for aoei_github_get. The status is 404 if the API
 * reports "not found", and 403 for "forbidden". */
int aoei_github_query(aoei_github *g, const char *query, json_t *variables, int again, aoei_github_response *a, aoe_error *err);
/* Loads the JSON of a response from the cache; the caller calls json_decref. Errors: AOE_EFORMAT if the response is no longer
 * in the cache; AOE_ENOMEM. */
int aoei_github_load(aoei_github *g, const char *key, json_t **json, aoe_error *err);

/* Calls the progress callback. Errors: AOE_ECANCELLED if the callback requests cancellation. */
int aoei_github_report_progress(aoei_github *g, aoe_error *err);

#endif
