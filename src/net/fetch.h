/* SPDX-License-Identifier: MIT
 * HTTP requests with retries, rate limits, a minimum interval between requests, and a cache.
 *
 * - A request is retried after status 408 or 5xx (except 501 and 505), a failed connection, a time-out or an incomplete
 *   body. The wait before a retry grows exponentially and has random jitter from a seed. It is at least as long as a
 *   Retry-After header requires.
 * - A rate limit is reported by status 429, or by status 403 if the response also contains Retry-After, a remaining
 *   quota of 0, or a message about a rate limit (GitHub's primary and secondary limits). The response contains the wait
 *   in Retry-After or the time at which the quota is reset. If it contains neither, the wait is at least a minute for a
 *   secondary limit; for other limits, it grows exponentially. After any response with a remaining quota of 0, the next
 *   request waits until the quota is reset.
 * - All other responses are returned to the caller, for example status 200, 401, 404, or 301 after a POST.
 *
 * One aoei_fetch handles one set of rate limits. GitHub's REST and GraphQL APIs have separate limits, so each of them
 * needs its own aoei_fetch. Several threads may share an aoei_fetch, but each thread needs its own aoei_http. A rate
 * limit that is reported to one thread delays the requests of all threads.
 */
#pragma once

#include "net/http.h"
#include "net/store.h"

typedef struct aoei_fetch aoei_fetch;

/* Functions that read the time and sleep; tests replace them. */
typedef struct aoei_fetch_clock {
    double (*now)(void *user);                 /* monotonic time in seconds */
    int64_t (*unix_time)(void *user);          /* seconds since 1970 */
    void (*sleep)(void *user, double seconds); /* sleeps for at most this number of seconds; may return early */
    void *user;
} aoei_fetch_clock;

typedef struct aoei_fetch_counts {
    uint64_t requests;  /* number of requests sent, retries included */
    uint64_t retries;   /* number of retries in `requests` */
    uint64_t stored;    /* number of responses from the cache for which no request was sent */
    uint64_t unchanged; /* number of responses with status 304, which confirm that a cached response is valid */
    double waited;      /* total seconds that all threads have waited */
    aoei_rate rate;     /* last quota that the server reported; unknown fields are -1 */
} aoei_fetch_counts;

typedef enum aoei_fetch_event {
    AOEI_FETCH_RESPONSE, /* a response arrived or was found in the cache */
    AOEI_FETCH_RETRY,    /* waiting before a retry */
    AOEI_FETCH_LIMIT     /* waiting for the server's rate limit */
} aoei_fetch_event;

typedef struct aoei_fetch_progress {
    aoei_fetch_event event;
    const char *why; /* reason of the wait, one line without line end, borrowed; "" for AOEI_FETCH_RESPONSE */
    double seconds;  /* remaining seconds of the wait; 0 for AOEI_FETCH_RESPONSE */
    aoei_fetch_counts counts;
} aoei_fetch_progress;

typedef struct aoei_fetch_options {
    size_t attempts;     /* maximum number of attempts per request; 0 means 6 */
    double first_delay;  /* seconds before the second attempt, doubled for each further attempt; 0 means 1 */
    double max_delay;    /* maximum delay between attempts in seconds; 0 means 60 */
    double max_wait;     /* maximum seconds of a wait for a rate limit or Retry-After; a request that must wait longer
                            fails; 0 means 3700 */
    double min_interval; /* minimum seconds between the starts of two requests of any threads; 0: none */
    uint64_t seed;       /* seed of the jitter */
    aoei_stop_fn stop;   /* called several times per second while waiting; a nonzero result cancels; NULL: none */
    void *stop_user;
    /* Progress callback. It is called by one thread at a time, and once per second during a wait. It must not call
     * functions of fetch.h. NULL: none. */
    void (*progress)(void *user, const aoei_fetch_progress *p);
    void *progress_user;
    const aoei_fetch_clock *clock; /* copied; NULL: the system clock */
} aoei_fetch_options;

/* Creates an aoei_fetch. If o is NULL, the default options are used. Errors: AOE_ENOMEM. */
int aoei_fetch_create(aoei_fetch **f, const aoei_fetch_options *o, aoe_error *err);
void aoei_fetch_destroy(aoei_fetch *f);            /* accepts NULL */
aoei_fetch_counts aoei_fetch_count(aoei_fetch *f); /* returns the current counts */

/* Classes of complete responses. The class determines what aoei_fetch_send does. */
typedef enum aoei_response_class {
    AOEI_RESPONSE_BY_STATUS,    /* it decides by the status, as described at the top of this file */
    AOEI_RESPONSE_FINAL,        /* it returns the response, whatever the status, for example 429 if the account has no
                                   credit */
    AOEI_RESPONSE_INVALID,      /* it retries the request as for status 500, for example if the body is not JSON */
    AOEI_RESPONSE_RATE_LIMITED, /* it waits as for status 429; GraphQL reports rate limits with status 200 */
    AOEI_RESPONSE_NO_MEMORY /* it returns AOE_ENOMEM, because an allocation failed while the response was classified */
} aoei_response_class;
/* Callback that classifies a response. */
typedef aoei_response_class (*aoei_classify_fn)(void *user, const aoei_http_response *r);

/* An aoei_classify_fn for APIs that return JSON: AOEI_RESPONSE_INVALID if a 2xx response has a body that is not JSON,
 * otherwise AOEI_RESPONSE_BY_STATUS. */
aoei_response_class aoei_classify_json(void *user, const aoei_http_response *r);

/* Sends a request, with retries and waits, until a response can be returned to the caller. If classify is NULL, every
 * response has the class AOEI_RESPONSE_BY_STATUS. Errors: see aoei_http_send, if the error is not temporary or the last
 * attempt fails; AOE_EIO if all attempts fail or the wait for a rate limit is longer than max_wait. */
int aoei_fetch_send(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, aoei_classify_fn classify,
                    void *classify_user, aoei_http_response *r, aoe_error *err);

/* Maximum age in seconds of a cached response that is used without asking the server. */
#define AOEI_AGE_ANY  (-1.0) /* any age: a cached response is always used */
#define AOEI_AGE_NONE 0.0    /* always ask the server, conditionally if the cached response has ETag or Last-Modified */

/* Like aoei_fetch_send, but uses a cache. A response that is cached under `key` is returned if it is younger than
 * max_age (in seconds). Otherwise a request is sent. If there is an older cached response, the request contains
 * If-None-Match and If-Modified-Since. If the server answers with 304, the cached response is returned with its cached
 * status. Responses to all methods are cached if the status is 2xx, 404, 410 or 451, unless the URL or headers of the
 * response contain q->token. Occurrences of q->token in a body are redacted in the cache and in the returned response.
 * *from_cache (may be NULL) is set to 1 if the returned body is from the cache. Errors: see aoei_fetch_send and
 * store.h. */
int aoei_fetch_cached(aoei_fetch *f, aoei_http *h, aoei_store *s, aoe_text key, double max_age,
                      const aoei_http_request *q, aoei_classify_fn classify, void *classify_user, aoei_http_response *r,
                      int *from_cache, aoe_error *err);
