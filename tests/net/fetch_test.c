/* SPDX-License-Identifier: MIT
 * tags: threads network
 * Tests aoei_fetch, which sends HTTP requests with retries, rate limits and a cache. A local HTTP server fails requests
 * or limits their rate. The tests check how many requests are sent, how long the fetcher waits, and which responses
 * come from the cache. Time is simulated.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/http_server.h"
#include "../support/checks.h"
#include "../support/support.h"
#include "net/fetch.h"

#define TOKEN "sEcReT-token-0123456789"
#define START 1700000000 /* 2023-11-14 22:13:20 UTC */

static test_server *server;
static aoei_http *client;
static aoei_fetch *fetch;
static aoei_store *store;
static char *store_path;
static aoei_http_response answer;

/* --------------------------------------------------------------------- clock */

static _Atomic long long ticks; /* simulated time in microseconds */
/* number of calls of fake_stop that return 0 before a call returns 1; -1: no call returns 1 */
static _Atomic int stop_after = -1;

static double fake_now(void *user) {
    (void)user;
    return (double)ticks * 1e-6;
}

static int64_t fake_time(void *user) {
    (void)user;
    return START + ticks / 1000000;
}

static void fake_sleep(void *user, double seconds) {
    (void)user;
    ticks += (long long)(seconds * 1e6 + 0.5);
}

static int fake_stop(void *user) {
    (void)user;
    return stop_after >= 0 && stop_after-- == 0;
}

static const aoei_fetch_clock fake_clock = {fake_now, fake_time, fake_sleep, NULL};

/* Adds a Date header with the simulated time. */
static void add_date(test_answer *a) {
    const time_t t = (time_t)fake_time(NULL);
    struct tm utc;
    char text[64];
    strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &utc));
    test_answer_header(a, "%s", text);
}

/* Progress reports since the last call of use_options. */
static struct {
    int answers, retries, limits; /* number of reports of each kind */
    int secret;                   /* 1 if a report contained the token */
    double longest;               /* longest wait that was reported, in seconds */
    char why[1100];               /* reason in the latest report about a retry or a limit */
} reported;

static void record_progress(void *user, const aoei_fetch_progress *p) {
    (void)user;
    reported.answers += p->event == AOEI_FETCH_RESPONSE;
    reported.retries += p->event == AOEI_FETCH_RETRY;
    reported.limits += p->event == AOEI_FETCH_LIMIT;
    reported.longest = p->seconds > reported.longest ? p->seconds : reported.longest;
    if (p->event != AOEI_FETCH_RESPONSE)
        snprintf(reported.why, sizeof reported.why, "%s", p->why);
    reported.secret |= strstr(p->why, TOKEN) != NULL;
}

/* Replaces the fetcher by a new one with the options o. Resets the simulated clock and the reports. */
static void use_options(aoei_fetch_options o) {
    aoei_fetch_destroy(fetch);
    o.clock = &fake_clock;
    o.stop = fake_stop;
    o.progress = record_progress;
    ticks = 0;
    stop_after = -1;
    memset(&reported, 0, sizeof reported);
    assert_int_equal(aoei_fetch_create(&fetch, &o, &err), 0);
}

static int start(void **state) {
    (void)state;
    server = test_server_start();
    test_dir_set_up(state);
    store_path = test_path(test_dir, "cache.store");
    use_options((aoei_fetch_options){0});
    return aoei_store_open(&store, store_path, &err) ||
           aoei_http_create(&client, &(aoei_http_options){.stall_timeout = 5}, &err);
}

static int stop(void **state) {
    assert_false(reported.secret);
    aoei_http_response_free(&answer);
    aoei_http_destroy(client);
    aoei_fetch_destroy(fetch);
    fetch = NULL;
    aoei_store_close(store);
    test_server_stop(server);
    free(store_path);
    return test_dir_tear_down(state);
}

/* Returns a URL on the server, which is valid until the next call. Handlers must not call this function, because they
 * run in other threads and would overwrite the buffer. */
static const char *url_on(const char *path) {
    static char url[256];
    snprintf(url, sizeof url, "%s%s", test_server_url(server), path);
    return url;
}

static int get_classified(const char *path, aoei_classify_fn classify, void *user) {
    const aoei_http_request q = {.url = url_on(path), .token = TOKEN};
    const int rc = aoei_fetch_send(fetch, client, &q, classify, user, &answer, &err);
    if (rc)
        assert_null(strstr(err.message, TOKEN));
    return rc;
}

static int get(const char *path) {
    return get_classified(path, NULL, NULL);
}

static int get_cached(const char *path, double max_age, int *from_store) {
    const aoei_http_request q = {.url = url_on(path), .token = TOKEN};
    return aoei_fetch_cached(fetch, client, store, aoe_text_of(q.url), max_age, &q, aoei_classify_json, NULL, &answer,
                             from_store, &err);
}

/* Asserts that the simulated clock has advanced by low to high seconds. Only waits of the fetcher advance this
 * clock. */
static void assert_passed(double low, double high) {
    const double passed = fake_now(NULL);
    if (!(passed >= low && passed <= high))
        fail_msg("%g seconds have passed; expected %g to %g", passed, low, high);
    const double waited = aoei_fetch_count(fetch).waited;
    assert_true(waited >= low - 0.01 && waited <= high + 0.01);
}

/* ------------------------------------------------------------------- retries */

/* The responses of the server to the first requests of a path. Every later request gets status 200 with the body
 * "[1]". */
typedef struct script {
    const char *const
        /* The responses in order. Each is a status ("503"), a status with headers ("429 NAME: VALUE|NAME: VALUE"),
         * "cut" (the connection is closed during the response) or "reset" (the connection is reset). The array ends
         * with NULL. */
        *steps;
    const char *body; /* body of the responses in steps; NULL: {"message": "no"} */
} script;

static void follow(void *user, const test_request *q, test_answer *a) {
    const script *s = user;
    size_t n = 0;
    while (s->steps[n])
        n++;
    add_date(a);
    if (q->nth >= n) {
        test_answer_printf(a, "[1]");
        return;
    }
    const char *step = s->steps[q->nth], *header = strchr(step, ' ');
    test_answer_printf(a, "%s", s->body ? s->body : "{\"message\": \"no\"}");
    a->close = 1; /* without "Connection: close", libcurl itself would retry a request whose connection is closed */
    a->cut = strncmp(step, "cut", 3) == 0;
    a->cut_at = 3;
    a->reset = strncmp(step, "reset", 5) == 0;
    a->status = a->cut ? 200 : a->reset ? 0 : atoi(step);
    while (header) {
        const char *end = strchr(header + 1, '|');
        test_answer_header(a, "%.*s", end ? (int)(end - header - 1) : (int)strlen(header + 1), header + 1);
        header = end;
    }
}

#define STEPS(...)                                                                                                     \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

/* Requests the path; the server responds as s specifies. Asserts that the fetcher succeeds. Returns the number of
 * requests that it sent. */
static size_t requests_needed(script *s, const char *path) {
    test_server_route(server, "*", path, follow, s);
    if (get(path))
        fail_msg("%s", err.message);
    char what[64];
    snprintf(what, sizeof what, "GET %s", path);
    return test_server_count(server, what);
}

static void test_failures_are_retried(void **state) {
    (void)state;
    assert_int_equal(requests_needed(&(script){STEPS("503", "cut", "502"), NULL}, "/a"), 4);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body.data, "[1]");
    assert_passed(0.5 + 1 + 2, 1 + 2 + 4);
    const aoei_fetch_counts c = aoei_fetch_count(fetch);
    assert_int_equal(c.requests, 4);
    assert_int_equal(c.retries, 3);
    assert_int_equal(reported.answers, 1);
    assert_true(reported.retries >= 3);
    assert_non_null(strstr(reported.why, "the server returned status 502"));
    assert_int_equal(requests_needed(&(script){STEPS("500", "504", "408", "529"), NULL}, "/b"), 5);
    assert_int_equal(requests_needed(&(script){STEPS("reset", "cut"), NULL}, "/c"), 3);
}

static void test_attempts_are_limited(void **state) {
    (void)state;
    script unlimited = {STEPS("500", "500", "500", "500", "500", "500", "500", "500", "500", "500"), NULL};
    test_server_route(server, "GET", "/never", follow, &unlimited);
    assert_int_equal(get("/never"), AOE_EIO);
    assert_message("no response after 6 attempts: http://127.0.0.1:");
    assert_message("the server returned status 500; try again later");
    assert_int_equal(answer.status, 500);
    assert_int_equal(test_server_count(server, "GET /never"), 6);
    use_options((aoei_fetch_options){.attempts = 20, .first_delay = 10, .max_delay = 15});
    assert_int_equal(get("/never"), 0);
    assert_int_equal(test_server_count(server, "GET /never"), 11);
    assert_passed(5 + 3 * 7.5, 10 + 3 * 15);
    test_server_stop(server);
    use_options((aoei_fetch_options){.attempts = 3});
    const aoei_http_request q = {.url = "http://127.0.0.1:1/", .token = TOKEN};
    assert_int_equal(aoei_fetch_send(fetch, client, &q, NULL, NULL, &answer, &err), AOE_EIO);
    assert_message("no response after 3 attempts: http://127.0.0.1:1/: Couldn't connect to server");
    assert_int_equal(aoei_fetch_count(fetch).requests, 3);
    server = NULL;
}

static void test_permanent_failures(void **state) {
    (void)state;
    static const int statuses[] = {400, 401, 403, 404, 410, 422, 501};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char step[8], path[16];
        snprintf(step, sizeof step, "%d", statuses[i]);
        snprintf(path, sizeof path, "/%d", statuses[i]);
        assert_int_equal(requests_needed(&(script){STEPS(step), NULL}, path), 1);
        assert_int_equal(answer.status, statuses[i]);
    }
    assert_passed(0, 0);
    const aoei_http_request q = {.url = "http://example.com/"};
    assert_int_equal(aoei_fetch_send(fetch, client, &q, NULL, NULL, &answer, &err), AOE_EARG);
    assert_message("http:// is not encrypted");
}

static void test_jitter_is_seeded(void **state) {
    (void)state;
    script s = {STEPS("503", "503", "503"), NULL};
    double passed[3];
    for (int i = 0; i < 3; i++) {
        test_server_forget(server);
        use_options((aoei_fetch_options){.seed = i == 2 ? 7 : 6});
        assert_int_equal(requests_needed(&s, "/a"), 4);
        passed[i] = fake_now(NULL);
    }
    assert_true(passed[0] == passed[1]);
    assert_true(passed[0] != passed[2]);
}

/* --------------------------------------------------------------- rate limits */

static void test_retry_after(void **state) {
    (void)state;
    assert_int_equal(requests_needed(&(script){STEPS("429 Retry-After: 7"), NULL}, "/a"), 2);
    assert_passed(7, 7.1);
    assert_int_equal(reported.limits, 7);
    assert_true(reported.longest > 6.9 && reported.longest < 7.01);
    assert_string_equal(reported.why, "rate limit");
    use_options((aoei_fetch_options){0});
    assert_int_equal(requests_needed(&(script){STEPS("403 Retry-After: 90"), NULL}, "/b"), 2);
    assert_passed(90, 90.1);
    assert_string_equal(reported.why, "secondary rate limit");
    use_options((aoei_fetch_options){0}); /* the date in Retry-After is 100 s after the server's Date header */
    assert_int_equal(requests_needed(&(script){STEPS("429 Retry-After: Tue, 14 Nov 2023 22:15:00 GMT"), NULL}, "/c"),
                     2);
    assert_passed(100, 100.1);
    use_options((aoei_fetch_options){0});
    assert_int_equal(requests_needed(&(script){STEPS("503 Retry-After: 33"), NULL}, "/d"), 2);
    assert_passed(33, 33.1);
    use_options((aoei_fetch_options){0}); /* status 429 without a valid Retry-After header gives exponential backoff */
    assert_int_equal(requests_needed(&(script){STEPS("429", "429", "429 Retry-After: soon"), NULL}, "/e"), 4);
    assert_passed(0.5 + 1 + 2, 1 + 2 + 4);
}

static void test_primary_limit(void **state) {
    (void)state;
    /* both the server and the fetcher use the simulated clock, which starts at START; the limit is reset 600 s later */
    assert_int_equal(
        requests_needed(
            &(script){STEPS("403 X-RateLimit-Limit: 5000|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1700000600"),
                      NULL},
            "/a"),
        2);
    assert_passed(601, 601.1);
    assert_string_equal(reported.why, "the quota of 5000 requests is used up");
    /* a response that uses up the quota is returned at once, and delays only the next request */
    use_options((aoei_fetch_options){0});
    script last = {STEPS("200 X-RateLimit-Limit: 60|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1700000030"), NULL};
    assert_int_equal(requests_needed(&last, "/b"), 1);
    assert_passed(0, 0);
    const aoei_fetch_counts c = aoei_fetch_count(fetch);
    assert_int_equal(c.rate.limit, 60);
    assert_int_equal(c.rate.remaining, 0);
    assert_int_equal(c.rate.reset_after, 30);
    assert_int_equal(get("/b"), 0);
    assert_passed(31, 31.1);
    assert_int_equal(aoei_fetch_count(fetch).rate.reset_after, 0);
}

static void test_secondary_limit(void **state) {
    (void)state;
    static const char words[] = "{\"message\": \"You have exceeded a Secondary Rate Limit. Please wait\"}";
    assert_int_equal(requests_needed(&(script){STEPS("403", "403 X-RateLimit-Remaining: 4000", "429"), words}, "/a"),
                     4);
    assert_passed(60 + 120 + 240, 420.5);
    use_options((aoei_fetch_options){0});
    assert_int_equal(requests_needed(&(script){STEPS("403"), "You have triggered an abuse detection mechanism"}, "/b"),
                     2);
    assert_passed(60, 60.1);
}

static void test_limits_beyond_max_wait(void **state) {
    (void)state;
    script far = {STEPS("429 Retry-After: 7200"), NULL};
    test_server_route(server, "GET", "/far", follow, &far);
    assert_int_equal(get("/far"), AOE_EIO);
    assert_message(
        "/far: rate limit: the server rejects requests for another 7200 s; run again after 2023-11-15 00:13:21 UTC");
    assert_passed(0, 0);
    assert_int_equal(get("/far"), AOE_EIO); /* the limit still applies, so no second request is sent */
    assert_int_equal(test_server_count(server, NULL), 1);
    use_options((aoei_fetch_options){.max_wait = 10000});
    test_server_forget(server);
    assert_int_equal(get("/far"), 0);
    assert_passed(7200, 7200.1);
    use_options((aoei_fetch_options){0});
    script repeated = {STEPS("429 Retry-After: 1", "429 Retry-After: 1", "429 Retry-After: 1", "429 Retry-After: 1",
                             "429 Retry-After: 1", "429 Retry-After: 1", "429 Retry-After: 1", "429 Retry-After: 1",
                             "429 Retry-After: 0", "429 Retry-After: 1", "429 Retry-After: 1", "429 Retry-After: 1",
                             "429 Retry-After: 1", "429 Retry-After: 1"),
                       NULL};
    test_server_route(server, "GET", "/ever", follow, &repeated);
    assert_int_equal(get("/ever"), AOE_EIO);
    assert_message("the server reported a rate limit 12 times in a row; run again later");
    assert_int_equal(test_server_count(server, "GET /ever"), 13);
}

static void test_pacing(void **state) {
    (void)state;
    script s = {STEPS("200"), NULL};
    test_server_route(server, "GET", "/a", follow, &s);
    use_options((aoei_fetch_options){.min_interval = 2.5});
    for (int i = 0; i < 5; i++)
        assert_int_equal(get("/a"), 0);
    assert_passed(10, 10.1);
}

static void test_cancelling(void **state) {
    (void)state;
    script s = {STEPS("503", "429 Retry-After: 500"), NULL};
    test_server_route(server, "GET", "/a", follow, &s);
    stop_after = 2;
    assert_int_equal(get("/a"), AOE_ECANCELLED);
    assert_message("cancelled");
    assert_passed(0.1, 0.5);
    stop_after = 100;
    assert_int_equal(get("/a"), AOE_ECANCELLED);
    assert_int_equal(test_server_count(server, "GET /a"), 2);
    stop_after = -1;
    assert_int_equal(get("/a"), 0);
    assert_passed(500, 501); /* the limit of the cancelled calls still applies */
}

/* ------------------------------------------------ responses classified by a callback */

static aoei_response_class classify_body(void *user, const aoei_http_response *r) {
    (void)user;
    return strstr(r->body.data, "RATE_LIMITED")         ? AOEI_RESPONSE_RATE_LIMITED
           : strstr(r->body.data, "insufficient_quota") ? AOEI_RESPONSE_FINAL
                                                        : AOEI_RESPONSE_BY_STATUS;
}

static void test_classification(void **state) {
    (void)state;
    script limited = {STEPS("200", "200 X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1700000100"),
                      "{\"type\": \"RATE_LIMITED\"}"};
    script empty = {STEPS("429 Retry-After: 5"), "insufficient_quota"};
    script broken = {STEPS("200", "200"), "{\"choices\": [{\"mess"};
    test_server_route(server, "GET", "/limited", follow, &limited);
    test_server_route(server, "GET", "/empty", follow, &empty);
    test_server_route(server, "GET", "/broken", follow, &broken);
    assert_int_equal(get_classified("/limited", classify_body, NULL), 0);
    assert_string_equal(answer.body.data, "[1]");
    /* waits 60 s after the first response, and then until the time in the headers of the second response */
    assert_passed(101, 101.2);
    use_options((aoei_fetch_options){0});
    assert_int_equal(get_classified("/empty", classify_body, NULL), 0);
    assert_int_equal(answer.status, 429);
    assert_passed(0, 0);
    assert_int_equal(get_classified("/broken", aoei_classify_json, NULL), 0);
    assert_string_equal(answer.body.data, "[1]");
    assert_int_equal(test_server_count(server, "GET /broken"), 3);
    use_options((aoei_fetch_options){.attempts = 2});
    test_server_forget(server);
    assert_int_equal(get_classified("/broken", aoei_classify_json, NULL), AOE_EIO);
    assert_message("no response after 2 attempts: http://127.0.0.1:");
    assert_message("invalid response (status 200)");
}

/* ---------------------------------------------------------- cached responses */

static int version; /* version of the resource /list, which the server sends in the ETag header and in the body */

static void send_version(void *user, const test_request *q, test_answer *a) {
    (void)user;
    char etag[32];
    snprintf(etag, sizeof etag, "\"v%d\"", version);
    const char *known = test_request_header(q, "if-none-match");
    test_answer_header(a, "ETag: %s", etag);
    test_answer_header(a, "X-RateLimit-Remaining: %d", 100);
    if (known && strcmp(known, etag) == 0) {
        a->status = 304;
        return;
    }
    char url[256];
    snprintf(url, sizeof url, "%s/list?x=1", test_server_url(q->server));
    const char *page = test_request_query(q, "page");
    test_answer_pages(a, url, page ? (size_t)atoi(page) : 1, 3);
    test_answer_printf(a, "[%d]", version);
}

static void test_cached_responses(void **state) {
    (void)state;
    int from_store;
    version = 1;
    test_server_route(server, "GET", "/list", send_version, NULL);
    assert_int_equal(get_cached("/list?x=1", AOEI_AGE_ANY, &from_store), 0);
    assert_int_equal(from_store, 0);
    assert_int_equal(get_cached("/list?x=1", AOEI_AGE_ANY, &from_store), 0);
    assert_int_equal(from_store, 1);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body.data, "[1]");
    char *next; /* the stored response includes the link to the next page */
    assert_int_equal(aoei_headers_link(&answer.headers, "next", answer.url, &next), 0);
    assert_string_equal(next, url_on("/list?x=1&page=2"));
    aoei_http_response free_me = {.url = next};
    aoei_http_response_free(&free_me);
    assert_int_equal(test_server_count(server, NULL), 1);
    /* the fetcher asks the server twice whether the response has changed: first it is unchanged, then it has changed */
    assert_int_equal(get_cached("/list?x=1", AOEI_AGE_NONE, &from_store), 0);
    assert_int_equal(from_store, 1);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.body.data, "[1]");
    version = 2;
    assert_int_equal(get_cached("/list?x=1", AOEI_AGE_NONE, &from_store), 0);
    assert_int_equal(from_store, 0);
    assert_string_equal(answer.body.data, "[2]");
    assert_int_equal(test_server_count_header(server, "If-None-Match: \"v1\""), 2);
    /* tests the maximum age of a cached response */
    ticks += 50 * 1000000LL;
    assert_int_equal(get_cached("/list?x=1", 60, &from_store), 0);
    assert_int_equal(test_server_count(server, NULL), 3);
    ticks += 20 * 1000000LL;
    assert_int_equal(get_cached("/list?x=1", 60, &from_store), 0);
    assert_int_equal(test_server_count(server, NULL), 4);
    assert_int_equal(from_store, 1);
    /* the response was just revalidated, which reset its age, so no request is sent */
    assert_int_equal(get_cached("/list?x=1", 60, &from_store), 0);
    assert_int_equal(test_server_count(server, NULL), 4);
    const aoei_fetch_counts c = aoei_fetch_count(fetch);
    assert_int_equal(c.requests, 4);
    assert_int_equal(c.stored, 3);
    assert_int_equal(c.unchanged, 2);
    assert_int_equal(c.rate.remaining, 100);
    assert_int_equal(reported.answers, 7);
}

static void send_last_modified(void *user, const test_request *q, test_answer *a) {
    (void)user;
    test_answer_header(a, "Last-Modified: Tue, 14 Nov 2023 00:00:00 GMT");
    if (test_request_header(q, "if-modified-since"))
        a->status = 304;
    else
        test_answer_printf(a, "[]");
}

static void redirect(void *to, const test_request *q, test_answer *a) {
    (void)q;
    a->status = 301;
    test_answer_header(a, "Location: %s", (const char *)to);
}

static void test_stored_statuses(void **state) {
    (void)state;
    static const struct {
        const char *path, *step;
        int from_store;
    } cases[] = {{"/404", "404", 1}, {"/410", "410", 1}, {"/451", "451", 1}, {"/401", "401", 0},
                 {"/403", "403", 0}, {"/422", "422", 0}, {"/501", "501", 0}, {"/204", "204", 1}};
    script s[sizeof cases / sizeof *cases];
    const char *steps[sizeof cases / sizeof *cases][3];
    int from_store;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        steps[i][0] = steps[i][1] = cases[i].step;
        steps[i][2] = NULL;
        s[i] = (script){steps[i], NULL};
        test_server_route(server, "GET", cases[i].path, follow, &s[i]);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(get_cached(cases[i].path, AOEI_AGE_ANY, &from_store), 0);
            assert_int_equal(answer.status, atoi(cases[i].step));
            assert_int_equal(from_store, again && cases[i].from_store);
        }
    }
    test_server_route(server, "GET", "/dated", send_last_modified, NULL);
    assert_int_equal(get_cached("/dated", AOEI_AGE_ANY, &from_store), 0);
    assert_int_equal(get_cached("/dated", AOEI_AGE_NONE, &from_store), 0);
    assert_int_equal(from_store, 1);
    assert_int_equal(test_server_count_header(server, "If-Modified-Since: Tue, 14 Nov 2023"), 1);
    /* A response from the store must also contain the new URL if the request was redirected. */
    test_server_route(server, "GET", "/old", redirect, "/new");
    script new_name = {STEPS("200"), "[]"};
    test_server_route(server, "GET", "/new", follow, &new_name);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(get_cached("/old", AOEI_AGE_ANY, &from_store), 0);
        assert_int_equal(answer.moved, 1);
        assert_string_equal(answer.url, url_on("/new"));
        assert_int_equal(from_store, again);
    }
    assert_int_equal(test_server_count(server, "GET /old"), 1);
}

static void test_post_with_cache_key(void **state) {
    (void)state;
    script s = {STEPS("503"), NULL};
    int from_store;
    test_server_route(server, "POST", "/chat", follow, &s);
    aoei_http_request q = {.method = "POST", .url = url_on("/chat"), .body = "{}", .body_len = 2, .token = TOKEN};
    for (int again = 0; again < 2; again++) {
        assert_int_equal(aoei_fetch_cached(fetch, client, store, aoe_text_of("model {}"), AOEI_AGE_ANY, &q, NULL, NULL,
                                           &answer, &from_store, &err),
                         0);
        assert_int_equal(from_store, again);
        assert_string_equal(answer.body.data, "[1]");
    }
    assert_int_equal(test_server_count(server, "POST /chat"), 2);
}

static void echo_token(void *user, const test_request *q, test_answer *a) {
    (void)user;
    test_answer_printf(a, "[\"%s\"]", test_request_header(q, "authorization"));
}

static void test_no_secret_is_stored(void **state) {
    (void)state;
    int from_store;
    version = 1;
    test_server_route(server, "GET", "/list", send_version, NULL);
    test_server_route(server, "GET", "/echo", echo_token, NULL);
    assert_int_equal(get_cached("/list?x=1", AOEI_AGE_ANY, &from_store), 0);
    assert_int_equal(test_server_count_header(server, "Bearer " TOKEN), 1);
    /* the token must be redacted both in the response and in the store, from which the second pass reads the
     * response */
    for (int again = 0; again < 2; again++) {
        assert_int_equal(get_cached("/echo", AOEI_AGE_ANY, &from_store), 0);
        assert_string_equal(answer.body.data, "[\"Bearer #######################\"]");
        assert_int_equal(from_store, again);
    }
    assert_int_equal(get_cached("/list?key=" TOKEN, AOEI_AGE_ANY, &from_store), AOE_EARG);
    assert_message("the cache key contains the token");
    static const char *const endings[] = {"", "-wal"}; /* the second file is the write-ahead log of the open store */
    for (int i = 0; i < 2; i++) {
        char path[512];
        size_t size;
        snprintf(path, sizeof path, "%s%s", store_path, endings[i]);
        char *file = test_read(path, &size);
        assert_non_null(file);
        assert_null(memmem(file, size, TOKEN, strlen(TOKEN)));
        free(file);
    }
}

/* Requests the first page of /list, from the store or the server, and then follows the links to the next page. *pages
 * is set to the number of pages. Returns 0 or the error code of the first failure. */
static int all_pages(int *pages) {
    char *next = NULL;
    int rc = get_cached("/list?x=1", AOEI_AGE_ANY, NULL);
    for (*pages = 0; rc == 0;) {
        ++*pages;
        rc = aoei_headers_link(&answer.headers, "next", answer.url, &next);
        if (!next)
            break;
        rc = get_cached(next + strlen(test_server_url(server)), AOEI_AGE_ANY, NULL);
        aoei_http_response free_me = {.url = next};
        aoei_http_response_free(&free_me);
    }
    return rc;
}

static void test_stop_and_resume(void **state) {
    (void)state;
    int pages;
    version = 1;
    script limit = {STEPS("429 Retry-After: 1000"), NULL};
    test_server_route(server, "GET", "/limit", follow, &limit);
    test_server_route(server, "GET", "/list", send_version, NULL);
    assert_int_equal(get_cached("/list?x=1", AOEI_AGE_ANY, NULL), 0);
    use_options((aoei_fetch_options){.max_wait = 10});
    /* from now on, requests fail because of the rate limit, but page 1 is already in the store */
    assert_int_equal(get("/limit"), AOE_EIO);
    assert_int_equal(all_pages(&pages), AOE_EIO);
    assert_int_equal(pages, 1);
    aoei_store_close(store);
    use_options((aoei_fetch_options){0}); /* simulates a later run without the rate limit */
    assert_int_equal(aoei_store_open(&store, store_path, &err), 0);
    assert_int_equal(all_pages(&pages), 0);
    assert_int_equal(pages, 3);
    assert_int_equal(all_pages(&pages), 0);
    assert_int_equal(pages, 3);
    assert_int_equal(test_server_count(server, "GET /list?x=1"), 1);
    assert_int_equal(test_server_count(server, "GET /list?x=1&page=2"), 1);
    assert_int_equal(test_server_count(server, "GET /list?x=1&page=3"), 1);
    assert_int_equal(test_server_count(server, NULL), 4);
}

/* --------------------------------------------- threads and failed allocations */

static _Atomic int good_answers;

static void *fetch_many(void *arg) {
    aoei_http *h;
    aoei_http_response r = {0};
    if (aoei_http_create(&h, NULL, NULL))
        return NULL;
    for (int i = 0; i < 10; i++) {
        char url[256];
        snprintf(url, sizeof url, "%s/list?x=%d", test_server_url(server), i);
        const aoei_http_request q = {.url = url, .token = TOKEN};
        if (aoei_fetch_cached(arg, h, store, aoe_text_of(url), AOEI_AGE_ANY, &q, aoei_classify_json, NULL, &r, NULL,
                              NULL) == 0 &&
            r.status == 200)
            good_answers++;
    }
    aoei_http_response_free(&r);
    aoei_http_destroy(h);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t thread[4];
    script limits = {STEPS("429 Retry-After: 3", "503"), NULL};
    test_server_route(server, "GET", "/list", follow, &limits);
    use_options((aoei_fetch_options){.min_interval = 0.1});
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, fetch_many, fetch), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(good_answers, 40);
    const aoei_fetch_counts c = aoei_fetch_count(fetch);
    assert_int_equal(c.requests, test_server_count(server, NULL));
    assert_true(c.requests >= 30 && c.stored > 0);
}

static int use_once(void *arg) {
    aoei_fetch *f;
    aoei_http *h = NULL;
    aoei_http_response r = {0};
    const aoei_fetch_options o = {.clock = &fake_clock};
    const aoei_http_request q = {.url = arg, .token = TOKEN};
    int rc = aoei_fetch_create(&f, &o, &err);
    if (!rc)
        rc = aoei_http_create(&h, NULL, &err);
    for (int again = 0; again < 2 && !rc; again++)
        rc = aoei_fetch_cached(f, h, store, aoe_text_of(arg), AOEI_AGE_NONE, &q, aoei_classify_json, NULL, &r, NULL,
                               &err);
    if (rc)
        assert_message("out of memory");
    aoei_http_response_free(&r);
    aoei_http_destroy(h);
    aoei_fetch_destroy(f);
    return rc;
}

static void test_memory(void **state) {
    (void)state;
    char url[256];
    version = 1;
    snprintf(url, sizeof url, "%s/list", test_server_url(server));
    test_server_route(server, "GET", "/list", send_version, NULL);
    /* the first use allocates memory that the store keeps, so it runs before allocations are made to fail */
    assert_int_equal(use_once(url), 0);
    assert_true(test_alloc_failures_published(use_once, url, 60) > 60);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_failures_are_retried),
        TEST(test_attempts_are_limited),
        TEST(test_permanent_failures),
        TEST(test_jitter_is_seeded),
        TEST(test_retry_after),
        TEST(test_primary_limit),
        TEST(test_secondary_limit),
        TEST(test_limits_beyond_max_wait),
        TEST(test_pacing),
        TEST(test_cancelling),
        TEST(test_classification),
        TEST(test_cached_responses),
        TEST(test_stored_statuses),
        TEST(test_post_with_cache_key),
        TEST(test_no_secret_is_stored),
        TEST(test_stop_and_resume),
        TEST(test_threads),
        TEST(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
