/* SPDX-License-Identifier: MIT
 * A small HTTP/1.1 server over real sockets on 127.0.0.1 that does what it is told, misbehaviour included. It runs
 * in threads of the test program, or alone (test_server_main) for tests/cli. It knows no API: routes call handlers.
 *
 *     static void greet(void *user, const test_request *q, test_answer *a) {
 *         test_answer_header(a, "ETag: \"1\"");
 *         if (test_request_header(q, "if-none-match")) a->status = 304;
 *         else test_answer_printf(a, "hello, request %zu", q->nth);
 *     }
 *     test_server *s = test_server_start();
 *     test_server_route(s, "GET", "/greet*", greet, NULL);
 *     ... requests to test_server_url(s) + "/greet" ...
 *     assert_int_equal(test_server_count(s, "GET /greet"), 1);
 *     test_server_stop(s);
 *
 * Handlers run one at a time, whatever the number of connections, so what they share needs no lock; delays and slow
 * bodies happen outside of that. Memory is libc's, so that allocations made to fail are the program's own.
 */
#ifndef AOE_TESTS_HTTP_SERVER_H
#define AOE_TESTS_HTTP_SERVER_H

#include <stddef.h>

typedef struct test_server test_server;

typedef struct test_request {
    const char *method;  /* "GET" */
    const char *target;  /* "/path?query", as sent */
    const char *path;    /* "/path" */
    const char *query;   /* behind the '?'; "" when there is none */
    const char *headers; /* the lines as sent, each ended by "\r\n"; test_request_header finds one */
    const char *body;    /* [body_len] and a NUL */
    size_t body_len;
    size_t nth;                /* requests for the same method and target before this one */
    const test_server *server; /* e.g. for test_server_url in a Link header */
} test_request;

/* What to answer; a handler starts with 200, no headers and an empty body. Content-Length, Connection, and Date
 * unless the handler gives one, are added. */
typedef struct test_answer {
    int status;           /* 200 */
    char *headers;        /* private: test_answer_header */
    char *body;           /* private: test_answer_write, test_answer_printf */
    size_t body_len;      /* bytes in body */
    size_t body_capacity; /* private */
    size_t repeat;        /* the body is sent so many times, without being held in memory (0: once): huge bodies */
    int chunked;          /* Transfer-Encoding: chunked instead of Content-Length */
    int no_length;        /* neither of them: the end of the connection ends the body */
    int close;            /* close the connection after the answer */
    double delay;         /* seconds before the first byte */
    double byte_delay;    /* seconds before each byte of the body */
    int cut;              /* the connection ends after cut_at bytes of the body, whatever the headers promised */
    size_t cut_at;
    int reset;       /* ends it so by a reset (RST) instead; with status 0 without any answer */
    const char *raw; /* [raw_len] sent in the place of all of the above, then the connection is closed; borrowed */
    size_t raw_len;
} test_answer;

typedef void (*test_handler)(void *user, const test_request *q, test_answer *a);

/* Listens on a free port, or on `port` (0: a free one). Each ends the test, or the program, when it cannot do its work. */
test_server *test_server_start(void);
test_server *test_server_start_at(int port);
void test_server_stop(test_server *s); /* NULL accepted; open connections are closed, threads joined */

/* Requests of this method ("*": any) whose path matches the shell pattern go to the handler; the first route that
 * matches counts, and what matches none is answered with 404. Routes may be added while it runs. */
void test_server_route(test_server *s, const char *method, const char *pattern, test_handler fn, void *user);

const char *test_server_url(const test_server *s); /* "http://127.0.0.1:PORT"; borrowed */
int test_server_port(const test_server *s);

/* Requests so far for "METHOD /path?query", exactly; NULL: all. */
size_t test_server_count(test_server *s, const char *what);
/* How many of them came with a header line that has this text in it ("Bearer "); for all requests. */
size_t test_server_count_header(test_server *s, const char *text);
void test_server_forget(test_server *s); /* counts start anew; nth too */
/* Every request from now on is appended to the file: "METHOD /path?query STATUS\n". */
void test_server_log(test_server *s, const char *path);

/* Value of a header (name in any case), NULL when it is not there. In a buffer that the next call of the same
 * thread reuses. */
const char *test_request_header(const test_request *q, const char *name);
/* Value of name=VALUE in the query, decoded; NULL: not there. Buffer as above. */
const char *test_request_query(const test_request *q, const char *name);

void test_answer_header(test_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* "Name: value" */
void test_answer_write(test_answer *a, const void *data, size_t len);
void test_answer_printf(test_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The answer to the page-th (from 1) of n_pages: Link headers with first, prev, next and last; url is without "page=". */
void test_answer_pages(test_answer *a, const char *url, size_t page, size_t n_pages);

/* The main of a program tests/servers/NAME.c, built as build/tests/servers/NAME:
 *     int main(int argc, char **argv) { return test_server_main(argc, argv, add_routes); }
 * called as NAME URL_FILE [LOG_FILE [ARGUMENT...]]: writes its URL to URL_FILE (complete as soon as it is there),
 * logs requests to LOG_FILE, and serves until SIGTERM or SIGINT (exit code 0) or until its parent is gone.
 * set_up gets the arguments behind LOG_FILE. */
int test_server_main(int argc, char **argv, void (*set_up)(test_server *s, int argc, char **argv));

#endif
