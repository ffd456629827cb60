/* SPDX-License-Identifier: MIT
 * One HTTP request and its answer, over libcurl. Not retries, limits or caching: fetch.h.
 *
 * - https:// always, with the certificate and the host's name verified: nothing turns that off. CURL_CA_BUNDLE or
 *   SSL_CERT_FILE in the environment name other certificates to trust, as for the curl program. http:// is accepted for
 *   loopback addresses alone (localhost, 127.0.0.0/8, ::1), and those are never reached through a proxy; for https://
 *   the proxy variables of the environment hold as curl reads them.
 * - A token is kept apart from everything that is printed or stored. It goes to the origin (scheme, host, port) of
 *   the URL it was given with; from the first redirect to another origin on it is left out.
 * - GET is redirected (301, 302, 303, 307, 308) up to 5 times, never from https:// to http://. The 3xx answer to
 *   any other method is handed to the caller.
 * - A body has at most max_body bytes, decompressed; headers AOEI_HEADERS_MAX.
 * - Messages name the URL without its query, which may hold what is nobody's business.
 */
#ifndef AOEI_NET_HTTP_H
#define AOEI_NET_HTTP_H

#include <jansson.h>

#include "aoe.h"
#include "base/buffer.h"
#include "net/headers.h"

#define AOEI_HTTP_MAX_BODY ((size_t)64 << 20) /* bytes, where the options say 0 */

/* Asked several times a second while something is under way, from the thread that called; not 0: stop, and
 * AOE_ECANCELLED is returned. A signal handler's flag is enough behind it. */
typedef int (*aoei_stop_fn)(void *user);

typedef struct aoei_http_options {
    const char *user_agent; /* copied; NULL: "aoe/VERSION" */
    double connect_timeout; /* seconds to reach the server; 0: 30 */
    double stall_timeout;   /* seconds without a byte from it; 0: 60. A chat model may think for longer */
    double timeout;         /* seconds of the whole request; 0: 600 */
    size_t max_body;        /* bytes; 0: AOEI_HTTP_MAX_BODY */
    aoei_stop_fn stop;      /* NULL: nothing stops a request */
    void *stop_user;
} aoei_http_options;

/* A client: connections that stay open between requests. Used by one thread at a time. */
typedef struct aoei_http aoei_http;

typedef struct aoei_http_request {
    const char *method;         /* NULL: "GET" */
    const char *url;            /* absolute, without user name and password */
    const char *const *headers; /* [n_headers] "Name: value"; Authorization and cookies are refused here */
    size_t n_headers;
    const void *body; /* [body_len], NULL: none */
    size_t body_len;
    const char *token; /* sent as "Authorization: Bearer TOKEN" over no other way; NULL: none */
} aoei_http_request;

/* Zero it before the first use; a later request replaces what is in it. */
typedef struct aoei_http_response {
    int status;           /* 200, 304, 404 ... of the last answer; 0: none came */
    int moved;            /* 1: permanent redirects alone (301, 308) led here from the URL asked for */
    int transient;        /* 1: the call failed in a way that may pass: no connection, time-out, body cut off */
    char *url;            /* owned: where the answer came from */
    aoei_headers headers; /* of that answer */
    aoei_buffer body;     /* decompressed */
} aoei_http_response;

/* Options NULL: all zeros. Errors: AOE_ENOMEM, AOE_EIO (libcurl cannot start). */
int aoei_http_create(aoei_http **h, const aoei_http_options *o, aoe_error *err);
void aoei_http_destroy(aoei_http *h); /* NULL accepted */

/* Sends a request and waits for the whole answer, whatever its status. Errors: AOE_EARG (URL, header or token
 * cannot be used), AOE_EIO (network, TLS, time-out, cut off, a redirect that is not followed), AOE_EFORMAT (too large),
 * AOE_ECANCELLED, AOE_ENOMEM. */
int aoei_http_send(aoei_http *h, const aoei_http_request *q, aoei_http_response *r, aoe_error *err);
void aoei_http_response_free(aoei_http_response *r); /* accepts a zeroed one, and zeroes it */

/* The body as JSON, nested no deeper than jansson's 2048 levels; json_decref. Errors: AOE_EFORMAT, AOE_ENOMEM. */
int aoei_http_json(json_t **root, const aoei_http_response *r, aoe_error *err);

#endif
