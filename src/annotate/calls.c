/* SPDX-License-Identifier: MIT
 * Sends prompts to chat models, several at a time, and keeps the responses in a cache. A prompt for one model is a
 * call. A call is open if the cache does not contain its response. Threads take the open calls in order.
 *
 * A spending limit is options.max_cost or options.max_total_tokens. If there is a spending limit, a call starts only
 * after all earlier calls have started. In addition, the sum of three amounts must be within the limit:
 * - the recorded spending,
 * - the maximum cost of this call,
 * - the maximum cost of all remaining attempts of the running calls.
 * An unusable response is recorded with its maximum cost. Its call is retried after all earlier calls have ended, if
 * the limit permits another attempt. Because the limit covers all attempts of the earlier calls when a later call
 * starts, the calls and attempts that are made depend on the responses, but not on their timing.
 */
#include "annotate/calls.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "aoe_annotate.h"
#include "annotate/reply_text.h"
#include "base/options.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "base/distinct.h"
#include "net/fetch.h"
#include "net/secret.h"
#include "net/url.h"

#define KIND "chat" /* argument `kind` of aoei_store_result_get and aoei_store_result_put for chat responses */

enum { FAILURES_IN_A_ROW = 5, MAX_CONCURRENCY = 256, MAX_RESPONSE = 16 << 20, ATTEMPTS = 6 };

/* State of a call.
 * - CALL_OPEN: the call has no response yet.
 * - CALL_CACHED: the response is from the cache.
 * - CALL_ANSWERED: the response is from the endpoint.
 * - CALL_FAILED: the call ended without a response. */
typedef enum call_state { CALL_OPEN, CALL_CACHED, CALL_ANSWERED, CALL_FAILED } call_state;

typedef struct call {
    size_t model; /* index of the model in o->models */
    /* prompt_tokens: estimated tokens of the prompt; expected: estimated tokens of the response */
    size_t prompt_tokens, expected;
    size_t body;     /* offset of the request body in the key of this call; aoei_chat_calls.keys contains the keys */
    size_t unusable; /* number of unusable responses that this call received */
    call_state state;
    int ended;             /* 1: no further attempt follows */
    aoei_chat_reply reply; /* response in state CALL_CACHED or CALL_ANSWERED, owned */
} call;

typedef struct endpoint {
    char *url;         /* URL of the endpoint, owned */
    aoei_fetch *fetch; /* sends the requests of the endpoint within its rate limit, owned */
} endpoint;

struct aoei_chat_calls {
    const aoe_chat_options *o;
    size_t attempts;    /* maximum number of attempts per call */
    double limit;       /* maximum number of tokens per response; 0: there is no maximum */
    aoei_store *store;  /* cache, owned; NULL: dry run without a cache */
    aoei_distinct keys; /* keys of the calls; a key consists of the URL, a line end and the request body */
    call *call;         /* [keys.n] calls, owned */
    size_t capacity;
    endpoint *endpoint; /* [n_models] endpoints, owned */
    aoei_http **http;   /* [concurrency] HTTP clients, owned */
    size_t *open;       /* [n_open] indices of the calls that were open when the run began, owned */
    size_t n_open;
    aoei_mutex lock; /* protects all fields below; also held while o->progress is called */
    /* done: number of elements of `open` whose calls have ended; failed: number of calls that failed;
     * failures_in_a_row: number of calls that failed since the last call that succeeded */
    size_t done, failures_in_a_row, failed;
    size_t turn;    /* index in `open` of the first call that has not started; used only if there is a spending limit */
    size_t front;   /* index in `open` of the first call that has not ended */
    size_t running; /* number of running calls */
    /* recorded spending. prompt_tokens: tokens of prompts; completion_tokens: tokens of responses; cost: cost of
     * both */
    double prompt_tokens, completion_tokens, cost;
    double pending_tokens, pending_cost; /* maximum spending of all remaining attempts of the running calls */
    int stopped;                         /* 1: the caller requested cancellation */
    int spent;                           /* 1: the next call could exceed the spending limit */
    int aborted;                         /* 1: an error affects all calls, so no further call is sent */
    size_t first_failed;                 /* index in `open` of the first failed call; its error is stored in `err` */
    aoe_error err;
};

/* ---- options */

/* Accepts a URL only if it consists of scheme, host and path. Other parts, such as a user name or a query, could
 * contain a secret. */
static int check_api(const char *api, const char *name, aoe_error *err) {
    if (!api || !*api)
        return aoei_fail(err, AOE_EARG, "%s: the model has no endpoint; set options.api to the URL of its endpoint",
                         name);
    if (strchr(api, '?') || strchr(api, '#') || strchr(api, '@'))
        return aoei_fail(
            err, AOE_EARG,
            "%s: options.api has a query, a fragment or a user name; give only scheme, host and path, and put "
            "the key in an environment variable",
            name);
    return 0;
}

static aoei_chat_settings settings_of(const aoe_chat_options *o, size_t model) {
    return (aoei_chat_settings){.model = o->models[model].name,
                                .system = o->system,
                                .temperature = o->temperature,
                                .max_tokens = o->max_tokens,
                                .more = o->request};
}

static int is_bounded(const aoe_chat_options *o) {
    return o->max_cost > 0 || o->max_total_tokens > 0;
}

/* Sets *limit to the maximum number of tokens per response; a limit in options.request replaces options.max_tokens. If
 * there is a spending limit, rejects requests without this maximum and requests for several responses. */
static int check_limits(const aoe_chat_options *o, double *limit, aoe_error *err) {
    const aoei_chat_settings s = settings_of(o, 0);
    aoei_chat_limits l;
    const int rc = aoei_chat_read_limits(&l, &s, err);
    *limit = l.tokens;
    if (rc || !is_bounded(o))
        return rc;
    if (l.tokens <= 0)
        return aoei_fail(
            err, AOE_EARG,
            "options.max_cost and options.max_total_tokens require a limit per response; set options.max_tokens");
    if (l.responses > 1)
        return aoei_fail(
            err, AOE_EARG,
            "options.max_cost and options.max_total_tokens require requests for a single response; remove n and "
            "best_of from options.request");
    return 0;
}

static int check_numbers(const aoe_chat_options *o, aoe_error *err) {
    int rc;
    if ((rc = aoei_check_option("options.per_minute", o->per_minute, err)) ||
        (rc = aoei_check_option("options.retry_delay", o->retry_delay, err)) ||
        (rc = aoei_check_option("options.timeout", o->timeout, err)) ||
        (rc = aoei_check_option("options.max_cost", o->max_cost, err)) ||
        (rc = aoei_check_option("options.max_total_tokens", o->max_total_tokens, err)))
        return rc;
    if (!aoei_is_auto(o->temperature) && !(o->temperature >= 0 && isfinite(o->temperature)))
        return aoei_fail(err, AOE_EARG, "options.temperature is %g; it must be a non-negative number", o->temperature);
    return 0;
}

static int check_options(const aoe_chat_options *o, double *limit, aoe_error *err) {
    const int code = check_numbers(o, err);
    if (code)
        return code;
    if (!o->n_models)
        return aoei_fail(err, AOE_EARG, "options.model is missing; name at least one model");
    if (!o->cache && !o->dry_run)
        return aoei_fail(err, AOE_EARG, "options.cache is missing; name a cache file");
    if (o->concurrency < 1 || o->concurrency > MAX_CONCURRENCY)
        return aoei_fail(err, AOE_EARG, "options.concurrency is %zu; it must be between 1 and %d", o->concurrency,
                         MAX_CONCURRENCY);
    for (size_t i = 0; i < o->n_models; i++) {
        const aoe_chat_model *m = &o->models[i];
        int rc = check_api(m->api, m->name, err);
        if (rc)
            return rc;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(o->models[k].name, m->name) && !strcmp(o->models[k].api, m->api))
                return aoei_fail(err, AOE_EARG, "%s: the model is given twice; remove one of them", m->name);
        if (o->max_cost > 0 && m->price_in + m->price_out <= 0 && !m->costs_nothing)
            return aoei_fail(
                err, AOE_EARG,
                "%s: options.max_cost requires the price of every model; set options.price (0,0 for a free model)",
                m->name);
    }
    return check_limits(o, limit, err);
}

/* ---- progress */

/* Calls the progress callback. If the callback requests cancellation, sets c->stopped. The caller holds the lock. */
static void report_progress(aoei_chat_calls *c, aoe_chat_state state, const char *why, double seconds) {
    const aoe_chat_progress p = {.struct_size = sizeof(aoe_chat_progress),
                                 .state = state,
                                 .done = c->done,
                                 .total = c->n_open,
                                 .prompt_tokens = c->prompt_tokens,
                                 .completion_tokens = c->completion_tokens,
                                 .cost = c->cost,
                                 .why = why,
                                 .seconds = seconds};
    if (c->o->progress && c->o->progress(c->o->user, &p))
        c->stopped = 1;
}

static void on_fetch(void *user, const aoei_fetch_progress *p) {
    aoei_chat_calls *c = user;
    if (p->event == AOEI_FETCH_RESPONSE)
        return;
    aoei_mutex_lock(&c->lock);
    report_progress(c, AOE_CHAT_WAIT, p->why, p->seconds);
    aoei_mutex_unlock(&c->lock);
}

static int has_ended(aoei_chat_calls *c) {
    return c->stopped || c->spent || c->aborted;
}

/* An aoei_stop_fn. It ends the wait between two attempts of a call if the run was cancelled or aborted. */
static int stop_waiting(void *user) {
    aoei_chat_calls *c = user;
    aoei_mutex_lock(&c->lock);
    report_progress(c, AOE_CHAT_POLL, "", 0);
    const int over = c->stopped || c->aborted;
    aoei_mutex_unlock(&c->lock);
    return over;
}

/* An aoei_stop_fn that never stops a running request, because the endpoint charges for the request even if it is
 * interrupted. The function only calls the progress callback. */
static int never_stop(void *user) {
    (void)stop_waiting(user);
    return 0;
}

/* ---- creation */

static char *endpoint_url(const char *api) {
    aoei_buffer b = {0};
    size_t n = strlen(api);
    while (n && api[n - 1] == '/')
        n--;
    const aoe_text base = {api, n};
    (void)aoei_buffer_append(&b, api, n);
    if (!aoei_text_ends_with(base, "/chat/completions"))
        (void)aoei_buffer_append(&b, "/chat/completions", strlen("/chat/completions"));
    if (!b.failed)
        return b.data;
    aoei_buffer_free(&b);
    return NULL;
}

static int open_endpoint(aoei_chat_calls *c, endpoint *e, const aoe_chat_model *m, aoe_error *err) {
    const aoei_fetch_options f = {.attempts = c->attempts,
                                  .first_delay = c->o->retry_delay,
                                  .min_interval = c->o->per_minute > 0 ? 60 / c->o->per_minute : 0,
                                  .seed = c->o->seed,
                                  .stop = stop_waiting,
                                  .stop_user = c,
                                  .progress = on_fetch,
                                  .progress_user = c};
    if (!(e->url = endpoint_url(m->api)))
        return aoei_fail_nomem(err, strlen(m->api));
    return aoei_fetch_create(&e->fetch, &f, err);
}

int aoei_chat_calls_create(aoei_chat_calls **out, const aoe_chat_options *o, aoe_error *err) {
    *out = NULL;
    double limit = 0;
    int rc = check_options(o, &limit, err);
    if (rc)
        return rc;
    aoei_chat_calls *c = aoei_calloc(1, sizeof *c);
    if (!c)
        return aoei_fail_nomem(err, sizeof *c);
    aoei_mutex_init(&c->lock);
    c->o = o;
    c->limit = limit;
    c->attempts = o->attempts ? o->attempts : ATTEMPTS;
    c->endpoint = aoei_calloc(o->n_models, sizeof *c->endpoint);
    c->http = aoei_calloc(o->concurrency, sizeof *c->http);
    if (!c->endpoint || !c->http)
        rc = aoei_fail_nomem(err, o->concurrency * sizeof *c->http);
    for (size_t i = 0; i < o->n_models && !rc; i++)
        rc = open_endpoint(c, &c->endpoint[i], &o->models[i], err);
    if (!rc && o->cache)
        rc = aoei_store_open(&c->store, o->cache, err);
    if (rc)
        aoei_chat_calls_destroy(c);
    else
        *out = c;
    return rc;
}

void aoei_chat_calls_destroy(aoei_chat_calls *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->keys.n && c->call; i++)
        aoei_chat_reply_free(&c->call[i].reply);
    for (size_t i = 0; c->endpoint && i < c->o->n_models; i++) {
        aoei_fetch_destroy(c->endpoint[i].fetch);
        aoei_free(c->endpoint[i].url);
    }
    for (size_t i = 0; c->http && i < c->o->concurrency; i++)
        aoei_http_destroy(c->http[i]);
    aoei_store_close(c->store);
    aoei_distinct_free(&c->keys);
    aoei_mutex_destroy(&c->lock);
    aoei_free(c->call);
    aoei_free(c->endpoint);
    aoei_free(c->http);
    aoei_free(c->open);
    aoei_free(c);
}

/* Creates the key under which the cache stores the response of a call: the URL, a line end and the request body. Sets
 * *body to the offset of the request body in *key. The API key is not stored. Errors: AOE_EARG if the request body
 * contains the
 * API key. */
static int make_key(const aoei_chat_calls *c, size_t model, aoe_text prompt, aoei_buffer *key, size_t *body,
                    aoe_error *err) {
    const aoei_chat_settings s = settings_of(c->o, model);
    const char *url = c->endpoint[model].url, *secret = c->o->models[model].key;
    if (aoei_buffer_append(key, url, strlen(url)) || aoei_buffer_putc(key, '\n'))
        return aoei_fail_nomem(err, prompt.len);
    *body = key->len;
    const int rc = aoei_chat_request(key, &s, prompt, err);
    if (!rc && secret && *secret && memmem(key->data, key->len, secret, strlen(secret)))
        return aoei_fail(err, AOE_EARG,
                         "a prompt or an option contains the API key, which would be stored in the cache; remove it");
    return rc;
}

static int load_cached(aoei_chat_calls *c, call *x, aoe_text key, aoe_error *err) {
    aoei_buffer value = {0};
    int rc = c->store ? aoei_store_result_get(c->store, KIND, key, &value, err) : 0;
    if (rc == 1) {
        rc = aoei_chat_reply_load(&x->reply, (aoe_text){value.data, value.len}, err);
        x->state = CALL_CACHED;
    }
    aoei_buffer_free(&value);
    return rc;
}

int aoei_chat_calls_add(aoei_chat_calls *c, size_t model, aoe_text prompt, size_t expected, size_t *number,
                        aoe_error *err) {
    aoei_buffer key = {0};
    const size_t before = c->keys.n;
    size_t body = 0;
    int rc = make_key(c, model, prompt, &key, &body, err);
    if (!rc && aoei_grow((void **)&c->call, &c->capacity, before, sizeof *c->call))
        rc = aoei_fail_nomem(err, before * sizeof *c->call);
    if (!rc) {
        c->call[before] =
            (call){.model = model,
                   .prompt_tokens = aoei_estimate_tokens(prompt) +
                                    aoei_estimate_tokens(aoe_text_of(c->o->system ? c->o->system : "")) + 8,
                   .expected = c->limit > 0 && (double)expected > c->limit ? (size_t)c->limit : expected,
                   .body = body,
                   .reply = {.prompt_tokens = -1}};
        rc = aoei_distinct_add(&c->keys, (aoe_text){key.data, key.len}, 0, number, err);
    }
    if (!rc && c->keys.n > before)
        rc = load_cached(c, &c->call[before], (aoe_text){key.data, key.len}, err);
    aoei_buffer_free(&key);
    return rc;
}

/* ---- spending */

static double cost_of(const aoei_chat_calls *c, const call *x, double prompt, double completion) {
    const aoe_chat_model *m = &c->o->models[x->model];
    return (prompt * m->price_in + completion * m->price_out) / 1e6;
}

static double max_tokens_of(const aoei_chat_calls *c, const call *x) {
    return (double)x->prompt_tokens + c->limit;
}

static double max_cost_of(const aoei_chat_calls *c, const call *x) {
    return cost_of(c, x, (double)x->prompt_tokens, c->limit);
}

/* Returns 1 if the sum of three amounts is at most options.max_total_tokens (in tokens) and at most options.max_cost
 * (in
 * cost): the recorded spending, the pending amount, and the maximum spending of one attempt of x. pending_tokens,
 * pending_cost: maximum spending of the attempts that running calls may still make. */
static int is_within_limits(const aoei_chat_calls *c, const call *x, double pending_tokens, double pending_cost) {
    const double tokens = c->prompt_tokens + c->completion_tokens + pending_tokens + max_tokens_of(c, x);
    const double cost = c->cost + pending_cost + max_cost_of(c, x);
    return (c->o->max_total_tokens <= 0 || tokens <= c->o->max_total_tokens) &&
           (c->o->max_cost <= 0 || cost <= c->o->max_cost);
}

static void reserve_spending(aoei_chat_calls *c, const call *x, double tries) {
    c->pending_tokens += tries * max_tokens_of(c, x);
    c->pending_cost += tries * max_cost_of(c, x);
}

static double attempts_left(const aoei_chat_calls *c, const call *x) {
    return (double)(c->attempts > x->unusable ? c->attempts - x->unusable : 0);
}

/* Returns 1 if the i-th open call may start, 0 if the call must never be sent, and -1 if the call must wait for other
 * calls. */
static int may_begin(aoei_chat_calls *c, size_t i) {
    const call *x = &c->call[c->open[i]];
    if (has_ended(c))
        return 0;
    if (!is_bounded(c->o))
        return 1;
    if (c->turn != i)
        return -1;
    const int go = is_within_limits(c, x, c->pending_tokens, c->pending_cost) ? 1 : c->running ? -1 : 0;
    c->spent |= go == 0;
    return go;
}

/* Returns 1 if the i-th open call may be retried, 0 if it must not be retried, and -1 if it must wait until all earlier
 * calls have ended. The spending of later calls is not added here, because a later call starts only if the limits also
 * permit all attempts of this call. */
static int may_retry(aoei_chat_calls *c, size_t i) {
    const call *x = &c->call[c->open[i]];
    if (!is_bounded(c->o) || has_ended(c) || attempts_left(c, x) <= 0)
        return 1;
    if (c->front != i)
        return -1;
    const int go = is_within_limits(c, x, 0, 0);
    c->spent |= go == 0;
    return go;
}

/* Waits until `rule` returns 1 or 0 for the i-th open call, and returns this value. rule: may_begin or may_retry. */
static int wait_for(aoei_chat_calls *c, size_t i, int (*rule)(aoei_chat_calls *c, size_t i)) {
    const struct timespec moment = {0, 2000000};
    for (;;) {
        aoei_mutex_lock(&c->lock);
        report_progress(c, AOE_CHAT_POLL, "", 0);
        const int go = rule(c, i);
        if (go == 1 && rule == may_begin) {
            const call *x = &c->call[c->open[i]];
            c->turn++;
            c->running++;
            reserve_spending(c, x, attempts_left(c, x));
        }
        aoei_mutex_unlock(&c->lock);
        if (go >= 0)
            return go;
        (void)nanosleep(&moment, NULL);
    }
}

static void add_spending(aoei_chat_calls *c, const call *x, double in, double out) {
    c->prompt_tokens += in;
    c->completion_tokens += out;
    c->cost += cost_of(c, x, in, out);
}

/* Records the spending for an unusable response, because the endpoint may charge for it. The recorded number of
 * response tokens is the maximum, or the expected number if there is no maximum. */
static void record_unusable(aoei_chat_calls *c, call *x) {
    aoei_mutex_lock(&c->lock);
    add_spending(c, x, (double)x->prompt_tokens, c->limit > 0 ? c->limit : (double)x->expected);
    reserve_spending(c, x, attempts_left(c, x) > 0 ? -1 : 0);
    x->unusable++;
    aoei_mutex_unlock(&c->lock);
}

/* Records that a call has ended. If answered is 1, adds the spending of its response; otherwise the call ended without
 * a response. The caller holds the lock. */
static void record(aoei_chat_calls *c, call *x, int answered) {
    reserve_spending(c, x, -attempts_left(c, x));
    if (!--c->running)
        c->pending_tokens = c->pending_cost = 0; /* removes rounding errors; without running calls both sums are 0 */
    c->done++;
    x->ended = 1;
    while (c->front < c->n_open && c->call[c->open[c->front]].ended)
        c->front++;
    if (!answered)
        return;
    const aoe_text content = {x->reply.content.data, x->reply.content.len};
    add_spending(c, x, x->reply.prompt_tokens >= 0 ? (double)x->reply.prompt_tokens : (double)x->prompt_tokens,
                 x->reply.completion_tokens >= 0 ? (double)x->reply.completion_tokens
                                                 : (double)aoei_estimate_tokens(content));
    c->failures_in_a_row = 0;
}

/* ---- one call */

/* State of a call while a thread runs it. */
typedef struct task {
    aoei_chat_calls *c;
    size_t index; /* index of the call in c->open */
    int dropped;  /* 1: the limits do not permit another attempt */
} task;

static aoei_response_class retry(task *t, call *x) {
    record_unusable(t->c, x);
    t->dropped = !wait_for(t->c, t->index, may_retry);
    return t->dropped ? AOEI_RESPONSE_FINAL : AOEI_RESPONSE_INVALID;
}

/* An aoei_classify_fn. The request is not repeated if the response has status 429 and reports that the account has no
 * credit left. The request is repeated after any other response with status 429, and after an unusable response with
 * status 200. */
static aoei_response_class classify_response(void *user, const aoei_http_response *r) {
    task *t = user;
    call *x = &t->c->call[t->c->open[t->index]];
    const aoe_text body = {r->body.data, r->body.len};
    if (r->status == 429) {
        aoei_chat_error e;
        aoei_chat_error_read(&e, body, NULL);
        return strstr(e.code, "insufficient_quota") || strstr(e.code, "billing") ? AOEI_RESPONSE_FINAL
                                                                                 : AOEI_RESPONSE_BY_STATUS;
    }
    if (r->status != 200)
        return AOEI_RESPONSE_BY_STATUS;
    const int rc = aoei_chat_reply_read(&x->reply, body, NULL);
    if (rc)
        return rc == AOE_ENOMEM ? AOEI_RESPONSE_NO_MEMORY : retry(t, x);
    return AOEI_RESPONSE_BY_STATUS;
}

/* Handles a response with a status other than 200. Returns AOE_OK if the endpoint's content filter rejected the prompt;
 * this result counts as a response. Returns AOE_EFORMAT if only this call fails. Returns another error if all other
 * calls would fail for the same reason. */
static int read_status(const aoei_chat_calls *c, call *x, const aoei_http_response *r, aoe_error *err) {
    const aoe_chat_model *m = &c->o->models[x->model];
    char shown[AOEI_URL_DISPLAY_MAX];
    aoei_chat_error e;
    aoei_chat_error_read(&e, (aoe_text){r->body.data, r->body.len}, m->key);
    (void)aoei_url_display(c->endpoint[x->model].url, shown);
    if (r->status == 401 || r->status == 403) /* the endpoint's message is not shown, because it often contains a part
                                                 of the key */
        return aoei_fail(
            err, AOE_EIO,
            "%s: the endpoint returned status %d: it %s for model %s; check the environment variable with the key",
            shown, r->status, m->key ? "rejects the API key" : "requires an API key", m->name);
    if (r->status == 400 && (strstr(e.code, "content_filter") || strstr(e.code, "content_policy"))) {
        aoei_buffer_clear(&x->reply.content);
        x->reply.refused = 1;
        x->reply.prompt_tokens = x->reply.completion_tokens = 0;
        return 0;
    }
    const int alone = r->status == 413 || strstr(e.code, "context_length") != NULL;
    return aoei_fail(err, alone ? AOE_EFORMAT : AOE_EIO, "%s: the endpoint returned status %d for model %s%s%s; %s",
                     shown, r->status, m->name, *e.message ? ": " : "", e.message,
                     alone                  ? "shorten the text, or set options.skip_failed"
                     : r->status == 429     ? "the account has no credit left; add credit or use another key"
                     : r->status / 100 == 3 ? "the endpoint has moved; set options.api to its new URL"
                                            : "check options.api, options.model and the other options");
}

static int store_reply(aoei_chat_calls *c, const call *x, aoe_text key, aoe_error *err) {
    aoei_buffer value = {0};
    int rc = aoei_chat_reply_store(&x->reply, &value) ? aoei_fail_nomem(err, x->reply.content.len) : 0;
    if (!rc)
        rc = aoei_store_result_put(c->store, KIND, key, (aoe_text){value.data, value.len}, err);
    aoei_buffer_free(&value);
    return rc;
}

/* Sends the i-th open call and stores the response in the cache. Sets *fatal to 1 if an error affects all calls. */
static int send_call(aoei_chat_calls *c, size_t i, size_t worker, int *fatal, aoe_error *err) {
    static const char *const headers[] = {"Content-Type: application/json",
                                          "Accept: application/json, text/event-stream"};
    call *x = &c->call[c->open[i]];
    const aoe_chat_model *m = &c->o->models[x->model];
    const aoe_text key = c->keys.text[c->open[i]];
    task t = {.c = c, .index = i};
    const aoei_http_options h = {.stall_timeout = c->o->timeout,
                                 .timeout = c->o->timeout,
                                 .max_body = MAX_RESPONSE,
                                 .stop = never_stop,
                                 .stop_user = c};
    const aoei_http_request q = {.method = "POST",
                                 .url = c->endpoint[x->model].url,
                                 .headers = headers,
                                 .n_headers = 2,
                                 .body = key.data + x->body,
                                 .body_len = key.len - x->body,
                                 .token = m->key && *m->key ? m->key : NULL};
    aoei_http_response r = {0};
    int rc = c->http[worker] ? 0 : aoei_http_create(&c->http[worker], &h, err);
    *fatal = rc != 0;
    if (!rc) {
        rc = aoei_fetch_send(c->endpoint[x->model].fetch, c->http[worker], &q, classify_response, &t, &r, err);
        *fatal = rc == AOE_EARG || rc == AOE_ENOMEM;
    }
    if (!rc && t.dropped)
        rc = AOE_ECANCELLED;
    if (!rc && r.status != 200) {
        rc = read_status(c, x, &r, err);
        *fatal = rc != 0 && rc != AOE_EFORMAT;
    }
    if (!rc) {
        aoei_redact(x->reply.content.data, x->reply.content.len, m->key);
        rc = store_reply(c, x, key, err);
        *fatal = rc != 0;
    }
    aoei_http_response_free(&r);
    return rc;
}

/* Function for the thread pool: runs the i-th open call. */
static void run_call(void *arg, size_t i, size_t worker) {
    aoei_chat_calls *c = arg;
    call *x = &c->call[c->open[i]];
    aoe_error err = {.code = 0};
    int fatal = 0;
    if (!wait_for(c, i, may_begin))
        return;
    const int rc = send_call(c, i, worker, &fatal, &err);
    aoei_mutex_lock(&c->lock);
    record(c, x, rc == 0);
    x->state = rc ? CALL_FAILED : CALL_ANSWERED;
    if (rc == AOE_ECANCELLED) {
        x->state = CALL_OPEN;
    } else if (rc) {
        const int for_good = fatal || ++c->failures_in_a_row >= FAILURES_IN_A_ROW;
        c->failed++;
        if (!c->aborted && (for_good || i < c->first_failed)) {
            c->first_failed = i;
            c->err = err;
        }
        c->aborted |= for_good;
    }
    report_progress(c, AOE_CHAT_ANSWER, "", 0);
    aoei_mutex_unlock(&c->lock);
}

/* ---- the run */

static int list_open(aoei_chat_calls *c, aoe_error *err) {
    c->open = aoei_malloc_array(c->keys.n + 1, sizeof *c->open);
    if (!c->open)
        return aoei_fail_nomem(err, c->keys.n * sizeof *c->open);
    for (size_t i = 0; i < c->keys.n; i++)
        if (c->call[i].state == CALL_OPEN)
            c->open[c->n_open++] = i;
    c->first_failed = c->n_open;
    return 0;
}

static int show_prompts(const aoei_chat_calls *c, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < c->n_open && !rc && c->o->prompt; i++) {
        const aoe_text key = c->keys.text[c->open[i]];
        json_t *root;
        rc = aoei_json_parse(&root, key.data + c->call[c->open[i]].body, key.len - c->call[c->open[i]].body,
                             "the request", err);
        if (rc)
            break;
        const json_t *messages = json_object_get(root, "messages");
        const json_t *content = json_object_get(json_array_get(messages, json_array_size(messages) - 1), "content");
        const aoe_text prompt = {json_string_value(content), json_string_length(content)};
        const int enough = prompt.data && c->o->prompt(c->o->user, &c->o->models[c->call[c->open[i]].model], prompt);
        json_decref(root);
        if (enough)
            break;
    }
    return rc;
}

/* Returns AOE_ECANCELLED if the caller cancelled the run. Returns the error in c->err if the run was aborted, or if a
 * call failed and options.skip_failed is 0. Otherwise returns 0. */
static int report_failures(const aoei_chat_calls *c, aoe_error *err) {
    if (c->stopped)
        return aoei_fail(err, AOE_ECANCELLED, "the run was cancelled; run again to resume it");
    if (c->failed && (c->aborted || !c->o->skip_failed)) {
        const int code = c->err.code;
        if (c->aborted)
            return aoei_fail(err, code, "%s", c->err.message);
        return aoei_fail(
            err, code,
            "%zu of %zu calls failed; the first error: %s; the other responses are in the cache; run again, or set "
            "options.skip_failed",
            c->failed, c->n_open, c->err.message);
    }
    return 0;
}

int aoei_chat_calls_run(aoei_chat_calls *c, aoe_error *err) {
    aoei_pool *pool = NULL;
    int rc = list_open(c, err);
    if (rc || !c->n_open)
        return rc;
    if (c->o->dry_run)
        return show_prompts(c, err);
    report_progress(c, AOE_CHAT_POLL, "", 0);
    rc = aoei_pool_create(&pool, c->o->concurrency < c->n_open ? c->o->concurrency : c->n_open, err);
    if (!rc) {
        aoei_parallel_for(pool, c->n_open, run_call, c);
        rc = report_failures(c, err);
    }
    aoei_pool_destroy(pool);
    return rc;
}

const aoei_chat_reply *aoei_chat_calls_reply(const aoei_chat_calls *c, size_t number) {
    const call *x = &c->call[number];
    return x->state == CALL_CACHED || x->state == CALL_ANSWERED ? &x->reply : NULL;
}

void aoei_chat_calls_result(const aoei_chat_calls *c, aoe_chat_result *r) {
    *r = (aoe_chat_result){.calls = c->keys.n,
                           .prompt_tokens = c->prompt_tokens,
                           .completion_tokens = c->completion_tokens,
                           .cost = c->cost,
                           .left_most = c->limit > 0 ? 0 : NAN};
    for (size_t i = 0; i < c->keys.n; i++) {
        const call *x = &c->call[i];
        r->kept += x->state == CALL_CACHED;
        r->asked += x->state == CALL_ANSWERED;
        r->failed += x->state == CALL_FAILED;
        if (x->state != CALL_OPEN)
            continue;
        r->left++;
        r->left_prompt_tokens += (double)x->prompt_tokens;
        r->left_completion_tokens += (double)x->expected;
        r->left_cost += cost_of(c, x, (double)x->prompt_tokens, (double)x->expected);
        r->left_most += max_cost_of(c, x);
    }
}
