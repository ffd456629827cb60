/* SPDX-License-Identifier: MIT
 * GitHub's API for the collector: one connection with its cache, token and limits; answers are JSON. collection.h decides
 * what to request. Every answer is read from the cache if it is there, and stored in it otherwise. Invariant: the token is
 * sent to the origin of the API only.
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
    char *root;                  /* owned: "https://api.github.com", without a slash at the end */
    size_t origin;               /* length of scheme, host and port in root */
    char *graphql;               /* owned: address of the GraphQL API */
    char *host;                  /* owned: web host that belongs to the API: "github.com" */
    const char *hosts[3];        /* web hosts of links to issues, up to NULL: `host`, and "github.com" for a mirror's API */
    aoei_store *store;           /* owned, as the next three */
    aoei_http *http;
    aoei_fetch *rest_fetch, *graphql_fetch; /* owned; REST and GraphQL have separate quotas */
    aoe_github_progress progress;           /* last reported progress */
    uint64_t absent;                        /* offline: number of answers that the cache lacks */
    int cancelled;                          /* 1: the progress function requested to stop */
} aoei_github;

/* Clock of connections opened from now on; NULL: the system clock. For tests. */
extern const aoei_fetch_clock *aoei_github_clock;

/* Opens *g, which must be closed in any case. Errors: AOE_EARG, those of aoei_store_open and aoei_http_create. */
int aoei_github_open(aoei_github *g, const aoe_github_options *o, aoe_error *err);
void aoei_github_close(aoei_github *g); /* accepts a zeroed or half-open one */

#define AOEI_GITHUB_FAILED (-1)   /* the server is reachable, but no attempt gave a usable answer */
enum { AOEI_GITHUB_SHOWN = 200 }; /* bytes of a server's message */

/* An answer. Zero it before the first call; a later call replaces its contents. */
typedef struct aoei_github_answer {
    int status; /* 200, 403 (forbidden, not a rate limit), 404, 410, 451, 422 ...; 0: offline and not in the cache;
                   AOEI_GITHUB_FAILED */
    char why[AOEI_GITHUB_SHOWN]; /* message of the server for a status other than 200, "" if there is none; the token is
                                    redacted */
    json_t *json;                /* owned: body of a 200 (GraphQL: its "data"); otherwise NULL */
    char *next;                  /* owned: address of the next page; NULL: this is the last page */
    char *key;                   /* owned: key in the cache, for aoei_github_load */
    aoei_http_response response; /* the HTTP response */
} aoei_github_answer;

void aoei_github_answer_free(aoei_github_answer *a); /* accepts a zeroed one */

/* Detects lists of pages that contain a cycle and would never end (Brent 1980). Zero it before the first page. */
typedef struct aoei_github_pages {
    char *mark; /* owned: an earlier page */
    size_t steps, until;
} aoei_github_pages;

/* To be called before each page with its address or cursor. Errors: AOE_EFORMAT (the page was seen before), AOE_ENOMEM. */
int aoei_github_step(aoei_github_pages *w, const char *page, aoe_error *err);
void aoei_github_pages_free(aoei_github_pages *w); /* accepts a zeroed one */

/* Sends a GET request to an address at the origin of the API. again: 1: a cached answer other than 200 is requested again
 * (what was missing may exist now). Errors: AOE_EIO (network, limits, rejected token), AOE_EFORMAT (unexpected JSON, a next
 * page at another origin), AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_github_get(aoei_github *g, const char *url, int again, aoei_github_answer *a, aoe_error *err);
/* Sends a GraphQL query; variables is borrowed. If the API reports "not found", the status is 404; for "forbidden" it is
 * 403. */
int aoei_github_query(aoei_github *g, const char *query, json_t *variables, int again, aoei_github_answer *a, aoe_error *err);
/* Loads the JSON of an answer from the cache; release it with json_decref. Errors: AOE_EFORMAT (no longer in the cache). */
int aoei_github_load(aoei_github *g, const char *key, json_t **json, aoe_error *err);

/* Reports the progress to the caller. AOE_ECANCELLED: the caller wants to stop. */
int aoei_github_tell(aoei_github *g, aoe_error *err);

#endif
