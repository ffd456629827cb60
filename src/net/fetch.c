/* SPDX-License-Identifier: MIT
 * Implements retries, rate limits, a minimum interval between requests, and the use of cached responses. No thread
 * sleeps while it holds the lock. `hold_until` is the time until which the server's rate limit forbids requests; every
 * thread waits for it before a request.
 */
#include "net/fetch.h"
#include "net/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/random.h"
#include "net/secret.h"

#define MAX_SLEEP 0.1   /* maximum seconds of one sleep; the callback `stop` is called before each sleep */
#define MIN_SLEEP 0.001 /* minimum seconds of one sleep */
/* Seconds to wait after the first response that reports a secondary rate limit without a time. GitHub's documentation
 * asks clients to wait at least one minute, and longer after each further response of this kind. The wait is doubled
 * each time, up to the maximum. */
#define SECONDARY_WAIT     60.0
#define MAX_SECONDARY_WAIT 900.0
#define MAX_LIMITS         12 /* maximum number of responses to one request that report a rate limit */
#define SEARCHED_BYTES                                                                                                 \
    4096             /* bytes at the start of a response body that are searched for messages about rate limits         \
                      */
#define CONDITIONS 2 /* number of conditional headers: If-None-Match, If-Modified-Since */

struct aoei_fetch {
    aoei_fetch_options o; /* options with defaults filled in; o.clock is not used, because the caller may free it */
    aoei_fetch_clock clock;
    aoei_mutex progress_lock; /* held while the progress callback runs */
    aoei_mutex lock;          /* protects the fields below */
    aoei_rng jitter;          /* random numbers for backoff_seconds */
    double hold_until;        /* value of clock.now before which no request may start because of a rate limit */
    double next_start; /* value of clock.now before which the next request may not start because of o.min_interval */
    double reset_at;   /* value of clock.now at which the server resets the quota counts.rate; negative: unknown */
    aoei_fetch_counts counts;
};

/* ------------------------------------------------------------------- clock */

static double machine_now(void *user) {
    (void)user;
    return aoei_now();
}

static int64_t machine_time(void *user) {
    (void)user;
    return (int64_t)time(NULL);
}

static void machine_sleep(void *user, double seconds) {
    (void)user;
    const time_t whole = (time_t)seconds;
    const struct timespec t = {whole, (long)((seconds - (double)whole) * 1e9)};
    (void)nanosleep(&t, NULL); /* a signal may interrupt the sleep; wait_until then calls `stop` */
}

static double now(const aoei_fetch *f) {
    return f->clock.now(f->clock.user);
}

/* ------------------------------------------------------------------ object */

int aoei_fetch_create(aoei_fetch **out, const aoei_fetch_options *options, aoe_error *err) {
    static const aoei_fetch_clock machine = {machine_now, machine_time, machine_sleep, NULL};
    *out = NULL;
    aoei_fetch *f = aoei_calloc(1, sizeof *f);
    if (!f)
        return aoei_fail_nomem(err, sizeof *f);
    if (options)
        f->o = *options;
    f->clock = f->o.clock ? *f->o.clock : machine;
    f->o.attempts = f->o.attempts ? f->o.attempts : 6;
    f->o.first_delay = f->o.first_delay > 0 ? f->o.first_delay : 1;
    f->o.max_delay = f->o.max_delay > 0 ? f->o.max_delay : 60;
    f->o.max_wait = f->o.max_wait > 0 ? f->o.max_wait : 3700;
    aoei_mutex_init(&f->progress_lock);
    aoei_mutex_init(&f->lock);
    aoei_rng_init(&f->jitter, f->o.seed, AOEI_STREAM_BACKOFF, 0);
    f->reset_at = -1;
    f->counts.rate = (aoei_rate){-1, -1, -1};
    *out = f;
    return 0;
}

void aoei_fetch_destroy(aoei_fetch *f) {
    if (!f)
        return;
    aoei_mutex_destroy(&f->progress_lock);
    aoei_mutex_destroy(&f->lock);
    aoei_free(f);
}

aoei_fetch_counts aoei_fetch_count(aoei_fetch *f) {
    aoei_mutex_lock(&f->lock);
    aoei_fetch_counts c = f->counts;
    const double left = f->reset_at - now(f);
    c.rate.reset_after = f->reset_at < 0 ? -1 : left > 0 ? (int64_t)(left + 0.5) : 0;
    aoei_mutex_unlock(&f->lock);
    return c;
}

/* Calls the progress callback. */
static void report_progress(aoei_fetch *f, aoei_fetch_event event, const char *why, double seconds) {
    if (!f->o.progress)
        return;
    const aoei_fetch_progress p = {event, why, seconds, aoei_fetch_count(f)};
    aoei_mutex_lock(&f->progress_lock);
    f->o.progress(f->o.progress_user, &p);
    aoei_mutex_unlock(&f->progress_lock);
}

/* ----------------------------------------------------------------- waiting */

/* Waits until clock.now reaches `until`. why: reason for the progress callback; NULL: the callback is not called. */
static int wait_until(aoei_fetch *f, double until, aoei_fetch_event event, const char *why, aoe_error *err) {
    const double start = now(f);
    double reported = start - 2, at = start;
    int rc = 0;
    while (at < until) {
        if (f->o.stop && f->o.stop(f->o.stop_user)) {
            rc = aoei_fail(err, AOE_ECANCELLED, "cancelled by the caller while waiting before a request");
            break;
        }
        const double left = until - at;
        if (why && at - reported >= 1) {
            report_progress(f, event, why, left);
            reported = at;
        }
        f->clock.sleep(f->clock.user, left > MAX_SLEEP ? MAX_SLEEP : left > MIN_SLEEP ? left : MIN_SLEEP);
        at = now(f);
    }
    aoei_mutex_lock(&f->lock);
    f->counts.waited += at - start;
    aoei_mutex_unlock(&f->lock);
    return rc;
}

/* Fails because the required wait, `seconds`, is longer than o.max_wait. */
static int fail_long_wait(const aoei_fetch *f, const char *url, const char *why, double seconds, aoe_error *err) {
    const time_t when = (time_t)(f->clock.unix_time(f->clock.user) + (int64_t)seconds + 1);
    struct tm utc = {0};
    char text[32] = "";
    if (gmtime_r(&when, &utc))
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    return aoei_fail(err, AOE_EIO, "%s: %s: the server rejects requests for another %.0f s; run again after %s", url,
                     why, seconds, text);
}

static double read_hold_until(aoei_fetch *f) {
    aoei_mutex_lock(&f->lock);
    const double until = f->hold_until;
    aoei_mutex_unlock(&f->lock);
    return until;
}

/* Waits until no rate limit forbids requests. url, why: URL and reason of the rate limit, for messages. */
static int wait_for_limit(aoei_fetch *f, const char *url, const char *why, aoe_error *err) {
    for (;;) {
        const double until = read_hold_until(f), left = until - now(f); /* another thread may have set a later time */
        if (left <= 0)
            return 0;
        if (left > f->o.max_wait)
            return fail_long_wait(f, url, why, left, err);
        const int rc = wait_until(f, until, AOEI_FETCH_LIMIT, why, err);
        if (rc)
            return rc;
    }
}

/* Waits until the next request may start: no rate limit forbids it, and o.min_interval has passed since the last
 * start. */
static int wait_for_start(aoei_fetch *f, const char *url, const char *why, aoe_error *err) {
    int rc = wait_for_limit(f, url, why, err);
    if (rc || f->o.min_interval <= 0)
        return rc;
    aoei_mutex_lock(&f->lock);
    const double at = now(f), start = f->next_start > at ? f->next_start : at;
    f->next_start = start + f->o.min_interval;
    aoei_mutex_unlock(&f->lock);
    rc = wait_until(f, start, AOEI_FETCH_RESPONSE, NULL, err);
    return rc ? rc : wait_for_limit(f, url, why, err);
}

/* Returns the seconds to wait after `failures` failed attempts. The delay is o.first_delay after the first failure and
 * doubles after each further failure, up to o.max_delay. The result is a random value between half of the delay and the
 * delay. */
static double backoff_seconds(aoei_fetch *f, size_t failures) {
    double seconds = f->o.first_delay;
    for (size_t i = 1; i < failures && seconds < f->o.max_delay; i++)
        seconds *= 2;
    seconds = seconds < f->o.max_delay ? seconds : f->o.max_delay;
    aoei_mutex_lock(&f->lock);
    const double u = aoei_rng_uniform(&f->jitter);
    aoei_mutex_unlock(&f->lock);
    return seconds * (0.5 + 0.5 * u);
}

/* ----------------------------------------------------------------- responses */

/* Returns 1 if the first SEARCHED_BYTES bytes of the body contain the string `words`; case is ignored. */
static int body_contains(const aoei_http_response *r, const char *words) {
    const size_t n = r->body.len < SEARCHED_BYTES ? r->body.len : SEARCHED_BYTES, len = strlen(words);
    for (size_t i = 0; i + len <= n; i++)
        if (strncasecmp(r->body.data + i, words, len) == 0)
            return 1;
    return 0;
}

/* Returns 1 if the response reports a rate limit. */
static int is_limit(const aoei_http_response *r, const aoei_rate *rate, int64_t retry_after) {
    return r->status == 429 ||
           (r->status == 403 && (retry_after >= 0 || rate->remaining == 0 || body_contains(r, "rate limit") ||
                                 body_contains(r, "abuse detection")));
}

/* Returns 1 if a request with this response status should be retried. */
static int is_temporary_failure(int status) {
    return status == 408 || (status >= 500 && status <= 599 && status != 501 && status != 505);
}

/* Counts a request and stores the quota that its response reports. repeated: 1 for a retry. */
static void record_request(aoei_fetch *f, const aoei_rate *rate, int repeated) {
    aoei_mutex_lock(&f->lock);
    f->counts.requests++;
    f->counts.retries += repeated != 0;
    if (rate->limit >= 0)
        f->counts.rate.limit = rate->limit;
    if (rate->remaining >= 0)
        f->counts.rate.remaining = rate->remaining;
    if (rate->reset_after >= 0)
        f->reset_at = now(f) + (double)rate->reset_after;
    if (rate->remaining == 0 && rate->reset_after >= 0 && f->hold_until < f->reset_at + 1) /* one second is added,
                                                                                              because servers round to
                                                                                              whole seconds */
        f->hold_until = f->reset_at + 1;
    aoei_mutex_unlock(&f->lock);
}

/* State of one call of aoei_fetch_send. */
typedef struct sending {
    char url[AOEI_URL_DISPLAY_MAX];            /* URL for messages */
    size_t failures;                           /* failed attempts */
    size_t limits;                             /* responses that report a rate limit */
    char why[sizeof((aoe_error *)0)->message]; /* reason of the current rate limit, for messages */
} sending;

/* Handles a response that reports a rate limit: sets f->hold_until so that all threads wait as long as required. */
static int apply_limit(aoei_fetch *f, sending *a, const aoei_http_response *r, const aoei_rate *rate,
                       int64_t retry_after, aoe_error *err) {
    if (++a->limits > MAX_LIMITS)
        return aoei_fail(err, AOE_EIO, "%s: the server reported a rate limit %d times in a row; run again later",
                         a->url, MAX_LIMITS);
    const int secondary =
        r->status != 429 || body_contains(r, "secondary rate limit") || body_contains(r, "abuse detection");
    double seconds;
    (void)snprintf(a->why, sizeof a->why, "%s", secondary ? "secondary rate limit" : "rate limit");
    if (retry_after >= 0) {
        seconds = (double)(retry_after > 0 ? retry_after : 1);
    } else if (rate->remaining == 0 && rate->reset_after >= 0) {
        seconds = (double)rate->reset_after + 1;
        (void)snprintf(a->why, sizeof a->why, "the quota of %" PRId64 " requests is used up", rate->limit);
    } else if (secondary) {
        seconds = SECONDARY_WAIT * (double)(1 << (a->limits < 5 ? a->limits - 1 : 4));
        seconds = seconds < MAX_SECONDARY_WAIT ? seconds : MAX_SECONDARY_WAIT;
    } else {
        seconds = backoff_seconds(f, a->limits);
    }
    aoei_mutex_lock(&f->lock);
    const double until = now(f) + seconds;
    f->hold_until = f->hold_until > until ? f->hold_until : until;
    aoei_mutex_unlock(&f->lock);
    return 0;
}

/* Waits before another attempt, or fails if no attempt is left. why: the error of the last attempt. */
static int wait_before_retry(aoei_fetch *f, sending *a, int64_t retry_after, const aoe_error *why, aoe_error *err) {
    if (++a->failures >= f->o.attempts)
        return aoei_fail(err, why->code, "no response after %zu %s: %s", a->failures,
                         a->failures == 1 ? "attempt" : "attempts", why->message);
    double seconds = backoff_seconds(f, a->failures);
    if (retry_after > 0 && seconds < (double)retry_after)
        seconds = (double)retry_after;
    if (seconds > f->o.max_wait)
        return fail_long_wait(f, a->url, why->message, seconds, err);
    return wait_until(f, now(f) + seconds, AOEI_FETCH_RETRY, why->message, err);
}

/* Handles a response of the given class. Returns 1 if the response must be returned to the caller, 0 if the request
 * must be sent again, or an error. Before it returns 0 for a failed attempt, the function waits as long as the retry
 * requires. */
static int handle_response(aoei_fetch *f, sending *a, const aoei_http_response *r, aoei_response_class class,
                           aoe_error *err) {
    const int64_t at = f->clock.unix_time(f->clock.user);
    const aoei_rate rate = aoei_headers_rate(&r->headers, at);
    const int64_t retry_after = aoei_headers_retry_after(&r->headers, at);
    record_request(f, &rate, a->failures + a->limits > 0);
    if (class == AOEI_RESPONSE_NO_MEMORY)
        return aoei_fail_nomem(err, r->body.len);
    if (class == AOEI_RESPONSE_RATE_LIMITED || (class == AOEI_RESPONSE_BY_STATUS && is_limit(r, &rate, retry_after)))
        return apply_limit(f, a, r, &rate, retry_after, err);
    if (class == AOEI_RESPONSE_FINAL || (class == AOEI_RESPONSE_BY_STATUS && !is_temporary_failure(r->status)))
        return 1;
    aoe_error why;
    if (class == AOEI_RESPONSE_INVALID)
        (void)aoei_fail(&why, AOE_EIO, "%s: invalid response (status %d); check the URL, or try again later", a->url,
                        r->status);
    else
        (void)aoei_fail(&why, AOE_EIO, "%s: the server returned status %d; try again later", a->url, r->status);
    return wait_before_retry(f, a, retry_after, &why, err);
}

int aoei_fetch_send(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, aoei_classify_fn classify,
                    void *classify_user, aoei_http_response *r, aoe_error *err) {
    sending a = {.why = "the server's quota is used up"};
    (void)aoei_url_display(q->url, a.url);
    for (;;) {
        int rc = wait_for_start(f, a.url, a.why, err);
        if (rc)
            return rc;
        aoe_error why;
        rc = aoei_http_send(h, q, r, &why);
        if (rc == 0) {
            const aoei_response_class class = classify ? classify(classify_user, r) : AOEI_RESPONSE_BY_STATUS;
            rc = handle_response(f, &a, r, class, err);
            if (rc == 1)
                report_progress(f, AOEI_FETCH_RESPONSE, "", 0);
            if (rc)
                return rc == 1 ? 0 : rc;
        } else {
            if (rc != AOE_EARG)
                record_request(f, &(aoei_rate){-1, -1, -1}, a.failures + a.limits > 0);
            if (!r->transient)
                return aoei_fail(err, rc, "%s", why.message);
            rc = wait_before_retry(f, &a, -1, &why, err);
            if (rc)
                return rc;
        }
    }
}

aoei_response_class aoei_classify_json(void *user, const aoei_http_response *r) {
    (void)user;
    if (r->status < 200 || r->status > 299 || r->status == 204 || r->status == 205)
        return AOEI_RESPONSE_BY_STATUS;
    json_t *root;
    const int rc = aoei_http_json(&root, r, NULL);
    json_decref(root);
    return rc == 0 ? AOEI_RESPONSE_BY_STATUS : rc == AOE_ENOMEM ? AOEI_RESPONSE_NO_MEMORY : AOEI_RESPONSE_INVALID;
}

/* ------------------------------------------------------------------- cache */

static int contains(const char *data, size_t len, const char *token) {
    return token && len && memmem(data, len, token, strlen(token)) != NULL;
}

/* Returns 1 if a response may be cached: its status is suitable, and neither its URL nor its headers contain `token`,
 * the API token of the request. */
static int is_cacheable(const aoei_http_response *r, const char *token) {
    if ((r->status < 200 || r->status > 299) && r->status != 404 && r->status != 410 && r->status != 451)
        return 0;
    return !contains(r->url, strlen(r->url), token) && !contains(r->headers.text.data, r->headers.text.len, token);
}

/* Writes the header "name: value" to lines[*n], sets line[*n] to its text and increments *n, unless value is NULL or
 * contains characters that are invalid in a header. */
static void add_condition(aoei_buffer *lines, const char **line, size_t *n, const char *name, const char *value) {
    for (const char *s = value; s && *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return;
    if (!value || aoei_buffer_printf(&lines[*n], "%s: %s", name, value))
        return;
    line[*n] = lines[*n].data;
    (*n)++;
}

/* Sends a request whose response is in the cache. A GET request gets conditional headers, so that the server can check
 * whether the response `cached` is still valid. *fresh is set to the server's response, whose status is 304 if `cached`
 * is valid. */
static int revalidate(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, const aoei_http_response *cached,
                      aoei_classify_fn classify, void *classify_user, aoei_http_response *fresh, aoe_error *err) {
    aoei_buffer lines[CONDITIONS] = {{0}, {0}};
    size_t n = 0;
    const char **headers = aoei_malloc_array(q->n_headers + CONDITIONS, sizeof *headers);
    if (!headers)
        return aoei_fail_nomem(err, q->n_headers);
    if (q->n_headers)
        memcpy(headers, q->headers, q->n_headers * sizeof *headers);
    if (!q->method || strcmp(q->method, "GET") == 0) {
        add_condition(lines, headers + q->n_headers, &n, "If-None-Match",
                      aoei_headers_get(&cached->headers, "etag", 0));
        add_condition(lines, headers + q->n_headers, &n, "If-Modified-Since",
                      aoei_headers_get(&cached->headers, "last-modified", 0));
    }
    aoei_http_request conditional = *q;
    conditional.headers = headers;
    conditional.n_headers = q->n_headers + n;
    int rc;
    if (lines[0].failed || lines[1].failed)
        rc = aoei_fail_nomem(err, 0);
    else
        rc = aoei_fetch_send(f, h, &conditional, classify, classify_user, fresh, err);
    for (size_t i = 0; i < CONDITIONS; i++)
        aoei_buffer_free(&lines[i]);
    aoei_free(headers);
    return rc;
}

/* Counts a response from the cache. revalidated: 1 if the server confirmed with status 304 that it is still valid. */
static void count_cached(aoei_fetch *f, int revalidated) {
    aoei_mutex_lock(&f->lock);
    if (revalidated)
        f->counts.unchanged++;
    else
        f->counts.stored++;
    aoei_mutex_unlock(&f->lock);
}

int aoei_fetch_cached(aoei_fetch *f, aoei_http *h, aoei_store *s, aoe_text key, double max_age,
                      const aoei_http_request *q, aoei_classify_fn classify, void *classify_user, aoei_http_response *r,
                      int *from_cache, aoe_error *err) {
    int64_t time = 0;
    int unused;
    from_cache = from_cache ? from_cache : &unused;
    *from_cache = 0;
    if (contains(key.data, key.len, q->token))
        return aoei_fail(err, AOE_EARG, "the cache key contains the token; remove the token from the URL and the body");
    const int found = aoei_store_get(s, key, r, &time, err);
    if (found < 0)
        return found;
    const int64_t age = f->clock.unix_time(f->clock.user) - time;
    if (found && (max_age < 0 || (double)age < max_age)) {
        *from_cache = 1;
        count_cached(f, 0);
        report_progress(f, AOEI_FETCH_RESPONSE, "", 0);
        return 0;
    }
    aoei_http_response fresh = {0};
    int rc = found ? revalidate(f, h, q, r, classify, classify_user, &fresh, err)
                   : aoei_fetch_send(f, h, q, classify, classify_user, &fresh, err);
    if (rc == 0 && found && fresh.status == 304) {
        *from_cache = 1;
        count_cached(f, 1);
        rc = aoei_store_touch(s, key, f->clock.unix_time(f->clock.user), err);
    } else {
        const aoei_http_response old = *r; /* the structs are swapped, so that the cached response is freed below */
        *r = fresh;
        fresh = old;
        if (rc == 0)
            (void)aoei_redact(r->body.data, r->body.len, q->token);
        if (rc == 0 && is_cacheable(r, q->token))
            rc = aoei_store_put(s, key, r, f->clock.unix_time(f->clock.user), err);
    }
    aoei_http_response_free(&fresh);
    return rc;
}
