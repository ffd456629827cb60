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
    if (strcmp(aoei_exchange_path(x), "/large") == 0) { /* 4 MB, more than the buffers of a connection */
        aoei_buffer large = {0};
        assert_int_equal(aoei_buffer_reserve(&large, 4000000), 0);
        memset(large.data, 'l', 4000000);
        large.len = 4000000;
        aoei_exchange_answer(x, 200, "text/plain", &large);
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

/* Bodies that are compressed are rejected, and the connection can be used further. */
static void encoded_bodies_are_rejected(void **state) {
    (void)state;
    const aoei_http_options o = options();
    start(&o);
    const int fd = client();
    say(fd, "POST /x HTTP/1.1\r\n" HOST "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"
            "POST /x HTTP/1.1\r\n" HOST "Content-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello");
    const char *a = hear(fd);
    expect(a, " 415 ");
    expect(a, "Content-Encoding");
    expect(hear(fd), "POST /x 5:");
    close(fd);
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

static aoei_exchange *take_kept(void) {
    aoei_exchange *x = NULL;
    for (int i = 0; i < 4000 && !x; i++) {
        x = atomic_exchange(&kept, NULL);
        if (!x)
            usleep(5000);
    }
    assert_non_null(x);
    return x;
}

static void answer(aoei_exchange *x) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "late");
    aoei_exchange_answer(x, 200, "text/plain", &b);
}

static void bodies_have_a_limit(void **state) {
    (void)state;
    aoei_http_options o = options();
    o.body_limit = 100000;
    o.bodies_limit = 150000;
    start(&o);
    char *body = malloc(200000);
    assert_non_null(body);
    memset(body, 'a', 200000);
    int fd = client(); /* the answer comes before the body, which is read and discarded */
    say(fd, "POST / HTTP/1.1\r\n" HOST "Content-Length: 200000\r\n\r\n");
    const char *a = hear(fd);
    expect(a, " 413 ");
    expect(a, "100000 bytes");
    expect(a, CLOSE);
    assert_int_equal(put(fd, body, 200000), 0);
    assert_true(is_closed(fd));
    close(fd);
    fd = client(); /* in chunks, which never end */
    say(fd, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n30d40\r\n");
    assert_int_equal(put(fd, body, 150000), 0);
    expect(hear(fd), " 413 ");
    assert_int_equal(put(fd, body, 50000), 0);
    close(fd);
    fd = client();
    say(fd, "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 200000\r\n\r\n");
    a = hear(fd);
    expect(a, "HTTP/1.1 413 ");
    assert_null(strstr(a, "100 Continue"));
    assert_true(is_closed(fd));
    close(fd);
    fd = client();
    say(fd, "POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_true(readable(fd, 20));
    say(fd, "abc");
    a = hear(fd);
    expect(a, "HTTP/1.1 100 Continue\r\n");
    expect(a, "POST / 3:96354");
    close(fd);
    fd = client(); /* the largest body, in the threads for requests */
    say(fd, "POST / HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
    assert_int_equal(put(fd, body, 100000), 0);
    expect(hear(fd), "POST / 100000:");
    int other = client(); /* all bodies together */
    say(fd, "POST / HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
    assert_int_equal(put(fd, body, 99999), 0);
    usleep(300000); /* the server reads them */
    say(other, "POST / HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
    assert_int_equal(put(other, body, 100000), 0);
    a = hear(other);
    expect(a, " 429 ");
    expect(a, "Retry-After: 1\r\n");
    say(other, "GET / HTTP/1.1\r\n" HOST "\r\n"); /* the connection is still usable */
    expect(hear(other), "GET / 0:0");
    say(fd, "a");
    expect(hear(fd), "POST / 100000:");
    say(fd, "POST /keep HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
    assert_int_equal(put(fd, body, 100000), 0);
    aoei_exchange *x = take_kept();
    assert_int_equal(aoei_exchange_body(x).len, 100000);
    aoei_exchange_free_body(x); /* still counts, for the texts that the handler has copied */
    assert_int_equal(aoei_exchange_body(x).len, 0);
    for (int i = 0; i < 2; i++) {
        say(other, "POST / HTTP/1.1\r\n" HOST "Content-Length: 100000\r\n\r\n");
        assert_int_equal(put(other, body, 100000), 0);
        expect(hear(other), i ? "POST / 100000:" : " 429 ");
        if (!i) {
            answer(x);
            expect(hear(fd), "late");
        }
    }
    close(fd);
    close(other);
    free(body);
    stop();
}

/* Sends one byte every 0.2 s until the connection ends. Returns the seconds that this took. */
static double dribble(int fd, const char *first) {
    const double begin = aoei_now();
    say(fd, first);
    while (!readable(fd, 0.2) && aoei_now() < begin + 20)
        if (put(fd, "a", 1))
            break;
    return aoei_now() - begin;
}

static void slow_clients_are_disconnected(void **state) {
    (void)state;
    aoei_http_options o = options();
    char *path = test_path(test_dir, "slow.log");
    o.header_timeout = o.body_timeout = o.idle_timeout = 1;
    o.access_log = path;
    start(&o);
    static const char *const first[] = {
        "G", "GET / HTTP/1.1\r\n" HOST "X: ", "POST / HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n"};
    for (int i = 0; i < 3; i++) {
        const int fd = client();
        const double seconds = dribble(fd, first[i]);
        if (seconds < 0.9 || seconds > 5)
            fail_msg("case %d: %g s", i, seconds);
        const char *a = hear(fd);
        if (i > 0)
            expect(a, " 408 ");
        assert_true(i > 0 || a[0] == '\0');
        close(fd);
    }
    const int fd = client(); /* an idle connection */
    say(fd, "GET / HTTP/1.1\r\n" HOST "\r\n");
    expect(hear(fd), " 200 ");
    const double begin = aoei_now();
    assert_true(is_closed(fd));
    assert_true(aoei_now() - begin < 5);
    close(fd);
    assert_int_equal(atomic_load(&n_handled), 1);
    stop();
    char *text = test_read(path, NULL);
    expect(text, "\"method\":\"POST\",\"path\":\"/\",\"status\":408,");
    free(text);
    free(path);
}

/* Returns 1 if the exchange reports within 20 s that its client is gone. */
static int becomes_gone(aoei_exchange *x) {
    for (int i = 0; i < 4000; i++) {
        if (aoei_exchange_is_gone(x))
            return 1;
        usleep(5000);
    }
    return 0;
}

static void closed_connections_are_noticed(void **state) {
    (void)state;
    const aoei_http_options o = options();
    start(&o);
    int fd = client();
    say(fd, "GET /keep HTTP/1.1\r\n" HOST "\r\n");
    aoei_exchange *x = take_kept();
    assert_true(aoei_exchange_connection(x) > 0);
    assert_true(aoei_exchange_start(x) <= aoei_now_ns());
    for (int i = 0; i < 3; i++)
        assert_int_equal(aoei_exchange_is_gone(x), 0);
    say(fd, "GET /next HTTP/1.1\r\n" HOST "\r\n"); /* bytes of the next request change nothing */
    assert_int_equal(aoei_exchange_is_gone(x), 0);
    shutdown(fd, SHUT_WR); /* the client still reads */
    for (int i = 0; i < 20; i++) {
        assert_int_equal(aoei_exchange_is_gone(x), 0);
        usleep(5000);
    }
    answer(x);
    const char *a = hear(fd);
    expect(a, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n");
    expect(a, "\r\n\r\nlate");
    expect(hear(fd), "GET /next 0:0");
    assert_true(is_closed(fd));
    close(fd);
    for (int i = 0; i < 3; i++) {
        fd = client();
        say(fd, i == 2 ? "GET /keep HTTP/1.0\r\n\r\n" : "GET /keep HTTP/1.1\r\n" HOST "\r\n");
        x = take_kept();
        if (i > 0) /* a reset */
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        close(fd);
        assert_true(becomes_gone(x));
        answer(x);
    }
    assert_int_equal(aoei_http_wait(server, 20), 0);
    stop();
}

static void answers_that_nobody_reads_are_limited(void **state) {
    (void)state;
    aoei_http_options o = options();
    o.answers_limit = 10000000;
    start(&o);
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = client();
        say(fds[i], "GET /large HTTP/1.1\r\n" HOST "\r\n");
        assert_true(readable(fds[i], 20));
    }
    char first[16] = "";
    assert_int_equal(recv(fds[2], first, 15, MSG_WAITALL), 15);
    assert_string_equal(first, "HTTP/1.1 503 Se"); /* the third answer is too much */
    close(fds[0]);
    for (int i = 0; i < 400 && aoei_http_connections(server) > 2; i++)
        usleep(5000);
    expect(ask("GET /small HTTP/1.1\r\n" HOST "\r\n"), "GET /small 0:0");
    const int fd = client(); /* the memory of the first answer is free again */
    say(fd, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(recv(fd, first, 15, MSG_WAITALL), 15);
    assert_string_equal(first, "HTTP/1.1 200 OK");
    close(fd);
    close(fds[1]);
    close(fds[2]);
    stop();
}

static void memory_is_reserved_for_answers(void **state) {
    (void)state;
    aoei_http_options o = options();
    o.answers_limit = 10000000;
    start(&o);
    size_t limit;
    int fds[3];
    aoei_exchange *x[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = client();
        say(fds[i], "GET /keep HTTP/1.1\r\n" HOST "\r\n");
        x[i] = take_kept();
    }
    assert_int_equal(aoei_exchange_reserve(x[0], 10000001, &limit), 1);
    assert_int_equal(limit, 10000000);
    assert_int_equal(aoei_exchange_reserve(x[0], 6000000, &limit), 0);
    assert_int_equal(aoei_exchange_reserve(x[1], 6000000, &limit), 2);
    assert_int_equal(aoei_exchange_reserve(x[1], 1000, &limit), 0); /* small */
    assert_int_equal(aoei_exchange_reserve(x[2], 4000000, &limit), 0);
    answer(x[2]);
    expect(hear(fds[2]), "late");
    answer(x[1]);
    expect(hear(fds[1]), "late");
    const int fd = client(), small = 65536; /* what the third request did not need is free, but not enough for two */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    say(fd, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    char first[16] = "";
    assert_int_equal(recv(fd, first, 15, MSG_WAITALL), 15);
    assert_string_equal(first, "HTTP/1.1 200 OK");
    expect(ask("GET /large HTTP/1.1\r\n" HOST "\r\n"), " 503 ");
    answer(x[0]);
    expect(hear(fds[0]), "late");
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close(fd);
    stop();
}

/* Sends requests without a pause, so that events of other connections arrive while one is resumed. */
static void *keep_busy(void *arg) {
    const int fd = client();
    while (!atomic_load((atomic_int *)arg)) {
        char answer_text[4096];
        say(fd, "GET /busy HTTP/1.1\r\n" HOST "\r\n");
        if (recv(fd, answer_text, sizeof answer_text, 0) <= 0)
            break;
    }
    close(fd);
    return NULL;
}

static void clients_that_end_their_side_are_answered(void **state) {
    (void)state;
    const aoei_http_options o = options();
    pthread_t busy[2];
    atomic_int stops = 0;
    start(&o);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&busy[i], NULL, keep_busy, &stops), 0);
    for (int i = 0; i < 200; i++) {
        const int fd = client();
        say(fd, "POST /keep HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc");
        shutdown(fd, SHUT_WR);
        answer(take_kept());
        expect(hear(fd), "\r\n\r\nlate");
        assert_true(is_closed(fd));
        close(fd);
    }
    atomic_store(&stops, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(busy[i], NULL), 0);
    stop();
}

static void pipelined_requests_are_answered_in_order(void **state) {
    (void)state;
    const aoei_http_options o = options();
    start(&o);
    const int fd = client();
    char *large = malloc(20001);
    assert_non_null(large);
    memset(large, 'b', 20000);
    large[20000] = '\0';
    for (int i = 0; i < 20; i++) {
        char text[256];
        snprintf(text, sizeof text, "POST /%d HTTP/1.1\r\n" HOST "Content-Length: %d\r\n\r\n", i, i % 3 ? i : 20000);
        say(fd, text);
        assert_int_equal(put(fd, large, i % 3 ? (size_t)i : 20000), 0);
    }
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < 20; i++) {
        char text[64];
        snprintf(text, sizeof text, "POST /%d %d:", i, i % 3 ? i : 20000);
        expect(hear(fd), text);
    }
    assert_true(is_closed(fd));
    close(fd);
    free(large);
    stop();
}

static void draining_finishes_what_is_in_flight(void **state) {
    (void)state;
    const aoei_http_options o = options();
    start(&o);
    const int fd = client(), idle = client();
    say(idle, "GET / HTTP/1.1\r\n" HOST "\r\n");
    expect(hear(idle), " 200 ");
    say(fd, "GET /keep HTTP/1.1\r\n" HOST "\r\n");
    aoei_exchange *x = take_kept();
    aoei_http_drain(server);
    assert_int_equal(aoei_http_wait(server, 0.05), 1);
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)aoei_http_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connected = 1;
    for (int i = 0; i < 1000 && connected; i++) {
        const int late = socket(AF_INET, SOCK_STREAM, 0);
        connected = connect(late, (const struct sockaddr *)&a, sizeof a) == 0;
        close(late);
        usleep(1000);
    }
    assert_int_equal(connected, 0);
    say(idle, "GET / HTTP/1.1\r\n" HOST "\r\n"); /* an open connection is still served once */
    expect(hear(idle), CLOSE);
    assert_true(is_closed(idle));
    answer(x);
    const char *late = hear(fd);
    expect(late, CLOSE);
    expect(late, "\r\n\r\nlate");
    assert_true(is_closed(fd));
    assert_int_equal(aoei_http_wait(server, 20), 0);
    close(fd);
    close(idle);
    stop();
}

static void memory_does_not_grow(void **state) {
    (void)state;
    aoei_http_options o = options();
    start(&o);
    const int fd = client();
    int64_t live = 0;
    for (int i = 0; i < 3000; i++) {
        say(fd, i % 2 ? "GET /x?q=1 HTTP/1.1\r\n" HOST "X-Test: y\r\n\r\n"
                      : "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc");
        expect(hear(fd), " 200 ");
        assert_int_equal(aoei_http_wait(server, 20), 0);
        if (i == 99)
            live = aoei_alloc_live();
    }
    assert_int_equal(aoei_alloc_live(), live);
    assert_int_equal(aoei_http_connections(server), 1);
    close(fd);
    for (int i = 0; i < 200; i++) { /* clients that disconnect in the middle of a request */
        const int broken = client();
        say(broken, i % 2 ? "POST / HTTP/1.1\r\n" HOST "Content-Length: 30000\r\n\r\nabc" : "GET / HTTP/1.1\r\nHo");
        close(broken);
    }
    for (int i = 0; i < 4000 && aoei_http_connections(server); i++)
        usleep(5000);
    assert_int_equal(aoei_http_connections(server), 0);
    assert_int_equal(aoei_http_wait(server, 20), 0);
    assert_int_equal(aoei_alloc_live(), live - 1); /* without the connection */
    stop();
}

static atomic_int released, blocked;

static void block(void *user, aoei_exchange *x) {
    (void)user;
    atomic_fetch_add(&blocked, 1);
    while (!atomic_load(&released))
        usleep(1000);
    handle(NULL, x);
}

/* Waits until `count` of the connections fd[n] have received bytes, and sets has_bytes[n]. */
static void wait_for_bytes(const int *fd, int *has_bytes, int n, int count) {
    int found = 0;
    for (int i = 0; i < 4000 && found < count; i++) {
        found = 0;
        for (int k = 0; k < n; k++) {
            struct pollfd p = {.fd = fd[k], .events = POLLIN};
            has_bytes[k] = poll(&p, 1, 0) > 0;
            found += has_bytes[k];
        }
        usleep(5000);
    }
    assert_int_equal(found, count);
}

static void a_full_queue_is_reported(void **state) {
    (void)state;
    aoei_http_options o = {.handle = block, .request_threads = 1, .request_queue = 1};
    char *body = calloc(1, 9000);
    assert_non_null(body);
    atomic_store(&released, 0);
    atomic_store(&blocked, 0);
    start(&o);
    int fd[4], is_rejected[3];
    for (int i = 0; i < 4; i++) { /* the first request is handled; one of the others waits */
        fd[i] = client();
        say(fd[i], "POST / HTTP/1.1\r\n" HOST "Content-Length: 9000\r\n\r\n");
        assert_int_equal(put(fd[i], body, 9000), 0);
        for (int k = 0; k < 4000 && !atomic_load(&blocked); k++)
            usleep(5000);
    }
    free(body);
    wait_for_bytes(fd + 1, is_rejected, 3, 2);
    atomic_store(&released, 1);
    expect(hear(fd[0]), " 200 ");
    for (int i = 1; i < 4; i++)
        expect(hear(fd[i]), is_rejected[i - 1] ? " 429 " : " 200 ");
    for (int i = 0; i < 4; i++)
        close(fd[i]);
    stop();
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void connections_beyond_a_limit_wait(void **state) {
    (void)state;
    aoei_http_options o = options();
    o.max_connections = 2;
    start(&o);
    const int a = client(), b = client(), c = client();
    say(a, "GET / HTTP/1.1\r\n" HOST "\r\n");
    say(b, "GET / HTTP/1.1\r\n" HOST "\r\n");
    say(c, "GET / HTTP/1.1\r\n" HOST "\r\n");
    expect(hear(a), " 200 ");
    expect(hear(b), " 200 ");
    assert_int_equal(readable(c, 0.3), 0);
    close(a);
    expect(hear(c), " 200 ");
    close(b);
    close(c);
    stop();
}

static atomic_int n_warnings;

static void on_log(void *user, aoe_log_level level, const char *message) {
    (void)user;
    (void)level;
    if (strstr(message, "cannot accept connections"))
        (void)atomic_fetch_add(&n_warnings, 1);
}

/* The test and the server share the files of one process, so the socket of the waiting client is opened before. */
static void a_lack_of_files_does_not_stop_the_server(void **state) {
    (void)state;
    for (int keep = 0; keep <= 1; keep++) { /* with and without an open connection */
        aoei_http_options o = options();
        o.log = on_log;
        start(&o);
        atomic_store(&n_warnings, 0);
        const int open = keep ? client() : -1;
        if (keep) {
            say(open, "GET / HTTP/1.1\r\n" HOST "\r\n");
            expect(hear(open), " 200 ");
        }
        const int waiting = socket(AF_INET, SOCK_STREAM, 0), next = dup(waiting);
        struct rlimit before, none;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = before;
        none.rlim_cur = (rlim_t)next;
        close(next);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        const struct sockaddr_in a = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)aoei_http_port(server)),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        assert_int_equal(connect(waiting, (const struct sockaddr *)&a, sizeof a), 0);
        say(waiting, "GET / HTTP/1.1\r\n" HOST "\r\n");
        const double cpu = cpu_seconds();
        assert_int_equal(readable(waiting, 0.5), 0);
        const double used = cpu_seconds() - cpu;
        if (keep) {
            say(open, "GET / HTTP/1.1\r\n" HOST "\r\n");
            expect(hear(open), " 200 ");
        }
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        expect(hear(waiting), " 200 ");
        assert_int_equal(atomic_load(&n_warnings), 1);
        assert_true(used < 0.25);
        close(waiting);
        if (keep)
            close(open);
        stop();
    }
}

static void pages_of_another_origin_can_be_allowed(void **state) {
    (void)state;
    char *key = test_write_text(test_dir, "key", "secret\n");
    aoei_http_options o = options();
    o.cors_origin = "https://example.org";
    o.api_key_file = key;
    start(&o);
    const char *a = ask("OPTIONS /embed HTTP/1.1\r\n" HOST "Origin: https://example.org\r\n"
                        "Access-Control-Request-Method: POST\r\n\r\n");
    expect(a, " 204 ");
    expect(a, "Access-Control-Allow-Origin: https://example.org\r\n");
    expect(a, "Access-Control-Allow-Methods: GET, HEAD, POST, DELETE, OPTIONS\r\n");
    assert_string_equal(strstr(a, "\r\n\r\n"), "\r\n\r\n");
    expect(a, "Access-Control-Allow-Headers: authorization, content-type, x-api-key, api-key\r\n");
    expect(ask("OPTIONS /embed HTTP/1.1\r\n" HOST "Origin: https://example.org\r\n"
               "Access-Control-Request-Method: POST\r\n"
               "Access-Control-Request-Headers: authorization,x-stainless-os\r\n\r\n"),
           "Access-Control-Allow-Headers: authorization,x-stainless-os\r\n");
    a = ask("GET / HTTP/1.1\r\n" HOST "Origin: https://example.org\r\nAuthorization: Bearer secret\r\n\r\n");
    expect(a, " 200 ");
    expect(a, "Access-Control-Allow-Origin: https://example.org\r\n");
    expect(a, "Vary: Origin\r\n");
    expect(ask("GET / HTTP/1.1\r\n" HOST "Origin: https://example.org\r\n\r\n"), " 401 ");
    expect(ask("GET / HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n"), " 403 ");
    a = ask("GET / HTTP/1.1\r\n" HOST "Authorization: Bearer secret\r\n\r\n");
    assert_null(strstr(a, "Access-Control"));
    stop();
    free(key);
}

static void requests_are_logged(void **state) {
    (void)state;
    char *path = test_path(test_dir, "log");
    aoei_http_options o = options();
    o.access_log = path;
    start(&o);
    const int fd = client();
    say(fd, "HEAD /head?text=private HTTP/1.1\r\n" HOST CLOSE "\r\n");
    char head[4096];
    size_t len = 0;
    ssize_t n;
    while ((n = recv(fd, head + len, sizeof head - 1 - len, 0)) > 0)
        len += (size_t)n;
    head[len] = '\0';
    expect(head, "Content-Length: 14\r\n");
    assert_string_equal(strstr(head, "\r\n\r\n"), "\r\n\r\n"); /* no body */
    close(fd);
    const int gone = client();
    say(gone, "GET /keep HTTP/1.1\r\n" HOST "Authorization: Bearer private\r\n\r\n");
    aoei_exchange *x = take_kept();
    close(gone);
    assert_true(becomes_gone(x));
    answer(x);
    assert_int_equal(aoei_http_wait(server, 20), 0);
    assert_int_equal(aoei_http_reopen_log(server, &err), 0);
    stop();
    char *text = test_read(path, NULL);
    expect(text, "\"method\":\"HEAD\",\"path\":\"/head\",\"status\":200,\"bytes_in\":0,\"bytes_out\":0,");
    expect(text, "\"model\":\"tiny\",\"texts\":1,\"tokens\":2}\n");
    expect(text, "\"path\":\"/keep\",\"status\":499,");
    assert_null(strstr(text, "private"));
    free(text);
    free(path);
}

static int start_fails(const aoei_http_options *o, const char *part) {
    const int rc = aoei_http_start(&server, o, &err);
    assert_null(server);
    expect(err.message, part);
    return rc;
}

static void failures_of_the_start_are_reported(void **state) {
    (void)state;
    aoei_http_options o = options();
    start(&o);
    aoei_http *first = server;
    o.port = aoei_http_port(first);
    assert_int_equal(start_fails(&o, "in use"), AOE_EIO);
    aoei_http_stop(first);
    o = options();
    o.port = 70000;
    assert_int_equal(start_fails(&o, "70000"), AOE_EARG);
    o = options();
    o.host = "no such host";
    assert_int_equal(start_fails(&o, "no such host"), AOE_EARG);
    o = options();
    o.allow_hosts = (const char *const[]){"a b"};
    o.n_allow_hosts = 1;
    assert_int_equal(start_fails(&o, "'a b'"), AOE_EARG);
    o = options();
    o.tls_cert = "/nonexistent";
    assert_int_equal(start_fails(&o, "key"), AOE_EARG);
    o.tls_key = "/nonexistent";
    assert_int_equal(start_fails(&o, "/nonexistent"), AOE_ENOENT);
    char *pem = test_write_text(test_dir, "pem", "no certificate\n");
    o.tls_cert = o.tls_key = pem;
    assert_int_equal(start_fails(&o, "certificate"), AOE_EARG);
    free(pem);
    o = options();
    o.api_key_file = "/nonexistent";
    assert_int_equal(start_fails(&o, "/nonexistent"), AOE_ENOENT);
    o = options();
    o.access_log = "/nonexistent/log";
    assert_int_not_equal(start_fails(&o, "/nonexistent/log"), 0);
    o = options();
    o.listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(start_fails(&o, "listening"), AOE_EARG);
    assert_int_equal(listen(o.listen_fd, 10), 0); /* the failed start has not closed it */
    start(&o);
    expect(ask("GET / HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n"), " 200 "); /* it listens on every address */
    expect(ask("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), " 403 ");
    stop();
    aoei_mhd_functions f;
    assert_int_equal(aoei_mhd_load(&f, "libm.so.6", &err), AOE_EIO);
    expect(err.message, "MHD_");
    assert_int_equal(aoei_mhd_load(&f, "libnonexistent.so", &err), AOE_EIO);
    int rc = -1; /* each allocation fails once */
    for (uint64_t i = 1; rc; i++) {
        o = options();
        o.cors_origin = "*";
        const int64_t live = aoei_alloc_live();
        aoei_alloc_fail_at(i);
        rc = aoei_http_start(&server, &o, &err);
        aoei_alloc_fail_at(0);
        assert_true(rc == 0 || rc == AOE_ENOMEM);
        assert_true(rc == 0 || aoei_alloc_live() == live);
        assert_true(i < 100);
    }
    stop();
}

/* Runs a command of the shell in the directory of the test. Returns 1 if it succeeds. */
static int run(const char *fmt, unsigned port) {
    char command[1024], line[900];
    snprintf(line, sizeof line, fmt, port);
    snprintf(command, sizeof command, "cd '%s' && { %s; } >output 2>&1", test_dir, line);
    return system(command) == 0;
}

/* The client is openssl s_client, which ends when the server closes the connection. */
static void requests_are_answered_over_tls(void **state) {
    (void)state;
    if (!run("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost",
             0)) {
        printf("SKIP: openssl is not installed or cannot create a certificate\n");
        skip();
    }
    char *cert = test_path(test_dir, "cert.pem"), *key = test_path(test_dir, "key.pem");
    char *output = test_path(test_dir, "output");
    aoei_http_options o = options();
    o.tls_cert = cert;
    o.tls_key = key;
    o.body_limit = 1000;
    start(&o);
    assert_int_equal(strncmp(aoei_http_address(server), "https://", 8), 0);
    assert_true(
        run("printf 'POST / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nContent-Length: 3\\r\\n\\r\\n"
            "abc' | openssl s_client -connect 127.0.0.1:%u -CAfile cert.pem -verify_return_error -quiet",
            aoei_http_port(server)));
    char *text = test_read(output, NULL);
    expect(text, "POST / 3:96354");
    free(text);
    (void)run("printf 'POST / HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 2000\\r\\n\\r\\n' | "
              "openssl s_client -connect 127.0.0.1:%u -quiet",
              aoei_http_port(server));
    text = test_read(output, NULL);
    expect(text, "HTTP/1.1 413 ");
    free(text);
    const int fd = client(); /* a client without TLS gets no answer */
    say(fd, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_null(strstr(hear(fd), " 200 "));
    close(fd);
    stop();
    free(output);
    free(cert);
    free(key);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(bad_framing_closes_the_connection),
        cmocka_unit_test(encoded_bodies_are_rejected),
        cmocka_unit_test(keys_hosts_and_origins_are_checked),
        cmocka_unit_test(bodies_have_a_limit),
        cmocka_unit_test(slow_clients_are_disconnected),
        cmocka_unit_test(closed_connections_are_noticed),
        cmocka_unit_test(answers_that_nobody_reads_are_limited),
        cmocka_unit_test(memory_is_reserved_for_answers),
        cmocka_unit_test(clients_that_end_their_side_are_answered),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(draining_finishes_what_is_in_flight),
        cmocka_unit_test(memory_does_not_grow),
        cmocka_unit_test(a_full_queue_is_reported),
        cmocka_unit_test(connections_beyond_a_limit_wait),
        cmocka_unit_test(a_lack_of_files_does_not_stop_the_server),
        cmocka_unit_test(pages_of_another_origin_can_be_allowed),
        cmocka_unit_test(requests_are_logged),
        cmocka_unit_test(requests_are_answered_over_tls),
        cmocka_unit_test(failures_of_the_start_are_reported),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
