/* SPDX-License-Identifier: MIT
 * Access to GitHub's REST and GraphQL APIs. A connection has a cache, a token and rate limits. A response is read from
 * the cache if the cache contains it. Otherwise it is requested from the server and stored in the cache. Invariant: the
 * token is sent only to the origin (scheme, host and port) of the API.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "aoe_collect.h"
#include "net/fetch.h"
#include "net/http.h"
#include "net/store.h"

typedef struct aoei_github {
    const aoe_github_options *o; /* borrowed */
    char *root;    /* URL of the API without a slash at the end, such as "https://api.github.com"; owned */
    size_t origin; /* length in bytes of scheme, host and port in `root` */
    char *graphql; /* URL of the GraphQL API, owned */
    char *host;    /* web host that belongs to the API, such as "github.com"; owned */
    /* web hosts that occur in links to issues, NULL-terminated: `host`, and for a mirror of GitHub also "github.com" */
    const char *hosts[3];
    aoei_store *store;                      /* cache, owned */
    aoei_http *http;                        /* HTTP client, owned */
    aoei_fetch *rest_fetch, *graphql_fetch; /* senders of REST and GraphQL requests, which have separate rate limits;
                                               owned */
    aoe_github_progress progress;           /* last reported progress */
    uint64_t absent; /* number of responses that were needed in offline mode but are not in the cache */
    int cancelled;   /* 1: the progress callback requested cancellation */
} aoei_github;

/* Clock of connections that aoei_github_open opens. If the variable is NULL, they use the system clock. Only tests set
 * it. */
extern const aoei_fetch_clock *aoei_github_clock;

/* Opens a connection. *g must be closed even after an error. Errors: AOE_EARG; errors of aoei_store_open and
 * aoei_http_create. */
int aoei_github_open(aoei_github *g, const aoe_github_options *o, aoe_error *err);
void aoei_github_close(aoei_github *g); /* accepts a zeroed or partly opened struct */

#define AOEI_GITHUB_FAILED (-1)   /* status if the server is reachable, but no attempt gave a usable response */
enum { AOEI_GITHUB_SHOWN = 200 }; /* maximum size in bytes of a server's message, including NUL */

/* A response. The caller zeroes it before the first request; each request replaces its contents. */
typedef struct aoei_github_response {
    /* HTTP status, such as 200, 404, or 403 (access is forbidden; never an exceeded rate limit). AOEI_GITHUB_FAILED: no
     * attempt gave a usable response. 0: in offline mode, the response is not in the cache. */
    int status;
    char why[AOEI_GITHUB_SHOWN]; /* message of the server if the status is not 200, with the token redacted; "": no
                                    message */
    json_t *json; /* body (REST) or "data" of the body (GraphQL) if the status is 200, owned; otherwise NULL */
    char *next;   /* URL of the next page of a list, owned; NULL: there is no next page */
    char *key;    /* cache key of the response, for aoei_github_load; owned */
    aoei_http_response response; /* the HTTP response */
} aoei_github_response;

void aoei_github_response_free(aoei_github_response *a); /* accepts a zeroed struct */

/* State of a cycle check for one list of pages. If a page refers to an earlier page as the next page, reading would
 * never end. The check uses Brent's algorithm (1980). The caller zeroes the struct before the first page of a list. */
typedef struct aoei_github_pages {
    char *mark;          /* URL or cursor of an earlier page, owned */
    size_t steps, until; /* steps: number of pages so far; until: value of `steps` at which the current page replaces
                            `mark` */
} aoei_github_pages;

/* Checks a page before it is requested. page: URL or cursor of the page. Errors: AOE_EFORMAT if the page was already
 * read; AOE_ENOMEM. */
int aoei_github_check_page(aoei_github_pages *w, const char *page, aoe_error *err);
void aoei_github_pages_free(aoei_github_pages *w); /* accepts a zeroed struct */

/* Sends a GET request to a URL that has the origin of the API. If `again` is 1 and the cached response has a status
 * other than 200, the request is sent again, because an object that was missing may exist now. Errors: AOE_EIO
 * (network, limits, rejected token), AOE_EFORMAT (invalid JSON, a next page with another origin), AOE_ECANCELLED,
 * AOE_ENOMEM. */
int aoei_github_get(aoei_github *g, const char *url, int again, aoei_github_response *a, aoe_error *err);
/* Sends a GraphQL query. variables: JSON object with the variables of the query, borrowed; again: as for
 * aoei_github_get. Sets a->status to 404 if the API reports NOT_FOUND, and to 403 if it reports FORBIDDEN. Errors: the
 * same as aoei_github_get. */
int aoei_github_query(aoei_github *g, const char *query, json_t *variables, int again, aoei_github_response *a,
                      aoe_error *err);
/* Loads the JSON of a response from the cache; the caller releases *json with json_decref. Errors: AOE_EFORMAT if the
 * response is no longer in the cache; AOE_ENOMEM. */
int aoei_github_load(aoei_github *g, const char *key, json_t **json, aoe_error *err);

/* Calls the progress callback. Errors: AOE_ECANCELLED if the callback requests cancellation. */
int aoei_github_report_progress(aoei_github *g, aoe_error *err);
