/* SPDX-License-Identifier: MIT
 * An HTTP/1.1 server on 127.0.0.1 for tests. A test adds routes, and each route calls a handler that the test provides.
 * A handler can also send invalid answers and close connections. The server runs in threads of the test program. For
 * tests/cli, it runs as a program of its own (test_server_main). Example:
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
 * Only one handler runs at a time, even if there are several connections, so handlers need no locks for shared data.
 * The server sends answers outside the handlers, so delays and slow bodies do not block other handlers. The server
 * allocates memory with malloc, so injected allocation failures affect only the library under test.
 */
#pragma once

#include <stddef.h>

typedef struct test_server test_server;

typedef struct test_request {
    const char *method;  /* "GET" */
    const char *target;  /* "/path?query", as sent */
    const char *path;    /* "/path" */
    const char *query;   /* text after the '?'; "" if there is no '?' */
    const char *headers; /* header lines as received, each terminated by "\r\n"; see test_request_header */
    const char *body;    /* [body_len], followed by a NUL */
    size_t body_len;
    size_t nth;                /* number of earlier requests with the same method and target */
    const test_server *server; /* the server that received the request */
} test_request;

/* An answer. When a handler is called, the answer has status 200, no headers and an empty body. The server adds the
 * headers Content-Length and Connection, and also Date if the handler does not add it. */
typedef struct test_answer {
    int status;           /* HTTP status; 0: no answer is sent (used with `reset`) */
    char *headers;        /* private; set by test_answer_header */
    char *body;           /* private; set by test_answer_write and test_answer_printf */
    size_t body_len;      /* size of body in bytes */
    size_t body_capacity; /* private */
    size_t repeat;        /* number of copies of the body that are sent, for huge bodies; 0: one */
    int chunked;          /* 1: Transfer-Encoding: chunked instead of Content-Length */
    int no_length;        /* 1: neither Content-Length nor chunks; the connection is closed at the end of the body */
    int close;            /* 1: the connection is closed after the answer */
    double delay;         /* seconds before the first byte */
    double byte_delay;    /* seconds before each byte of the body */
    int cut; /* 1: the connection is closed after cut_at bytes of the body; Content-Length is the complete size */
    size_t cut_at;
    int reset;       /* 1: the connection is closed by a reset (RST), after the answer if there is one */
    const char *raw; /* [raw_len] bytes that are sent instead of an answer before the connection is closed; borrowed */
    size_t raw_len;
} test_answer;

typedef void (*test_handler)(void *user, const test_request *q, test_answer *a);

/* Both functions start a server. test_server_start uses a free port. test_server_start_at uses `port`, or a free port
 * if `port` is 0. If a function of the server fails, for example because the port is in use, it ends the program. */
test_server *test_server_start(void);
test_server *test_server_start_at(int port);
void test_server_stop(test_server *s); /* closes all connections, joins all threads and frees s; s may be NULL */

/* Adds a route. The handler fn receives the requests whose method is `method` ("*": any method) and whose path matches
 * the shell pattern. If several routes match, the one that was added first is used. If no route matches, the server
 * answers with status 404. Routes may be added while the server runs. */
void test_server_route(test_server *s, const char *method, const char *pattern, test_handler fn, void *user);

const char *test_server_url(const test_server *s); /* "http://127.0.0.1:PORT"; borrowed */
int test_server_port(const test_server *s);

/* Returns the number of requests so far with the method and target `what`, such as "GET /path?query". If `what` is
 * NULL, returns the number of all requests. */
size_t test_server_count(test_server *s, const char *what);
/* Returns the number of requests so far with a header line that contains `text`, such as "Bearer ". */
size_t test_server_count_header(test_server *s, const char *text);
/* Forgets all requests so far. test_server_count, test_server_count_header and test_request.nth start again at 0. */
void test_server_forget(test_server *s);
/* From now on, appends a line "METHOD /path?query STATUS" to the file `path` for each request. */
void test_server_log(test_server *s, const char *path);

/* Returns the value of a header, or NULL if it is missing. The case of `name` is ignored. The next call in the same
 * thread overwrites the result. */
const char *test_request_header(const test_request *q, const char *name);
/* Returns the decoded value of a query parameter, or NULL if it is missing. The next call in the same thread overwrites
 * the result. */
const char *test_request_query(const test_request *q, const char *name);

/* Adds one header line, "Name: value". */
void test_answer_header(test_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Both functions append to the body of the answer. */
void test_answer_write(test_answer *a, const void *data, size_t len);
void test_answer_printf(test_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a Link header for page `page` (counted from 1) of n_pages pages. It contains the links first, prev, next and
 * last. The query of `url` must not contain "page=". */
void test_answer_pages(test_answer *a, const char *url, size_t page, size_t n_pages);

/* Implements the main function of a server program in tests/servers:
 *     int main(int argc, char **argv) { return test_server_main(argc, argv, add_routes); }
 * The arguments of the program are URL_FILE [LOG_FILE [ARGUMENT...]]. It writes its URL to URL_FILE atomically and logs
 * requests to LOG_FILE. set_up adds the routes; its arguments are those after LOG_FILE. The program serves until it
 * receives SIGTERM or SIGINT, or until its parent process ends, and returns the exit code 0. */
int test_server_main(int argc, char **argv, void (*set_up)(test_server *s, int argc, char **argv));
