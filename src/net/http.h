/* SPDX-License-Identifier: MIT
 * One HTTP request and its response, with libcurl. fetch.h adds retries, rate limits and caching.
 *
 * - https:// verifies the certificate and the host name; nothing turns this off. CURL_CA_BUNDLE or SSL_CERT_FILE in the
 *   environment name other trusted certificates, as for the curl program. http:// is accepted only for loopback
 *   addresses (localhost, 127.0.0.0/8, ::1), which are never reached through a proxy. For https:// the proxy variables of
 *   the environment apply as in curl.
 * - The token is separate from everything that is printed or stored. It is sent only to the origin (scheme, host, port)
 *   of the request's URL. After the first redirect to another origin it is omitted.
 * - GET follows up to 5 redirects (301, 302, 303, 307, 308), never from https:// to http://. For any other method, the
 *   3xx response is returned to the caller.
 * - A body has at most max_body bytes after decompression, the headers have at most AOEI_HEADERS_MAX.
 * - Messages show the URL without its query, which may contain private data.
 */
#ifndef AOEI_NET_HTTP_H
#define AOEI_NET_HTTP_H

#include <jansson.h>

#include "aoe.h"
#include "base/buffer.h"
#include "net/headers.h"

#define AOEI_HTTP_MAX_BODY ((size_t)64 << 20) /* default of max_body in bytes */

/* Called several times per second during a request, from the calling thread. Nonzero cancels the request, which then returns
 * AOE_ECANCELLED. The function may simply read a flag that a signal handler sets. */
typedef int (*aoei_stop_fn)(void *user);

typedef struct aoei_http_options {
    const char *user_agent; /* User-Agent header, copied; NULL: "aoe/VERSION" */
    double connect_timeout; /* maximum seconds until the connection is open; 0: 30 */
    double stall_timeout;   /* maximum seconds without received data; 0: 60. Chat models may need more. */
    double timeout;         /* maximum seconds of the whole request; 0: 600 */
    size_t max_body;        /* maximum bytes of a body; 0: AOEI_HTTP_MAX_BODY */
    aoei_stop_fn stop;      /* cancellation callback; NULL: not cancellable */
    void *stop_user;
} aoei_http_options;

/* An HTTP client. It keeps connections open between requests. Only one thread may use it at a time. */
typedef struct aoei_http aoei_http;

typedef struct aoei_http_request {
    const char *method;         /* NULL: "GET" */
    const char *url;            /* absolute URL without user name and password */
    const char *const *headers; /* [n_headers] lines "Name: value"; Authorization and cookie headers are rejected */
    size_t n_headers;
    const void *body; /* [body_len] bytes; NULL: no body */
    size_t body_len;
    const char *token; /* sent only as "Authorization: Bearer TOKEN"; NULL: none */
} aoei_http_request;

/* The response. Zero it before the first use; each request replaces its contents. */
typedef struct aoei_http_response {
    int status;           /* status of the last response, such as 200, 304, 404; 0: no response */
    int moved;            /* 1 if only permanent redirects (301, 308) led from the requested URL to `url` */
    int transient;        /* 1 if the call failed for a temporary reason: no connection, time-out, incomplete body */
    char *url;            /* owned URL that sent the response, after redirects */
    aoei_headers headers; /* headers of the response */
    aoei_buffer body;     /* body of the response, decompressed */
} aoei_http_response;

/* options NULL: all defaults. Errors: AOE_ENOMEM, AOE_EIO (libcurl cannot be initialized). */
int aoei_http_create(aoei_http **h, const aoei_http_options *o, aoe_error *err);
void aoei_http_destroy(aoei_http *h); /* accepts NULL */

/* Sends a request and waits for the complete response, whatever its status. Errors: AOE_EARG (invalid URL, header or token),
 * AOE_EIO (network, TLS, time-out, incomplete response, a redirect that is not followed), AOE_EFORMAT (too large),
 * AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_http_send(aoei_http *h, const aoei_http_request *q, aoei_http_response *r, aoe_error *err);
void aoei_http_response_free(aoei_http_response *r); /* accepts a zeroed struct; zeroes it */

/* Parses the body as JSON, with at most jansson's 2048 nesting levels. The caller calls json_decref. Errors: AOE_EFORMAT,
 * AOE_ENOMEM. */
int aoei_http_json(json_t **root, const aoei_http_response *r, aoe_error *err);

#endif
