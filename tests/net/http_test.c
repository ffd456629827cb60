/* SPDX-License-Identifier: MIT
 * tags: threads network
 * covers: net/url
 * Tests the HTTP client against a local server over real sockets: responses, redirects, the servers to which the access
 * token of a request is sent, rejected requests, size limits, and the failures that are reported as transient.
 * tls_test.c tests TLS.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/http_server.h"
#include "../support/support.h"
#include "base/clock.h"
#include "net/http.h"
#include "net/libraries.h"
#include "net/url.h"

#define TOKEN "sEcReT-token-0123456789"

static test_server *server, *other; /* two servers with different origins (ports) */
static aoei_http *client;
static aoei_http_response answer;
static aoe_error err;

static int start(void **state) {
    (void)state;
    server = test_server_start();
    other = test_server_start();
    return aoei_http_create(&client, NULL, &err);
}

static int stop(void **state) {
    (void)state;
    aoei_http_response_free(&answer);
    aoei_http_destroy(client);
    test_server_stop(server);
    test_server_stop(other);
    return 0;
}

/* Returns the URL of a path on the server s. The URL is valid until the next call. */
static const char *url_on(const test_server *s, const char *path) {
    static char url[256];
    snprintf(url, sizeof url, "%s%s", test_server_url(s), path);
    return url;
}

static int get(const char *path) {
    return aoei_http_send(client, &(aoei_http_request){.url = url_on(server, path)}, &answer, &err);
}

static int get_with_token(const char *path) {
    return aoei_http_send(client, &(aoei_http_request){.url = url_on(server, path), .token = TOKEN}, &answer, &err);
}

/* Replaces the client by a new one with the options o. */
static void use_options(const aoei_http_options *o) {
    aoei_http_destroy(client);
    assert_int_equal(aoei_http_create(&client, o, &err), 0);
}

static void assert_message(const char *part) {
    if (!strstr(err.message, part))
        fail_msg("the message \"%s\" does not contain \"%s\"", err.message, part);
    assert_null(strchr(err.message, '\n'));
    assert_null(strstr(err.message, TOKEN));
}

static void assert_body(const char *text) {
    assert_non_null(answer.body.data);
    assert_string_equal(answer.body.data, text);
    assert_int_equal(answer.body.len, strlen(text));
}

/* ---------------------------------------------------------------- responses */

static void echo(void *user, const test_request *q, test_answer *a) {
    (void)user;
    const char *type = test_request_header(q, "content-type");
    test_answer_printf(a, "%s %s type=%s", q->method, q->target, type ? type : "-");
    const char *accept = test_request_header(q, "accept"), *agent;
    test_answer_printf(a, " accept=%s", accept);
    agent = test_request_header(q, "user-agent");
    test_answer_printf(a, " agent=%s body=%.*s", agent, (int)q->body_len, q->body);
}

static void test_methods(void **state) {
    (void)state;
    test_server_route(server, "*", "/echo", echo, NULL);
    assert_int_equal(get("/echo?a=1&b=%20"), 0);
    assert_int_equal(answer.status, 200);
    assert_body("GET /echo?a=1&b=%20 type=- accept=*/* agent=aoe/" AOE_VERSION " body=");
    assert_string_equal(answer.url, url_on(server, "/echo?a=1&b=%20"));
    assert_int_equal(answer.moved, 0);
    assert_non_null(aoei_headers_get(&answer.headers, "date", 0));
    static const char *const headers[] = {"Accept: application/vnd.github+json", "X-Other: 1"};
    aoei_http_request q = {.method = "POST",
                           .url = url_on(server, "/echo"),
                           .headers = headers,
                           .n_headers = 2,
                           .body = "{}",
                           .body_len = 2};
    assert_int_equal(aoei_http_send(client, &q, &answer, &err), 0);
    assert_body("POST /echo type=application/json accept=application/vnd.github+json agent=aoe/" AOE_VERSION
                " body={}");
    q.method = "HEAD";
    q.body = NULL;
    assert_int_equal(aoei_http_send(client, &q, &answer, &err), 0);
    assert_int_equal(answer.body.len, 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(test_server_count(server, "POST /echo"), 1);
    assert_int_equal(test_server_count(server, NULL), 3);
}

static void send_status(void *user, const test_request *q, test_answer *a) {
    (void)user;
    a->status = atoi(test_request_query(q, "status"));
    a->close = 1;
    test_answer_printf(a, "{\"message\": \"%d\"}", a->status);
}

static void test_statuses(void **state) {
    (void)state;
    test_server_route(server, "*", "/status", send_status, NULL);
    static const int statuses[] = {201, 401, 403, 404, 410, 422, 429, 451, 500, 503};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char path[64], body[64];
        snprintf(path, sizeof path, "/status?status=%d", statuses[i]);
        snprintf(body, sizeof body, "{\"message\": \"%d\"}", statuses[i]);
        assert_int_equal(get(path), 0);
        assert_int_equal(answer.status, statuses[i]);
        assert_body(body);
    }
}

static void chunks(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    a->chunked = 1;
    a->repeat = 3;
    test_answer_printf(a, "abc;");
}

static void compressed(void *user, const test_request *q, test_answer *a) {
    (void)user;
    const char *accept = test_request_header(q, "accept-encoding");
    size_t size;
    char *data = test_gzip("squeezed", 8, &size);
    if (accept && strstr(accept, "gzip")) {
        test_answer_header(a, "Content-Encoding: gzip");
        test_answer_write(a, data, size);
    }
    free(data);
}

static void no_length(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    a->no_length = 1;
    test_answer_printf(a, "until the end");
}

static void test_encodings(void **state) {
    (void)state;
    test_server_route(server, "GET", "/chunks", chunks, NULL);
    test_server_route(server, "GET", "/compressed", compressed, NULL);
    test_server_route(server, "GET", "/no-length", no_length, NULL);
    assert_int_equal(get("/chunks"), 0);
    assert_body("abc;abc;abc;");
    assert_int_equal(get("/compressed"), 0);
    assert_body("squeezed");
    assert_int_equal(get("/no-length"), 0);
    assert_body("until the end");
}

/* ---------------------------------------------------------------- redirects */

static void redirect(void *to, const test_request *q, test_answer *a) {
    const char *status = test_request_query(q, "status");
    a->status = status ? atoi(status) : 302;
    test_answer_header(a, "Location: %s", (const char *)to);
}

static void test_redirects(void **state) {
    (void)state;
    char away[256];
    snprintf(away, sizeof away, "%s/echo", test_server_url(other));
    test_server_route(server, "*", "/echo", echo, NULL);
    test_server_route(other, "*", "/echo", echo, NULL);
    test_server_route(server, "*", "/here", redirect, "/echo?redirected=1");
    test_server_route(server, "*", "/twice", redirect, "/here?status=301");
    test_server_route(server, "*", "/away", redirect, away);
    assert_int_equal(get("/here?status=301"), 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.moved, 1);
    assert_string_equal(answer.url, url_on(server, "/echo?redirected=1"));
    assert_int_equal(get("/here?status=307"), 0);
    assert_int_equal(answer.moved, 0);
    assert_int_equal(get("/twice?status=308"), 0);
    assert_int_equal(answer.moved, 1);
    assert_int_equal(get("/twice?status=302"), 0);
    assert_int_equal(answer.moved, 0);
    assert_int_equal(get("/away?status=301"), 0);
    assert_string_equal(answer.url, url_on(other, "/echo"));
    aoei_http_request post = {.method = "POST", .url = url_on(server, "/here?status=301"), .body = "{}", .body_len = 2};
    assert_int_equal(aoei_http_send(client, &post, &answer, &err), 0);
    assert_int_equal(answer.status, 301); /* redirects of POST requests are not followed, so the response is the
                                             redirect */
    assert_string_equal(aoei_headers_get(&answer.headers, "location", 0), "/echo?redirected=1");
    assert_int_equal(test_server_count(server, "POST /echo?redirected=1"), 0);
}

static void test_redirects_rejected(void **state) {
    (void)state;
    test_server_route(server, "*", "/circle", redirect, "/circle");
    test_server_route(server, "*", "/plain", redirect, "http://example.com/");
    test_server_route(server, "*", "/file", redirect, "file:///etc/passwd");
    test_server_route(server, "*", "/user", redirect, "http://me:" TOKEN "@127.0.0.1/");
    assert_int_equal(get("/circle"), AOE_EIO);
    assert_message("redirected more than 5 times");
    assert_int_equal(test_server_count(server, "GET /circle"), 6);
    assert_int_equal(answer.status, 0);
    assert_int_equal(answer.transient, 0);
    static const char *const paths[] = {"/plain", "/file", "/user"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(get_with_token(paths[i]), AOE_EIO);
        assert_message("redirected to a URL that is not allowed");
    }
}

/* ------------------------------------------------------------- access token */

static void test_token_is_sent_to_its_origin_only(void **state) {
    (void)state;
    char away[256], back[256];
    snprintf(away, sizeof away, "%s/back", test_server_url(other));
    snprintf(back, sizeof back, "%s/end", test_server_url(server));
    test_server_route(server, "GET", "/end", echo, NULL);
    test_server_route(server, "GET", "/same", redirect, "/end");
    test_server_route(server, "GET", "/away", redirect, away);
    test_server_route(other, "GET", "/back", redirect, back);
    assert_int_equal(get_with_token("/same"), 0);
    assert_int_equal(test_server_count_header(server, "Authorization: Bearer " TOKEN), 2);
    test_server_forget(server);
    assert_int_equal(get_with_token("/away"), 0);
    assert_int_equal(answer.status, 200);
    assert_int_equal(test_server_count(other, "GET /back"), 1);
    assert_int_equal(test_server_count(server, "GET /end"), 1);
    /* the token was sent only in the first request, before the redirect to the other origin */
    assert_int_equal(test_server_count_header(server, TOKEN), 1);
    assert_int_equal(test_server_count_header(other, TOKEN), 0);
    assert_int_equal(get("/end"), 0);
    /* this request has no token, so the token must not be sent, although the connection was used with a token before */
    assert_int_equal(test_server_count_header(server, TOKEN), 1);
}

static void test_tokens_rejected(void **state) {
    (void)state;
    static const char *const tokens[] = {"", TOKEN "\n", TOKEN "\r\nX: y", "two " TOKEN, TOKEN "\t"};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        aoei_http_request q = {.url = url_on(server, "/"), .token = tokens[i]};
        assert_int_equal(aoei_http_send(client, &q, &answer, &err), AOE_EARG);
        assert_message("token");
    }
    static const char *const headers[] = {"Authorization: Bearer " TOKEN, "cookie : " TOKEN,
                                          "Proxy-Authorization:" TOKEN, "X: " TOKEN "\r\nY: 1", TOKEN};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        aoei_http_request q = {.url = url_on(server, "/"), .headers = &headers[i], .n_headers = 1};
        assert_int_equal(aoei_http_send(client, &q, &answer, &err), AOE_EARG);
        assert_message("header");
    }
    assert_int_equal(test_server_count(server, NULL), 0);
}

static void test_errors_contain_no_secret(void **state) {
    (void)state;
    aoei_http_request q = {.url = "http://127.0.0.1:1/a?key=" TOKEN, .token = TOKEN};
    assert_int_equal(aoei_http_send(client, &q, &answer, &err), AOE_EIO);
    assert_message("http://127.0.0.1:1/a: Couldn't connect to server; check the URL");
    q.url = "http://example.com/?key=" TOKEN;
    assert_int_equal(aoei_http_send(client, &q, &answer, &err), AOE_EARG);
    assert_message("http://example.com/: http:// is not encrypted");
}

/* --------------------------------------------------------------------- URLs */

static void test_urls(void **state) {
    (void)state;
    static const char *const good[] = {"http://127.0.0.1/",        "http://127.9.9.9:80",
                                       "http://localhost:8080/v1", "http://LOCALHOST/",
                                       "http://[::1]:11434/",      "https://api.github.com/repos?x=y",
                                       "HTTPS://example.com:8443"};
    static const char *const bad[] = {"http://example.com/",
                                      "http://127.0.0.1.example.com/",
                                      "http://localhost.example.com/",
                                      "http://128.0.0.1/",
                                      "http://[::2]/",
                                      "http://0.0.0.0/",
                                      "ftp://127.0.0.1/",
                                      "file:///etc/passwd",
                                      "127.0.0.1/path",
                                      "//127.0.0.1/",
                                      "https://",
                                      "",
                                      "https://me@example.com/",
                                      "https://me:" TOKEN "@example.com/",
                                      "http://127.0.0.1:99999999/",
                                      "http://127.0.0.1/a b",
                                      "http://127.0.0.1/\r\nX: y"};
    aoei_url u;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (aoei_url_read(&u, good[i], &err))
            fail_msg("%s", err.message);
        aoei_url_free(&u);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (aoei_url_read(&u, bad[i], &err) != AOE_EARG)
            fail_msg("%s was accepted, expected an error", bad[i]);
        assert_null(u.origin);
        assert_null(strstr(err.message, TOKEN));
    }
    assert_int_equal(aoei_url_read(&u, "https://Example.COM/x?y", &err), 0);
    assert_string_equal(u.origin, "https://example.com:443");
    assert_int_equal(u.secure, 1);
    aoei_url_free(&u);
}

static void send_bad_gateway(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    a->status = 502;
}

static void test_proxies(void **state) {
    (void)state;
    test_server_route(server, "GET", "/echo", echo, NULL);
    test_server_route(other, "CONNECT", "*", send_bad_gateway, NULL);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("https_proxy", test_server_url(other), 1);
    const int plain = get("/echo");
    aoei_http_request q = {.url = "https://example.invalid/x", .token = TOKEN};
    const int tunnelled = aoei_http_send(client, &q, &answer, &err);
    unsetenv("http_proxy");
    unsetenv("https_proxy");
    assert_int_equal(plain, 0); /* requests to the local machine must not use a proxy */
    assert_int_equal(tunnelled, AOE_EIO);
    assert_message("https://example.invalid/x");
    assert_true(test_server_count(other, "CONNECT example.invalid:443") >= 1);
    assert_int_equal(test_server_count_header(other, TOKEN), 0);
}

/* ----------------------------------------------------------------- failures */

static void misbehave(void *user, const test_request *q, test_answer *a) {
    (void)user;
    static const char garbage[] = "this is no HTTP\r\n\r\n";
    const char *how = test_request_query(q, "how");
    test_answer_printf(a, "0123456789");
    a->cut = strncmp(how, "cut", 3) == 0;
    a->cut_at = 4;
    a->chunked = strcmp(how, "cut-chunks") == 0;
    a->status = strcmp(how, "nothing") == 0 || strcmp(how, "reset") == 0 ? 0 : 200;
    a->reset = strstr(how, "reset") != NULL;
    a->delay = strcmp(how, "late") == 0 ? 60 : 0;
    a->byte_delay = strcmp(how, "slow") == 0 ? 0.03 : 0;
    a->raw = strcmp(how, "garbage") == 0 ? garbage : NULL;
    a->raw_len = sizeof garbage - 1;
}

static void test_transient_failures(void **state) {
    (void)state;
    static const struct {
        const char *path, *message;
    } cases[] = {{"/bad?how=cut", "partial"},         {"/bad?how=cut-chunks", "try again later"},
                 {"/bad?how=cut-reset", "try again"}, {"/bad?how=nothing", "nothing"},
                 {"/bad?how=reset", "try again"},     {"/bad?how=late", "no data received for 0.2 s"}};
    test_server_route(server, "GET", "/bad", misbehave, NULL);
    use_options(&(aoei_http_options){.stall_timeout = 0.2});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(get_with_token(cases[i].path), AOE_EIO);
        assert_message(cases[i].message);
        assert_message("/bad: ");
        assert_int_equal(answer.transient, 1);
        assert_int_equal(answer.status, 0);
    }
    /* the server sends one byte every 0.03 s, which is too fast to count as a stalled connection */
    assert_int_equal(get("/bad?how=slow"), 0);
    assert_body("0123456789");
    assert_int_equal(get("/bad?how=garbage"), AOE_EIO);
    use_options(&(aoei_http_options){.timeout = 0.1});
    assert_int_equal(get("/bad?how=slow"), AOE_EIO);
    assert_message("Timeout");
    assert_int_equal(answer.transient, 1);
}

static void huge(void *user, const test_request *q, test_answer *a) {
    (void)user;
    static char block[1 << 16];
    const char *how = test_request_query(q, "how");
    a->repeat = (size_t)1 << 24; /* the block of 64 KiB is sent 2^24 times, 1 TiB in total */
    a->chunked = strcmp(how, "chunks") == 0;
    a->no_length = strcmp(how, "endless") == 0;
    test_answer_write(a, block, sizeof block);
}

static void bomb(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    size_t size, bytes = (size_t)8 << 20;
    char *zeros = calloc(1, bytes), *data = test_gzip(zeros, bytes, &size);
    test_answer_header(a, "Content-Encoding: gzip");
    test_answer_write(a, data, size);
    free(data);
    free(zeros);
}

static void flood(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    for (int i = 0; i < 300; i++)
        test_answer_header(a, "X-%d: %01000d", i, i);
}

static void test_size_limits(void **state) {
    (void)state;
    static const char *const paths[] = {"/huge?how=length", "/huge?how=chunks", "/huge?how=endless", "/bomb", "/flood"};
    test_server_route(server, "GET", "/huge", huge, NULL);
    test_server_route(server, "GET", "/bomb", bomb, NULL);
    test_server_route(server, "GET", "/flood", flood, NULL);
    use_options(&(aoei_http_options){.max_body = 1 << 20});
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const int rc = get(paths[i]);
        /* for /flood, libcurl's own limit on the size of headers may end the request first */
        assert_true(rc == AOE_EFORMAT || (rc == AOE_EIO && strcmp(paths[i], "/flood") == 0));
        assert_message(rc == AOE_EFORMAT ? "larger than 1048576 bytes" : "/flood");
        assert_int_equal(answer.transient, 0);
        assert_true(answer.body.len <= 1 << 20);
    }
}

static int stop_at_third(void *user) {
    return ++*(int *)user >= 3;
}

static void test_cancelling(void **state) {
    (void)state;
    int asked = 0;
    test_server_route(server, "GET", "/bad", misbehave, NULL);
    use_options(&(aoei_http_options){.stop = stop_at_third, .stop_user = &asked});
    const double begin = aoei_now();
    assert_int_equal(get_with_token("/bad?how=late"), AOE_ECANCELLED);
    assert_message("cancelled");
    assert_true(aoei_now() - begin < 5);
    assert_int_equal(answer.transient, 0);
    asked = -1000000;
    assert_int_equal(get("/bad?how=ok"), 0); /* the client can be used again after the failures */
    assert_body("0123456789");
}

/* --------------------------------------------------------------------- JSON */

static void deep(void *user, const test_request *q, test_answer *a) {
    (void)user;
    const int depth = atoi(test_request_query(q, "depth"));
    for (int i = 0; i < depth; i++)
        test_answer_write(a, "[", 1);
    for (int i = 0; i < depth; i++)
        test_answer_write(a, "]", 1);
}

static void test_json(void **state) {
    (void)state;
    json_t *root;
    test_server_route(server, "GET", "/deep", deep, NULL);
    test_server_route(server, "GET", "/bad", misbehave, NULL);
    assert_int_equal(get("/deep?depth=1000"), 0);
    assert_int_equal(aoei_http_json(&root, &answer, &err), 0);
    assert_true(json_is_array(root));
    json_decref(root);
    assert_int_equal(get("/deep?depth=200000"), 0);
    assert_int_equal(aoei_http_json(&root, &answer, &err), AOE_EFORMAT);
    assert_message("/deep:1: maximum parsing depth reached");
    assert_null(root);
    assert_int_equal(get("/deep?depth=0"), 0);
    assert_int_equal(aoei_http_json(&root, &answer, &err), AOE_EFORMAT);
    assert_message("empty");
}

/* ------------------------------------------------------- failed allocations */

static int use_once(void *arg) {
    aoei_http *h;
    aoei_http_response r = {0};
    json_t *root = NULL;
    static const char *const header = "Accept: application/json";
    aoei_http_request q = {.url = arg, .headers = &header, .n_headers = 1, .token = TOKEN};
    int rc = aoei_http_create(&h, NULL, &err);
    if (!rc)
        rc = aoei_http_send(h, &q, &r, &err);
    if (!rc)
        rc = aoei_http_json(&root, &r, &err);
    if (!rc)
        assert_int_equal(json_array_size(root), 1);
    else
        assert_message("out of memory");
    json_decref(root);
    aoei_http_response_free(&r);
    aoei_http_destroy(h);
    return rc;
}

static void test_memory(void **state) {
    (void)state;
    char url[256];
    snprintf(url, sizeof url, "%s/there", test_server_url(server));
    test_server_route(server, "GET", "/there", redirect, "/deep?depth=2");
    test_server_route(server, "GET", "/deep", deep, NULL);
    assert_true(test_alloc_failures(use_once, url, 150) > 30);
}

/* ------------------------------------------------------------------ threads */

static _Atomic int good_answers;

static void *many_requests(void *arg) {
    aoei_http *h;
    aoei_http_response r = {0};
    if (aoei_http_create(&h, NULL, NULL))
        return NULL;
    for (int i = 0; i < 20; i++)
        if (aoei_http_send(h, &(aoei_http_request){.url = arg}, &r, NULL) == 0 && r.status == 200)
            good_answers++;
    aoei_http_response_free(&r);
    aoei_http_destroy(h);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    char url[256];
    pthread_t thread[4];
    snprintf(url, sizeof url, "%s/echo", test_server_url(server));
    test_server_route(server, "GET", "/echo", echo, NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, many_requests, url), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(good_answers, 80);
    assert_int_equal(test_server_count(server, "GET /echo"), 80);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_methods),
        TEST(test_statuses),
        TEST(test_encodings),
        TEST(test_redirects),
        TEST(test_redirects_rejected),
        TEST(test_token_is_sent_to_its_origin_only),
        TEST(test_tokens_rejected),
        TEST(test_errors_contain_no_secret),
        TEST(test_urls),
        TEST(test_proxies),
        TEST(test_transient_failures),
        TEST(test_size_limits),
        TEST(test_cancelling),
        TEST(test_json),
        TEST(test_memory),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
