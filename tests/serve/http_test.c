/* SPDX-License-Identifier: MIT
 * tags: threads network
 * covers: serve/mhd serve/exchange serve/connections serve/listener serve/acceptor serve/request_threads
 * Tests the HTTP server over raw sockets: framing, limits, slow and broken clients, answers from other threads,
 * pipelining, draining, and rejections. Each test starts a server on a free port of 127.0.0.1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "serve/http.h"
#include "serve/mhd.h"

#define HOST  "Host: 127.0.0.1\r\n"
#define CLOSE "Connection: close\r\n"

static aoei_http *server;
static aoe_error err;
static _Atomic(aoei_exchange *) kept; /* the exchange of a request for /keep */
static atomic_int n_handled;

/* Answers with "METHOD PATH BYTES:CHECKSUM". /keep is answered later by the test, /headers repeats headers. */
static void handle(void *user, aoei_exchange *x) {
    (void)user;
    (void)atomic_fetch_add(&n_handled, 1);
    if (strcmp(aoei_exchange_path(x), "/keep") == 0) {
        atomic_store(&kept, x);
        return;
    }
    const aoe_text body = aoei_exchange_body(x);
    unsigned sum = 0;
    for (size_t i = 0; i < body.len; i++)
        sum = sum * 31 + (unsigned char)body.data[i];
    const char *q = aoei_exchange_query(x, "q"), *test = aoei_exchange_header(x, "x-test");
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s %s %zu:%u", aoei_exchange_method(x), aoei_exchange_path(x), body.len, sum);
    if (q)
        aoei_exchange_add_header(x, "x-query", "%s", q);
    if (test)
        aoei_exchange_add_header(x, "x-repeated", "%s", test);
    aoei_exchange_note(x, "tiny", 1, 2);
    aoei_exchange_answer(x, 200, "text/plain", &b);
}

static int is_open(const char *method, const char *path) {
    (void)method;
    return strcmp(path, "/health") == 0;
}

static aoei_http_options options(void) {
    return (aoei_http_options){.handle = handle, .request_threads = 2};
}

static void start(const aoei_http_options *o) {
    atomic_store(&kept, NULL);
    atomic_store(&n_handled, 0);
    if (aoei_http_start(&server, o, &err))
        fail_msg("%s", err.message);
}

static void stop(void) {
    aoei_http_stop(server);
    server = NULL;
}

/* ------------------------------------------------------------------ clients */

static int client(void) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)aoei_http_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static int put(int fd, const char *text, size_t len) {
    while (len) {
        const ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n <= 0)
            return 1;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

static void say(int fd, const char *text) {
    assert_int_equal(put(fd, text, strlen(text)), 0);
}

/* Returns 1 if there is something to read or an end within `seconds`. */
static int readable(int fd, double seconds) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, (int)(seconds * 1000)) > 0;
}

/* Reads one answer, with interim answers before it, into a text that is valid until the next call; "" at the end of the
 * connection. */
static const char *hear(int fd) {
    static char text[65536];
    size_t len = 0;
    text[0] = '\0';
    for (;;) {
        const char *last = text;
        for (const char *p = text; (p = strstr(p, "HTTP/1.1 ")); p++)
            last = p;
        const char *end = strstr(last, "\r\n\r\n"), *length = strstr(last, "Content-Length: ");
        const size_t need =
            end && strncmp(last, "HTTP/1.1 1", 10) != 0
                ? (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 16, NULL, 10) : 0)
                : SIZE_MAX;
        if (len >= need || len + 1 >= sizeof text)
            return text;
        if (!readable(fd, 20))
            fail_msg("no answer within 20 s; so far: %s", text);
        const ssize_t n = recv(fd, text + len, 1, 0); /* one byte, because the next answer may follow */
        if (n <= 0)
            return text;
        text[++len] = '\0';
    }
}

/* Returns 1 if the server has closed the connection, or closes it within 20 s. */
static int is_closed(int fd) {
    char c;
    return readable(fd, 20) && recv(fd, &c, 1, 0) <= 0;
}

/* Sends a request on a new connection and returns the answer. */
static const char *ask(const char *text) {
    const int fd = client();
    say(fd, text);
    const char *answer = hear(fd);
    close(fd);
    return answer;
}

static void expect(const char *answer, const char *part) {
    if (!strstr(answer, part))
        fail_msg("expected '%s' in: %s", part, answer);
}

/* -------------------------------------------------------------------- tests */

static void requests_are_answered(void **state) {
    (void)state;
    const aoei_http_options o = options();
    start(&o);
    assert_true(aoei_http_port(server) > 0);
    assert_true(strncmp(aoei_http_version(), "0.9.", 4) == 0 || aoei_http_version()[0] >= '1');
    char address[64];
    snprintf(address, sizeof address, "http://127.0.0.1:%u", aoei_http_port(server));
    assert_string_equal(aoei_http_address(server), address);
    const char *a = ask("GET /a%20b?q=1%2B2 HTTP/1.1\r\n" HOST "X-Test: x\r\n\r\n");
    expect(a, "HTTP/1.1 200 ");
    expect(a, "Content-Type: text/plain\r\n");
    expect(a, "x-query: 1+2\r\n");
    expect(a, "x-repeated: x\r\n");
    expect(a, "\r\n\r\nGET /a b 0:0");
    expect(ask("POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"), "POST / 3:96354");
    expect(ask("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n"),
           "POST / 3:96354");
    expect(ask("GET / HTTP/1.0\r\n\r\n"), "GET / 0:0");
    expect(ask("GET http://127.0.0.1/x?q=2 HTTP/1.1\r\n" HOST "\r\n"), "GET /x 0:0");
    expect(ask("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "OPTIONS * 0:0");
    stop();
}

static void bad_framing_closes_the_connection(void **state) {
    (void)state;
    static const char hidden[] = "GET /hidden HTTP/1.1\r\n" HOST "\r\n";
    static const char *const first[] = {
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 40\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \tchunked\x0b\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Content-Length : 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\nhello",
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\nhello",
        "GET / HTTP/1.1\r\n" HOST HOST "\r\n",
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n" HOST "\r\n",
        "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    };
    const aoei_http_options o = options();
    start(&o);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const int fd = client();
        char text[1024];
        const int len = snprintf(text, sizeof text, "%s%s", first[i], hidden);
        assert_int_equal(put(fd, text, (size_t)len), 0);
        const char *a = hear(fd);
        if (a[0] && !strstr(a, " 400 "))
            fail_msg("case %zu: %s", i, a);
        assert_true(is_closed(fd));
        close(fd);
    }
    assert_int_equal(atomic_load(&n_handled), 0);
    stop();
}

static void keys_hosts_and_origins_are_checked(void **state) {
    (void)state;
    char *key = test_write_text(test_dir, "key", "secret\n");
    static const char *const names[] = {"example.org"};
    aoei_http_options o = options();
    o.api_key_file = key;
    o.is_open = is_open;
    o.allow_hosts = names;
    o.n_allow_hosts = 1;
    start(&o);
    const char *a = ask("GET / HTTP/1.1\r\n" HOST "\r\n");
    expect(a, " 401 ");
    expect(a, "WWW-Authenticate: Bearer\r\n");
    expect(ask("GET / HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\n\r\n"), " 200 ");
    expect(ask("GET / HTTP/1.1\r\n" HOST "x-api-key: secret\r\n\r\n"), " 200 ");
    expect(ask("GET / HTTP/1.1\r\n" HOST "api-key: Secret\r\n\r\n"), " 401 ");
    expect(ask("GET /health HTTP/1.1\r\n" HOST "\r\n"), " 200 ");
    expect(ask("GET /health HTTP/1.1\r\nHost: localhost:9\r\n\r\n"), " 200 ");
    expect(ask("GET /health HTTP/1.1\r\nHost: Example.ORG\r\n\r\n"), " 200 ");
    expect(ask("GET /health HTTP/1.1\r\nHost: example.com\r\n\r\n"), " 403 ");
    expect(ask("GET /health HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n"), " 403 ");
    expect(ask("GET /health HTTP/1.1\r\n" HOST "Origin: http://evil.com\r\n\r\n"), " 403 ");
    expect(ask("GET /health HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1\r\n\r\n"), " 200 ");
    /* a rejected request with a body leaves the connection usable */
    const int fd = client();
    say(fd, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"
            "GET /health HTTP/1.1\r\n" HOST "\r\n");
    expect(hear(fd), " 401 ");
    expect(hear(fd), "GET /health");
    close(fd);
    stop();
    free(key);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(bad_framing_closes_the_connection),
        cmocka_unit_test(keys_hosts_and_origins_are_checked),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
