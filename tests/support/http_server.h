/* SPDX-License-Identifier: MIT
 * A scriptable HTTP/1.1 server on 127.0.0.1 for tests, which can also send invalid answers and close connections. It
 * runs in threads of the test program, or as a program of its own (test_server_main) for tests/cli. Routes call the
 * handlers that the test provides.
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
 * Only one handler runs at a time, whatever the number of connections, so handlers need no locks for shared data.
 * Delays and slow bodies do not block other handlers. The server allocates with malloc, so injected allocation
 * failures affect only the library under test.
 */
#ifndef AOE_TESTS_HTTP_SERVER_H
#define AOE_TESTS_HTTP_SERVER_H

#include <stddef.h>

typedef struct test_server test_server;

typedef struct test_request {
    const char *method;  /* "GET" */
    const char *target;  /* "/path?query", as sent */
    const char *path;    /* "/path" */
    const char *query;   /* text after the '?'; "" if there is none */
    const char *headers; /* header lines as received, each terminated by "\r\n"; test_request_header finds one */
    const char *body;    /* [body_len], followed by a NUL */
    size_t body_len;
    size_t nth;                /* number of earlier requests with the same method and target; 0 for the first one */
    const test_server *server; /* the server, for example for test_server_url in a Link header */
} test_request;

/* An answer. A handler starts with status 200, no headers and an empty body. The server adds Content-Length, Connection and,
 * unless the handler sets it, Date. */
typedef struct test_answer {
    int status;           /* HTTP status; if it is 0 and `reset` is set, no answer is sent */
    char *headers;        /* private; set by test_answer_header */
    char *body;           /* private; set by test_answer_write and test_answer_printf */
    size_t body_len;      /* size of body in bytes */
    size_t body_capacity; /* private */
    size_t repeat;        /* number of times that the body is sent, so that a huge body needs little memory; 0: once */
    int chunked;          /* 1: Transfer-Encoding: chunked instead of Content-Length */
    int no_length;        /* 1: neither Content-Length nor chunks; the end of the connection ends the body */
    int close;            /* 1: the connection is closed after the answer */
    double delay;         /* seconds before the first byte */
    double byte_delay;    /* seconds before each byte of the body */
    int cut;              /* 1: the connection is closed after cut_at bytes of the body, whatever length the headers announce */
    size_t cut_at;
    int reset;       /* 1: the connection is closed by a reset (RST) after the answer; if status is 0, without an answer */
    const char *raw; /* [raw_len] bytes that are sent instead of an answer; then the connection is closed; borrowed */
    size_t raw_len;
} test_answer;

typedef void (*test_handler)(void *user, const test_request *q, test_answer *a);

/* Start a server on `port`, or on a free port if `port` is 0. test_server_start uses a free port. If a function of the server
 * fails, it ends the program. */
test_server *test_server_start(void);
test_server *test_server_start_at(int port);
void test_server_stop(test_server *s); /* closes open connections and joins all threads; NULL is accepted */

/* Sends requests with this method ("*": any) and a path that matches the shell pattern to the handler. The first matching
 * route is used; a request without a matching route is answered with 404. Routes may be added while the server runs. */
void test_server_route(test_server *s, const char *method, const char *pattern, test_handler fn, void *user);

const char *test_server_url(const test_server *s); /* "http://127.0.0.1:PORT"; borrowed */
int test_server_port(const test_server *s);

/* Returns the number of requests so far whose method, path and query are exactly `what`, for example "GET /path?query". If
 * `what` is NULL, returns the number of all requests. */
size_t test_server_count(test_server *s, const char *what);
/* Returns the number of requests so far with a header line that contains this text, for example "Bearer ". */
size_t test_server_count_header(test_server *s, const char *text);
/* resets all counts of requests, including those from which test_request.nth is computed */
void test_server_forget(test_server *s);
/* Appends a line "METHOD /path?query STATUS" to the file for every later request. */
void test_server_log(test_server *s, const char *path);

/* Returns the value of a header (case-insensitive), or NULL if it is missing. The next call in the same thread overwrites
 * the buffer. */
const char *test_request_header(const test_request *q, const char *name);
/* Returns the decoded value of a query parameter, or NULL if it is missing. The next call in the same thread overwrites the
 * buffer. */
const char *test_request_query(const test_request *q, const char *name);

/* Adds one header line, "Name: value". */
void test_answer_header(test_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Append to the body. */
void test_answer_write(test_answer *a, const void *data, size_t len);
void test_answer_printf(test_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds the Link header of page `page` (counted from 1) of n_pages, with the links first, prev, next and last. The query of
 * `url` must not contain "page=". */
void test_answer_pages(test_answer *a, const char *url, size_t page, size_t n_pages);

/* Implements main for a program tests/servers/NAME.c, built as build/tests/servers/NAME:
 *     int main(int argc, char **argv) { return test_server_main(argc, argv, add_routes); }
 * The program is called as NAME URL_FILE [LOG_FILE [ARGUMENT...]]. It writes its URL to URL_FILE atomically, logs requests
 * to LOG_FILE, and serves until SIGTERM or SIGINT (exit code 0) or until its parent ends. set_up receives the arguments
 * after LOG_FILE. */
int test_server_main(int argc, char **argv, void (*set_up)(test_server *s, int argc, char **argv));

#endif
