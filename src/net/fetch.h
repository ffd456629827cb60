/* SPDX-License-Identifier: MIT
 * HTTP requests with retries, pacing, rate limits and a cache.
 *
 * - Retried with exponential backoff and seeded jitter: status 408 and 5xx (except 501 and 505), failed connections,
 *   time-outs and incomplete bodies. Retry-After is obeyed in every response.
 * - Rate limits: status 429; status 403 with Retry-After, without remaining quota, or with a message about a rate
 *   limit (GitHub's primary and secondary limits). The wait is given by Retry-After or by the reset time. Without them,
 *   it is at least a minute for a secondary limit, and backoff otherwise. A response that reports a remaining quota of 0
 *   delays the next request until the reset.
 * - All other statuses are returned to the caller: 301 of a POST, 401, 404, 410, 422 ...
 *
 * One aoei_fetch handles the limits of one server (GitHub's REST and GraphQL APIs have separate limits). Threads share it,
 * each with its own aoei_http; a limit that one thread meets makes all of them wait.
 */
#ifndef AOEI_NET_FETCH_H
#define AOEI_NET_FETCH_H

#include "net/http.h"
#include "net/store.h"

typedef struct aoei_fetch aoei_fetch;

/* Source of time; tests replace it. */
typedef struct aoei_fetch_clock {
    double (*now)(void *user);                 /* seconds, monotonic */
    int64_t (*unix_time)(void *user);          /* seconds since 1970 */
    void (*sleep)(void *user, double seconds); /* may return early */
    void *user;
} aoei_fetch_clock;

typedef struct aoei_fetch_counts {
    uint64_t requests;  /* requests sent, retries included */
    uint64_t retries;   /* retries among `requests` */
    uint64_t stored;    /* responses taken from the cache without a request */
    uint64_t unchanged; /* 304 responses: the cached response is still valid */
    double waited;      /* seconds waited, summed over all threads */
    aoei_rate rate;     /* latest quota reported by the server; -1: unknown */
} aoei_fetch_counts;

typedef enum aoei_fetch_event {
    AOEI_FETCH_ANSWER, /* a response arrived or was found in the cache */
    AOEI_FETCH_RETRY,  /* waiting before a retry; `why` is the reason */
    AOEI_FETCH_LIMIT   /* waiting for the server's rate limit; `why` is the reason */
} aoei_fetch_event;

typedef struct aoei_fetch_progress {
    aoei_fetch_event event;
    const char *why; /* reason of the wait, one line without line end, borrowed; "" for AOEI_FETCH_ANSWER */
    double seconds;  /* remaining seconds of the wait */
    aoei_fetch_counts counts;
} aoei_fetch_progress;

typedef struct aoei_fetch_options {
    size_t attempts;     /* maximum number of attempts per request; 0: 6 */
    double first_delay;  /* seconds before the second attempt, doubled each time; 0: 1 */
    double max_delay;    /* maximum delay between attempts in seconds; 0: 60 */
    double max_wait;     /* maximum wait for a rate limit in seconds; a longer wait is an error; 0: 3700 */
    double min_interval; /* minimum seconds between the starts of two requests, over all threads; 0: none */
    uint64_t seed;       /* seed of the jitter */
    aoei_stop_fn stop;   /* called while waiting; nonzero cancels; NULL: not cancellable */
    void *stop_user;
    /* Progress callback, called by one thread at a time, once per second while waiting; must not call functions of fetch.h.
     * NULL: none. */
    void (*progress)(void *user, const aoei_fetch_progress *p);
    void *progress_user;
    const aoei_fetch_clock *clock; /* copied; NULL: the system clock */
} aoei_fetch_options;

/* options NULL: all defaults. Errors: AOE_ENOMEM. */
int aoei_fetch_create(aoei_fetch **f, const aoei_fetch_options *o, aoe_error *err);
void aoei_fetch_destroy(aoei_fetch *f); /* accepts NULL */
aoei_fetch_counts aoei_fetch_count(aoei_fetch *f);

/* The caller's classification of a complete response. */
typedef enum aoei_verdict {
    AOEI_VERDICT_BY_STATUS, /* decided by the status, as described above */
    AOEI_VERDICT_FINAL,     /* return it to the caller, whatever its status (for example a 429 for an account without credit) */
    AOEI_VERDICT_BROKEN,    /* retry as for status 500 (for example, a body that is not JSON) */
    AOEI_VERDICT_LIMITED,   /* wait as for status 429 (GraphQL reports rate limits with status 200) */
    AOEI_VERDICT_NO_MEMORY  /* the function ran out of memory: AOE_ENOMEM */
} aoei_verdict;
typedef aoei_verdict (*aoei_judge_fn)(void *user, const aoei_http_response *r);

/* An aoei_judge_fn for APIs that return JSON: BROKEN if a 2xx response has a body that is not JSON, otherwise BY_STATUS. */
aoei_verdict aoei_judge_json(void *user, const aoei_http_response *r);

/* Sends a request until a response can be returned. judge may be NULL. Errors: those of aoei_http_send after the last
 * attempt or if a retry cannot help; AOE_EIO if all attempts fail or the limit lasts longer than max_wait. */
int aoei_fetch_send(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, aoei_judge_fn judge, void *judge_user,
                    aoei_http_response *r, aoe_error *err);

/* Maximum age in seconds of a cached response that is used without asking the server. */
#define AOEI_AGE_ANY  (-1.0) /* any age: a cached response is always used */
#define AOEI_AGE_NONE 0.0    /* always ask the server, conditionally if the cached response has ETag or Last-Modified */

/* Like aoei_fetch_send, with a cache. A cached response under `key` is returned if it is not older than max_age. Otherwise
 * the server is asked with If-None-Match; on 304 the cached response is returned, with its cached status. Responses 2xx,
 * 404, 410 and 451 are cached unless the judge rejects them or their URL or headers contain the token. In bodies the token
 * is redacted, also in the response that is returned. Every method is cached, a POST like a GET. *from_store (may be NULL)
 * is 1 if no body was transferred. Further errors: those of store.h. */
int aoei_fetch_cached(aoei_fetch *f, aoei_http *h, aoei_store *s, aoe_text key, double max_age, const aoei_http_request *q,
                      aoei_judge_fn judge, void *judge_user, aoei_http_response *r, int *from_store, aoe_error *err);

#endif
