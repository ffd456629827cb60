/* SPDX-License-Identifier: MIT
 * Retries, rate limits, pacing, and responses from the cache. No thread sleeps while it holds the lock. `hold_until` is the
 * time until which the server's rate limit forbids requests; every thread waits for it.
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

#define SLICE    0.1   /* maximum seconds of one sleep; `stop` is called in between */
#define SHORTEST 0.001 /* minimum seconds of one sleep */
#define SECONDARY_WAIT                                                                                                         \
    60.0 /* first wait in seconds for a secondary limit without a stated time (as GitHub requests); doubled each time */
#define MAX_SECONDARY  900.0 /* maximum of this wait in seconds */
#define MAX_LIMITS     12    /* maximum number of consecutive rate-limit responses to one request */
#define MESSAGE_SEARCH 4096  /* bytes of a response body that are searched for the words of a rate limit */
#define CONDITIONS     2     /* number of conditional headers: If-None-Match, If-Modified-Since */

struct aoei_fetch {
    aoei_fetch_options o; /* options with defaults filled in; the member `clock` is not used */
    aoei_fetch_clock clock;
    aoei_mutex telling; /* held while the progress callback runs */
    aoei_mutex lock;    /* protects the fields below */
    aoei_rng jitter;
    double hold_until; /* time of clock.now before which no request starts */
    double next_start; /* time before which the next request must not start, so that requests are min_interval apart */
    double reset_at;   /* end of the period of counts.rate (clock.now); negative: unknown */
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
    (void)nanosleep(&t, NULL); /* a signal interrupts the sleep; the caller then calls `stop` */
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
    aoei_mutex_init(&f->telling);
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
    aoei_mutex_destroy(&f->telling);
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

static void tell(aoei_fetch *f, aoei_fetch_event event, const char *why, double seconds) {
    if (!f->o.progress)
        return;
    const aoei_fetch_progress p = {event, why, seconds, aoei_fetch_count(f)};
    aoei_mutex_lock(&f->telling);
    f->o.progress(f->o.progress_user, &p);
    aoei_mutex_unlock(&f->telling);
}

/* ----------------------------------------------------------------- waiting */

/* Waits until the clock reaches `until`. why NULL: does not call the progress callback. */
static int wait_until(aoei_fetch *f, double until, aoei_fetch_event event, const char *why, aoe_error *err) {
    const double start = now(f);
    double told = start - 2, at = start;
    int rc = 0;
    while (at < until) {
        if (f->o.stop && f->o.stop(f->o.stop_user)) {
            rc = aoei_fail(err, AOE_ECANCELLED, "cancelled by the caller while waiting before a request");
            break;
        }
        const double left = until - at;
        if (why && at - told >= 1) {
            tell(f, event, why, left);
            told = at;
        }
        f->clock.sleep(f->clock.user, left > SLICE ? SLICE : left > SHORTEST ? left : SHORTEST);
        at = now(f);
    }
    aoei_mutex_lock(&f->lock);
    f->counts.waited += at - start;
    aoei_mutex_unlock(&f->lock);
    return rc;
}

static int too_long(const aoei_fetch *f, const char *place, const char *why, double seconds, aoe_error *err) {
    const time_t when = (time_t)(f->clock.unix_time(f->clock.user) + (int64_t)seconds + 1);
    struct tm utc = {0};
    char text[32] = "";
    if (gmtime_r(&when, &utc))
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    return aoei_fail(err, AOE_EIO, "%s: %s: the server rejects requests for another %.0f s; run again after %s", place, why,
                     seconds, text);
}

static double held_until(aoei_fetch *f) {
    aoei_mutex_lock(&f->lock);
    const double until = f->hold_until;
    aoei_mutex_unlock(&f->lock);
    return until;
}

static int wait_for_limit(aoei_fetch *f, const char *place, const char *why, aoe_error *err) {
    for (;;) {
        const double until = held_until(f), left = until - now(f); /* another thread may have set a later time */
        if (left <= 0)
            return 0;
        if (left > f->o.max_wait)
            return too_long(f, place, why, left, err);
        const int rc = wait_until(f, until, AOEI_FETCH_LIMIT, why, err);
        if (rc)
            return rc;
    }
}

/* Waits until the next request may start. */
static int wait_for_turn(aoei_fetch *f, const char *place, const char *why, aoe_error *err) {
    int rc = wait_for_limit(f, place, why, err);
    if (rc || f->o.min_interval <= 0)
        return rc;
    aoei_mutex_lock(&f->lock);
    const double at = now(f), start = f->next_start > at ? f->next_start : at;
    f->next_start = start + f->o.min_interval;
    aoei_mutex_unlock(&f->lock);
    rc = wait_until(f, start, AOEI_FETCH_ANSWER, NULL, err);
    return rc ? rc : wait_for_limit(f, place, why, err);
}

/* Seconds to wait after `failures` failed attempts: doubles each time; the upper half is random. */
static double backoff(aoei_fetch *f, size_t failures) {
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

/* 1 if the beginning of the body contains the words; case is ignored. */
static int body_contains(const aoei_http_response *r, const char *words) {
    const size_t n = r->body.len < MESSAGE_SEARCH ? r->body.len : MESSAGE_SEARCH, len = strlen(words);
    for (size_t i = 0; i + len <= n; i++)
        if (strncasecmp(r->body.data + i, words, len) == 0)
            return 1;
    return 0;
}

static int is_limit(const aoei_http_response *r, const aoei_rate *rate, int64_t retry_after) {
    return r->status == 429 || (r->status == 403 && (retry_after >= 0 || rate->remaining == 0 ||
                                                     body_contains(r, "rate limit") || body_contains(r, "abuse detection")));
}

static int is_failure(int status) {
    return status == 408 || (status >= 500 && status <= 599 && status != 501 && status != 505);
}

/* Updates the counts and the quota from a response. */
static void note(aoei_fetch *f, const aoei_rate *rate, int repeated) {
    aoei_mutex_lock(&f->lock);
    f->counts.requests++;
    f->counts.retries += repeated != 0;
    if (rate->limit >= 0)
        f->counts.rate.limit = rate->limit;
    if (rate->remaining >= 0)
        f->counts.rate.remaining = rate->remaining;
    if (rate->reset_after >= 0)
        f->reset_at = now(f) + (double)rate->reset_after;
    if (rate->remaining == 0 && rate->reset_after >= 0 &&
        f->hold_until < f->reset_at + 1) /* one second more, because servers count whole seconds */
        f->hold_until = f->reset_at + 1;
    aoei_mutex_unlock(&f->lock);
}

/* One call of aoei_fetch_send. */
typedef struct attempt {
    char place[AOEI_URL_DISPLAY_MAX];
    size_t failures; /* failed attempts */
    size_t limits;   /* responses that report a rate limit */
    char why[sizeof((aoe_error *)0)->message];
} attempt;

/* Makes all requests wait as the response demands. */
static int hold(aoei_fetch *f, attempt *a, const aoei_http_response *r, const aoei_rate *rate, int64_t retry_after,
                aoe_error *err) {
    if (++a->limits > MAX_LIMITS)
        return aoei_fail(err, AOE_EIO, "%s: the server reported a rate limit %d times in a row; run again later", a->place,
                         MAX_LIMITS);
    const int secondary = r->status != 429 || body_contains(r, "secondary rate limit") || body_contains(r, "abuse detection");
    double seconds;
    (void)snprintf(a->why, sizeof a->why, "%s", secondary ? "secondary rate limit" : "rate limit");
    if (retry_after >= 0) {
        seconds = (double)(retry_after > 0 ? retry_after : 1);
    } else if (rate->remaining == 0 && rate->reset_after >= 0) {
        seconds = (double)rate->reset_after + 1;
        (void)snprintf(a->why, sizeof a->why, "the quota of %" PRId64 " requests is used up", rate->limit);
    } else if (secondary) {
        seconds = SECONDARY_WAIT * (double)(1 << (a->limits < 5 ? a->limits - 1 : 4));
        seconds = seconds < MAX_SECONDARY ? seconds : MAX_SECONDARY;
    } else {
        seconds = backoff(f, a->limits);
    }
    aoei_mutex_lock(&f->lock);
    const double until = now(f) + seconds;
    f->hold_until = f->hold_until > until ? f->hold_until : until;
    aoei_mutex_unlock(&f->lock);
    return 0;
}

/* Waits before another attempt, or fails if no attempt is left. why: the error of the last attempt. */
static int back_off(aoei_fetch *f, attempt *a, int64_t retry_after, const aoe_error *why, aoe_error *err) {
    if (++a->failures >= f->o.attempts)
        return aoei_fail(err, why->code, "no response after %zu %s: %s", a->failures, a->failures == 1 ? "attempt" : "attempts",
                         why->message);
    double seconds = backoff(f, a->failures);
    if (retry_after > 0 && seconds < (double)retry_after)
        seconds = (double)retry_after;
    if (seconds > f->o.max_wait)
        return too_long(f, a->place, why->message, seconds, err);
    return wait_until(f, now(f) + seconds, AOEI_FETCH_RETRY, why->message, err);
}

/* Decides about a response. Returns 1 to return it to the caller, 0 to send the request again (after the wait), or an error. */
static int consider(aoei_fetch *f, attempt *a, const aoei_http_response *r, aoei_verdict verdict, aoe_error *err) {
    const int64_t at = f->clock.unix_time(f->clock.user);
    const aoei_rate rate = aoei_headers_rate(&r->headers, at);
    const int64_t retry_after = aoei_headers_retry_after(&r->headers, at);
    note(f, &rate, a->failures + a->limits > 0);
    if (verdict == AOEI_VERDICT_NO_MEMORY)
        return aoei_fail_nomem(err, r->body.len);
    if (verdict == AOEI_VERDICT_LIMITED || (verdict == AOEI_VERDICT_BY_STATUS && is_limit(r, &rate, retry_after)))
        return hold(f, a, r, &rate, retry_after, err);
    if (verdict == AOEI_VERDICT_FINAL || (verdict == AOEI_VERDICT_BY_STATUS && !is_failure(r->status)))
        return 1;
    aoe_error why;
    if (verdict == AOEI_VERDICT_BROKEN)
        (void)aoei_fail(&why, AOE_EIO, "%s: invalid response (status %d); check the URL, or try again later", a->place,
                        r->status);
    else
        (void)aoei_fail(&why, AOE_EIO, "%s: the server returned status %d; try again later", a->place, r->status);
    return back_off(f, a, retry_after, &why, err);
}

int aoei_fetch_send(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, aoei_judge_fn judge, void *judge_user,
                    aoei_http_response *r, aoe_error *err) {
    attempt a = {.why = "the server's quota is used up"};
    (void)aoei_url_display(q->url, a.place);
    for (;;) {
        int rc = wait_for_turn(f, a.place, a.why, err);
        if (rc)
            return rc;
        aoe_error why;
        rc = aoei_http_send(h, q, r, &why);
        if (rc == 0) {
            const aoei_verdict verdict = judge ? judge(judge_user, r) : AOEI_VERDICT_BY_STATUS;
            rc = consider(f, &a, r, verdict, err);
            if (rc == 1)
                tell(f, AOEI_FETCH_ANSWER, "", 0);
            if (rc)
                return rc == 1 ? 0 : rc;
        } else {
            if (rc != AOE_EARG)
                note(f, &(aoei_rate){-1, -1, -1}, a.failures + a.limits > 0);
            if (!r->transient)
                return aoei_fail(err, rc, "%s", why.message);
            rc = back_off(f, &a, -1, &why, err);
            if (rc)
                return rc;
        }
    }
}

aoei_verdict aoei_judge_json(void *user, const aoei_http_response *r) {
    (void)user;
    if (r->status < 200 || r->status > 299 || r->status == 204 || r->status == 205)
        return AOEI_VERDICT_BY_STATUS;
    json_t *root;
    const int rc = aoei_http_json(&root, r, NULL);
    json_decref(root);
    return rc == 0 ? AOEI_VERDICT_BY_STATUS : rc == AOE_ENOMEM ? AOEI_VERDICT_NO_MEMORY : AOEI_VERDICT_BROKEN;
}

/* ------------------------------------------------------------------- cache */

static int holds(const char *data, size_t len, const char *token) {
    return token && len && memmem(data, len, token, strlen(token)) != NULL;
}

/* 1 if a response may be cached. */
static int is_keepable(const aoei_http_response *r, const char *token) {
    if ((r->status < 200 || r->status > 299) && r->status != 404 && r->status != 410 && r->status != 451)
        return 0;
    return !holds(r->url, strlen(r->url), token) && !holds(r->headers.text.data, r->headers.text.len, token);
}

/* Appends the header "name: value" to the lines if the value is valid in a request. */
static void add_condition(aoei_buffer *lines, const char **line, size_t *n, const char *name, const char *value) {
    for (const char *s = value; s && *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return;
    if (!value || aoei_buffer_printf(&lines[*n], "%s: %s", name, value))
        return;
    line[*n] = lines[*n].data;
    (*n)++;
}

/* Asks the server whether the cached response `kept` is still valid. *fresh is the new response. */
static int ask_again(aoei_fetch *f, aoei_http *h, const aoei_http_request *q, const aoei_http_response *kept,
                     aoei_judge_fn judge, void *judge_user, aoei_http_response *fresh, aoe_error *err) {
    aoei_buffer lines[CONDITIONS] = {{0}, {0}};
    size_t n = 0;
    const char **headers = aoei_malloc_array(q->n_headers + CONDITIONS, sizeof *headers);
    if (!headers)
        return aoei_fail_nomem(err, q->n_headers);
    if (q->n_headers)
        memcpy(headers, q->headers, q->n_headers * sizeof *headers);
    if (!q->method || strcmp(q->method, "GET") == 0) {
        add_condition(lines, headers + q->n_headers, &n, "If-None-Match", aoei_headers_get(&kept->headers, "etag", 0));
        add_condition(lines, headers + q->n_headers, &n, "If-Modified-Since",
                      aoei_headers_get(&kept->headers, "last-modified", 0));
    }
    aoei_http_request conditional = *q;
    conditional.headers = headers;
    conditional.n_headers = q->n_headers + n;
    int rc;
    if (lines[0].failed || lines[1].failed)
        rc = aoei_fail_nomem(err, 0);
    else
        rc = aoei_fetch_send(f, h, &conditional, judge, judge_user, fresh, err);
    for (size_t i = 0; i < CONDITIONS; i++)
        aoei_buffer_free(&lines[i]);
    aoei_free(headers);
    return rc;
}

static void count_kept(aoei_fetch *f, int asked) {
    aoei_mutex_lock(&f->lock);
    if (asked)
        f->counts.unchanged++;
    else
        f->counts.stored++;
    aoei_mutex_unlock(&f->lock);
}

int aoei_fetch_cached(aoei_fetch *f, aoei_http *h, aoei_store *s, aoe_text key, double max_age, const aoei_http_request *q,
                      aoei_judge_fn judge, void *judge_user, aoei_http_response *r, int *from_store, aoe_error *err) {
    int64_t time = 0;
    int unused;
    from_store = from_store ? from_store : &unused;
    *from_store = 0;
    if (holds(key.data, key.len, q->token))
        return aoei_fail(err, AOE_EARG, "the cache key contains the token; remove the token from the URL and the body");
    const int found = aoei_store_get(s, key, r, &time, err);
    if (found < 0)
        return found;
    const int64_t age = f->clock.unix_time(f->clock.user) - time;
    if (found && (max_age < 0 || (double)age < max_age)) {
        *from_store = 1;
        count_kept(f, 0);
        tell(f, AOEI_FETCH_ANSWER, "", 0);
        return 0;
    }
    aoei_http_response fresh = {0};
    int rc = found ? ask_again(f, h, q, r, judge, judge_user, &fresh, err)
                   : aoei_fetch_send(f, h, q, judge, judge_user, &fresh, err);
    if (rc == 0 && found && fresh.status == 304) {
        *from_store = 1;
        count_kept(f, 1);
        rc = aoei_store_touch(s, key, f->clock.unix_time(f->clock.user), err);
    } else {
        const aoei_http_response kept = *r; /* swapped instead of copied */
        *r = fresh;
        fresh = kept;
        if (rc == 0)
            (void)aoei_redact(r->body.data, r->body.len, q->token);
        if (rc == 0 && is_keepable(r, q->token))
            rc = aoei_store_put(s, key, r, f->clock.unix_time(f->clock.user), err);
    }
    aoei_http_response_free(&fresh);
    return rc;
}
