/* SPDX-License-Identifier: MIT
 * GitHub's API as the collector uses it: one connection with its cache, token and
 * limits, answers as JSON. What is asked for and what it means is collect's business
 * (collection.h). Every answer comes out of the cache where it is there, and goes into it.
 * Invariant: the token goes to the origin of the API root and nowhere else.
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
    char *root;                  /* owned: "https://api.github.com", no slash at the end */
    size_t origin;               /* bytes of root that are scheme, host and port */
    char *graphql;               /* owned: the address of GraphQL */
    char *host;                  /* owned: web host that belongs to the API: "github.com" */
    const char *hosts[3];        /* web hosts of links to issues, up to NULL: `host`, and "github.com" for a mirror's API */
    aoei_store *store;           /* owned, as the next three */
    aoei_http *http;
    aoei_fetch *rest_fetch, *graphql_fetch; /* each has a quota of its own */
    aoe_github_progress progress;           /* as last told */
    uint64_t absent;                        /* offline: what the cache lacks */
    int cancelled;                          /* 1: progress asked to stop */
} aoei_github;

/* The clock of connections opened from now on; NULL: the machine's. For tests. */
extern const aoei_fetch_clock *aoei_github_clock;

/* *g is to be closed either way. Errors: AOE_EARG, those of aoei_store_open and aoei_http_create. */
int aoei_github_open(aoei_github *g, const aoe_github_options *o, aoe_error *err);
void aoei_github_close(aoei_github *g); /* accepts a zeroed or half-open one */

#define AOEI_GITHUB_FAILED (-1)   /* after all tries no answer that can be used, though the server can be reached */
enum { AOEI_GITHUB_SHOWN = 200 }; /* bytes of a server's message */

/* An answer. Zero it before the first use; a later call replaces what is in it. */
typedef struct aoei_github_answer {
    int status;                  /* 200, 403 (no limit: forbidden), 404, 410, 451, 422 ...; 0: offline, and the cache lacks
                                    it; AOEI_GITHUB_FAILED */
    char why[AOEI_GITHUB_SHOWN]; /* of a status other than 200: what the server said, "" for nothing; without the token */
    json_t *json;                /* owned: the body of a 200 (of GraphQL its "data"); NULL otherwise */
    char *next;                  /* owned: the page that follows; NULL: there is none */
    char *key;                   /* owned: under which the cache has it, for aoei_github_load */
    aoei_http_response response; /* as it came */
} aoei_github_answer;

void aoei_github_answer_free(aoei_github_answer *a); /* accepts a zeroed one */

/* The way through the pages of a list: a list whose pages lead back to one of them would never end (Brent 1980). Zero it at
 * the beginning. */
typedef struct aoei_github_pages {
    char *mark; /* owned: a page that was passed */
    size_t steps, until;
} aoei_github_pages;

/* Before each page, by its address or cursor. Errors: AOE_EFORMAT (it leads back), AOE_ENOMEM. */
int aoei_github_step(aoei_github_pages *w, const char *page, aoe_error *err);
void aoei_github_pages_free(aoei_github_pages *w); /* accepts a zeroed one */

/* GET of an address at the API's origin. again: 1: a kept answer other than 200 is asked for again (what was missing may be
 * there now). Errors: AOE_EIO (network, limits, refused token), AOE_EFORMAT (not the JSON that was
 * expected, a next page elsewhere), AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_github_get(aoei_github *g, const char *url, int again, aoei_github_answer *a, aoe_error *err);
/* A GraphQL query; variables is borrowed. What the API says is not found has status 404, what is forbidden 403. */
int aoei_github_query(aoei_github *g, const char *query, json_t *variables, int again, aoei_github_answer *a, aoe_error *err);
/* The JSON that the cache has under a key; json_decref it. Errors: AOE_EFORMAT (not there any more). */
int aoei_github_load(aoei_github *g, const char *key, json_t **json, aoe_error *err);

/* Tells the caller where the collector is. AOE_ECANCELLED: the caller wants to stop. */
int aoei_github_tell(aoei_github *g, aoe_error *err);

#endif
