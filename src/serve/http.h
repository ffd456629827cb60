/* SPDX-License-Identifier: MIT
 * An HTTP/1.1 server on libmicrohttpd. One thread accepts connections and closes those that exceed their time; one
 * thread of libmicrohttpd reads requests and sends answers for all connections with epoll. The server checks the
 * framing of requests (serve/framing.h), the host, the origin and the API key, collects the body, and passes the
 * request to `handle`. Answers may come later from any thread; meanwhile the connection is suspended. Requests that
 * the server rejects itself are answered with {"error": MESSAGE, "error_type": KIND} and never reach `handle`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "serve/exchange.h"

#define AOEI_HTTP_SMALL_BODY 8192 /* bytes of the largest body that is handled in the thread of libmicrohttpd */

typedef struct aoei_http_options {
    const char *host; /* address or name to listen on; NULL: 127.0.0.1; "*": every address */
    unsigned port;    /* 0: a free port, see aoei_http_port */
    int listen_fd; /* listening socket, such as one of systemd, instead of host and port; 0 or -1: none. A server that
                      was started owns it. */
    const char *tls_cert; /* PEM files of the certificate chain and of its key; NULL: no TLS */
    const char *tls_key;
    const char *const *allow_hosts; /* [n_allow_hosts] further names in the header Host; "*" allows every name */
    size_t n_allow_hosts;
    const char *api_key_file; /* NULL: no key is needed */
    const char *cors_origin;  /* origin whose pages may send requests, such as "https://example.org", or "*"; NULL: none
                               */
    size_t body_limit;        /* bytes; 0: 2,000,000 */
    size_t bodies_limit;     /* bytes of all bodies in memory, beyond which requests get 429; 0: 256 times body_limit */
    size_t answers_limit;    /* bytes of all reserved memory (aoei_exchange_reserve) and of all large answers that
                                clients have not read, beyond which requests get 429 or 503; 0: 512 MiB */
    size_t max_connections;  /* 0: 20,000, or fewer if the process may open fewer files; further ones wait in the
                                queue of the system */
    unsigned header_timeout; /* seconds for the headers of a request, from its first line, or from the start of the
                                connection; 0: 10 */
    unsigned body_timeout;   /* seconds for the body of a request; 0: 60 */
    unsigned idle_timeout;   /* seconds between two requests, and without progress in any state; 0: 75 */
    unsigned request_threads; /* threads that handle requests with bodies of more than AOEI_HTTP_SMALL_BODY bytes; 0: 1
                               */
    size_t request_queue;     /* requests that wait for these threads, beyond which requests get 429; 0: 512 */
    const char *access_log;   /* file to which a line is appended for each request; "-": standard output; NULL: none */
    aoe_log_fn log;           /* NULL: messages are discarded */
    void *log_user;
    /* Called once for each request: in the thread of libmicrohttpd if the body has at most AOEI_HTTP_SMALL_BODY bytes,
     * otherwise in one of request_threads threads. */
    void (*handle)(void *user, aoei_exchange *x);
    void *user;
    int (*is_open)(const char *method, const char *path); /* returns 1 if the route needs no key; NULL: all need it */
    /* Appends the body of an error with which this unit answers a request for a path, so that it has the form of the
     * other errors of the path; NULL: {"error": message, "error_type": kind} */
    void (*write_error)(aoei_buffer *b, const char *path, int status, const char *message);
} aoei_http_options;

typedef struct aoei_http aoei_http;

/* Starts a server. The texts of the options may be freed afterwards. The limit on open files of this process is raised
 * as far as the system allows it. Errors: AOE_EARG (host, port, TLS files), AOE_EIO (libmicrohttpd is missing; the
 * address is in use), AOE_ENOENT, AOE_ENOMEM. */
int aoei_http_start(aoei_http **h, const aoei_http_options *o, aoe_error *err);
unsigned aoei_http_port(const aoei_http *h);       /* 0 for a socket without ports */
const char *aoei_http_address(const aoei_http *h); /* such as "http://127.0.0.1:8080" */
/* Returns the version of libmicrohttpd, such as "0.9.75"; "" if it cannot be loaded. */
const char *aoei_http_version(void);
size_t aoei_http_connections(aoei_http *h); /* open connections */
/* Stops accepting connections. Requests on open connections are still handled; each answer closes its connection. */
void aoei_http_drain(aoei_http *h);
/* Waits until no request is in flight, at most `seconds`. Returns 0, or 1 if there still are some. */
int aoei_http_wait(aoei_http *h, double seconds);
/* Opens the access log again, after another program has renamed the file. If that fails, the open file stays in use. */
int aoei_http_reopen_log(aoei_http *h, aoe_error *err);
/* Stops the server and frees it. Every exchange that `handle` has received must already be answered, or must be
 * answered by another thread soon, because the function waits for that. Accepts NULL. */
void aoei_http_stop(aoei_http *h);
