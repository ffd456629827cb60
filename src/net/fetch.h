/* SPDX-License-Identifier: MIT
 * Requests made politely: tried again where that may help, paced, held back while the server's limits say so, and
 * answered by the store where it can.
 *
 * - Tried again with exponential backoff and seeded jitter: 408 and 5xx (but 501 and 505), no connection,
 *   time-outs, bodies cut off. Retry-After is obeyed wherever it comes.
 * - Limits: 429; 403 with Retry-After, with no quota left, or with a message that speaks of a rate limit (GitHub's
 *   primary and secondary limits). The wait is what Retry-After or the reset time say, else at least a minute for a
 *   secondary limit, else backoff. An answer that says 0 of the quota is left holds the next request until the reset.
 * - Every other status is the caller's to interpret: 301 of a POST, 401, 404, 410, 422 ...
 *
 * One aoei_fetch is one server's limits (GitHub's REST and GraphQL have one each); threads share it, each with an
 * aoei_http of its own: a limit met by one holds all of them.
 */
#ifndef AOEI_NET_FETCH_H
#define AOEI_NET_FETCH_H

#include "net/http.h"
#include "net/store.h"

typedef struct aoei_fetch aoei_fetch;

/* What time is and how it passes; tests have their own. */
typedef struct aoei_fetch_clock {
    double (*now)(void *user);                 /* seconds, monotonic */
    int64_t (*unix_time)(void *user);          /* seconds since 1970 */
    void (*sleep)(void *user, double seconds); /* may return early */
    void *user;
} aoei_fetch_clock;

typedef struct aoei_fetch_counts {
    uint64_t requests;  /* sent, repeated ones included */
    uint64_t retries;   /* of them repeated */
    uint64_t stored;    /* answers that came out of the store without a request */
    uint64_t unchanged; /* 304: asked, and the store's answer is still right */
    double waited;      /* seconds, over all threads */
    aoei_rate rate;     /* quota as last heard; -1: not heard of */
} aoei_fetch_counts;

typedef enum aoei_fetch_event {
    AOEI_FETCH_ANSWER, /* an answer came, or was in the store */
    AOEI_FETCH_RETRY,  /* waiting before another try; `why` */
    AOEI_FETCH_LIMIT   /* waiting until the server's limit lets us on; `why` */
} aoei_fetch_event;

typedef struct aoei_fetch_progress {
    aoei_fetch_event event;
    const char *why; /* one line without line end; "" for AOEI_FETCH_ANSWER; borrowed */
    double seconds;  /* left to wait */
    aoei_fetch_counts counts;
} aoei_fetch_progress;

typedef struct aoei_fetch_options {
    size_t attempts;     /* of a request that fails; 0: 6 */
    double first_delay;  /* seconds before the second try, doubled each time; 0: 1 */
    double max_delay;    /* seconds it grows to; 0: 60 */
    double max_wait;     /* longest wait for a limit in seconds: above it an error says when to come back; 0: 3700 */
    double min_interval; /* seconds between the starts of two requests, over all threads; 0: none */
    uint64_t seed;       /* of the jitter */
    aoei_stop_fn stop;   /* asked while waiting; NULL: nothing ends a wait */
    void *stop_user;
    void (*progress)(void *user, const aoei_fetch_progress *p); /* NULL: none; called by one thread at a time, once a
                                                                   second of waiting; must not call into fetch.h */
    void *progress_user;
    const aoei_fetch_clock *clock; /* copied; NULL: the machine's */
} aoei_fetch_options;

/* Options NULL: all zeros. Errors: AOE_ENOMEM. */
int aoei_fetch_create(aoei_fetch **f, const aoei_fetch_options *o, aoe_error *err);
void aoei_fetch_destroy(aoei_fetch *f); /* NULL accepted */
aoei_fetch_counts aoei_fetch_count(aoei_fetch *f);

/* What to make of an answer that came whole. */
typedef enum aoei_verdict {
    AOEI_VERDICT_BY_STATUS, /* as above */
    AOEI_VERDICT_FINAL,     /* hand it over, whatever its status (a 429 for an empty account) */
    AOEI_VERDICT_BROKEN,    /* try again as for a 500 (a body that is no JSON); the last one is an error */
    AOEI_VERDICT_LIMITED,   /* wait as for a 429 (GraphQL says so with a 200) */
    AOEI_VERDICT_NO_MEMORY  /* the judge ran out of memory: AOE_ENOMEM */
} aoei_verdict;
typedef aoei_verdict (*aoei_judge_fn)(void *user, const aoei_http_response *r);

/* A judge for APIs whose good answers are JSON: BROKEN when a 2xx answer with a body is not, else BY_STATUS. */
aoei_verdict aoei_judge_json(void *user, const aoei_http_response *r);

/* Sends until there is an answer to hand over; judge may be NULL. Errors: those of aoei_http_send once no try is left or
 * none can help; AOE_EIO (still failing after all tries, or the limit is further off than max_wait). */
int aoei_fetch_send(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, aoei_judge_fn judge, void *judge_user,
                    aoei_http_response *r, aoe_error *err);

/* How old in seconds an answer of the store may be to be given without asking the server. */
#define AOEI_AGE_ANY  (-1.0) /* any: never ask for what is there */
#define AOEI_AGE_NONE 0.0    /* always ask, conditionally where there is an ETag or a Last-Modified */

/* As aoei_fetch_send, through the store. What is kept under the key is given when it is young enough; else the server
 * is asked with If-None-Match, and 304 means what is kept (the response then has the kept status). Kept: answers 2xx,
 * 404, 410 and 451 that the judge did not refuse and whose URL and headers do not hold the token; in a body it is
 * blotted out, in what is handed over too. Any method: a POST is kept under
 * its key like a GET. *from_store (may be NULL) is 1 when no body was transferred. Errors also: those of store.h. */
int aoei_fetch_cached(aoei_fetch *f, aoei_http *h, aoei_store *s, aoe_text key, double max_age, const aoei_http_request *q,
                      aoei_judge_fn judge, void *judge_user, aoei_http_response *r, int *from_store, aoe_error *err);

#endif
