/* SPDX-License-Identifier: MIT
 * Sends HTTP requests with libcurl. fetch.h adds retries, rate limits and caching.
 *
 * - For https:// URLs, the certificate and the host name are verified; this cannot be turned off. The environment
 *   variables CURL_CA_BUNDLE and SSL_CERT_FILE select a file of trusted certificates, as for the curl program. curl's
 *   environment variables for proxies apply to https:// URLs. http:// URLs are accepted only for loopback addresses
 *   (localhost, 127.0.0.0/8, ::1), and requests to them never use a proxy.
 * - The token (aoei_http_request.token) is never printed or stored. It is sent only to the origin (scheme, host,
 *   port) of the request's URL. After a redirect to another origin, the request does not contain the token.
 * - GET follows up to 5 redirects (301, 302, 303, 307, 308), never from https:// to http://. For any other method, the
 *   3xx response is returned to the caller.
 * - A request fails if the body of the response has more than max_body bytes after decompression, or the headers have
 *   more than AOEI_HEADERS_MAX bytes.
 * - Messages show the URL without its query, which may contain private data.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "base/buffer.h"
#include "net/headers.h"

#define AOEI_HTTP_MAX_BODY ((size_t)64 << 20) /* default of max_body in bytes */

/* Called several times per second during a request, from the thread that sends it. A nonzero result cancels the
 * request, which then returns AOE_ECANCELLED. The function may return a flag that a signal handler sets. */
typedef int (*aoei_stop_fn)(void *user);

typedef struct aoei_http_options {
    const char *user_agent; /* User-Agent header, copied; NULL: "aoe/VERSION" */
    double connect_timeout; /* maximum seconds until the connection is open; 0 means 30 */
    double stall_timeout;   /* maximum seconds during which no data is received; 0 means 60 */
    double timeout;         /* maximum seconds of the whole request; 0 means 600 */
    size_t max_body;        /* maximum bytes of a response body after decompression; 0 means AOEI_HTTP_MAX_BODY */
    aoei_stop_fn stop;      /* cancellation callback; NULL: none */
    void *stop_user;
} aoei_http_options;

/* An HTTP client. It keeps connections open between requests. Only one thread may use it at a time. */
typedef struct aoei_http aoei_http;

typedef struct aoei_http_response aoei_http_response; /* defined below */
/* Receives the next part of the body of a response with status 200 or 206. r: the response, of which the status and the
 * headers are set. offset: bytes of this body that were passed before; 0 begins a new response. A nonzero result ends
 * the request with AOE_EIO. */
typedef int (*aoei_receive_fn)(void *user, const aoei_http_response *r, uint64_t offset, const void *data, size_t len);

typedef struct aoei_http_request {
    const char *method;         /* "GET", "POST" ...; NULL: "GET" */
    const char *url;            /* absolute URL without user name and password */
    const char *const *headers; /* [n_headers] lines "Name: value"; Authorization and cookie headers are rejected */
    size_t n_headers;
    const void *body; /* [body_len] bytes; NULL: no body */
    size_t body_len;
    const char *token;    /* secret that is sent as "Authorization: Bearer TOKEN"; NULL: none */
    double stall_timeout; /* replaces aoei_http_options.stall_timeout; 0: not replaced */
    /* If receive is set, the body of a response with status 200 or 206 is passed to it and not stored, it is not
     * compressed, and neither max_body nor timeout limits the request; stall_timeout does. NULL: the body is stored. */
    aoei_receive_fn receive;
    void *receive_user;
} aoei_http_request;

/* A response. The caller sets all bytes to 0 before the first use. Each request replaces the contents. */
struct aoei_http_response {
    int status;           /* status of the last response, such as 200, 304, 404; 0: no response */
    int moved;            /* 1 if there were redirects and all of them were permanent (301, 308); otherwise 0 */
    int transient;        /* 1 if the request failed for a temporary reason: no connection, time-out, incomplete body */
    char *url;            /* URL of the response, after redirects; owned */
    aoei_headers headers; /* headers of the response, owned */
    aoei_buffer body;     /* body of the response, decompressed; owned */
};

/* Creates a client. If o is NULL, the default options are used. Errors: AOE_ENOMEM, AOE_EIO (libcurl cannot be
 * initialized). */
int aoei_http_create(aoei_http **h, const aoei_http_options *o, aoe_error *err);
void aoei_http_destroy(aoei_http *h); /* accepts NULL */

/* Sends a request and waits for the complete response. A response with any status is a success. Errors: AOE_EARG
 * (invalid URL, header or token), AOE_EIO (network, TLS, time-out, incomplete response, a redirect that is not
 * followed), AOE_EFORMAT (response too large), AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_http_send(aoei_http *h, const aoei_http_request *q, aoei_http_response *r, aoe_error *err);
void aoei_http_response_free(aoei_http_response *r); /* accepts a zeroed struct; zeroes it */

/* Parses the body as JSON. *root is set to a new reference, which the caller releases with json_decref. Errors:
 * AOE_EFORMAT (not JSON, or nested more than 2048 levels deep, the limit of jansson), AOE_ENOMEM. */
int aoei_http_json(json_t **root, const aoei_http_response *r, aoe_error *err);
