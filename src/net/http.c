/* SPDX-License-Identifier: MIT
 * Implements the HTTP client with libcurl. Each client has one easy handle and one multi handle, so that waiting can be
 * interrupted and connections stay open. This file follows redirects itself instead of using libcurl's option, because
 * it checks each redirect and removes the token from the request if the origin changes.
 * Invariant: no option that weakens TLS is ever set.
 */
#include "net/http.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "net/libraries.h"
#include "net/url.h"

#define MAX_REDIRECTS 5
#define POLL_SECONDS  0.1 /* maximum seconds between two calls of `stop` */

struct aoei_http {
    CURLM *multi;
    CURL *easy;
    char *user_agent;    /* owned */
    char *ca_file;       /* owned; NULL: libcurl's default certificates */
    aoei_http_options o; /* options with defaults filled in; o.user_agent is not used */
};

/* State of one request. After a redirect, the request to the new URL has its own state. */
typedef struct transfer {
    const aoei_http *h;            /* borrowed */
    const aoei_http_request *q;    /* borrowed */
    aoei_http_response *r;         /* receives the response; borrowed */
    uint64_t received;             /* bytes of the body that were passed to q->receive */
    double last_byte;              /* value of aoei_now() when the last byte was received */
    int too_large;                 /* 1 if the response exceeds the size limit */
    struct curl_slist *headers;    /* request headers, owned */
    char message[CURL_ERROR_SIZE]; /* libcurl's description of an error */
} transfer;

/* ----------------------------------------------------------------- signals */

/* Blocks SIGPIPE in this thread, because a TLS library may write to a closed connection. Returns 1 if a SIGPIPE was
 * already pending. */
static int block_pipe(sigset_t *before) {
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigemptyset(&pending);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, before);
    return sigismember(&pending, SIGPIPE);
}

/* Discards a SIGPIPE that was raised while the signal was blocked, and restores the signal mask. */
static void unblock_pipe(const sigset_t *before, int was_pending) {
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigemptyset(&pending);
    (void)sigpending(&pending);
    if (!was_pending && sigismember(&pending, SIGPIPE))
        (void)sigtimedwait(&pipe, NULL, &(struct timespec){0});
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Creates the handles. Without CURLOPT_NOSIGNAL, libcurl would change the action of SIGPIPE of the whole process. The
 * setting is passed on to the multi handle when an easy handle is added. Returns 0, or 1 if out of memory. */
static int create_handles(aoei_http *h) {
    h->multi = aoei_curl.multi_init();
    h->easy = aoei_curl.easy_init();
    return !h->multi || !h->easy || aoei_curl.easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L) != CURLE_OK ||
           aoei_curl.multi_add_handle(h->multi, h->easy) != CURLM_OK ||
           aoei_curl.multi_remove_handle(h->multi, h->easy) != CURLM_OK;
}

/* ------------------------------------------------------------------ client */

int aoei_http_create(aoei_http **out, const aoei_http_options *options, aoe_error *err) {
    *out = NULL;
    int rc = aoei_start_curl(err);
    if (rc)
        return rc;
    aoei_http *h = aoei_calloc(1, sizeof *h);
    if (!h)
        return aoei_fail_nomem(err, sizeof *h);
    if (options)
        h->o = *options;
    h->o.connect_timeout = h->o.connect_timeout > 0 ? h->o.connect_timeout : 30;
    h->o.stall_timeout = h->o.stall_timeout > 0 ? h->o.stall_timeout : 60;
    h->o.timeout = h->o.timeout > 0 ? h->o.timeout : 600;
    h->o.max_body = h->o.max_body ? h->o.max_body : AOEI_HTTP_MAX_BODY;
    h->user_agent = aoei_strdup(h->o.user_agent ? h->o.user_agent : "aoe/" AOE_VERSION);
    const char *ca = getenv("CURL_CA_BUNDLE");
    if (!ca || !*ca)
        ca = getenv("SSL_CERT_FILE");
    if (ca && *ca)
        h->ca_file = aoei_strdup(ca);
    if (create_handles(h) || !h->user_agent || (ca && *ca && !h->ca_file)) {
        aoei_http_destroy(h);
        return aoei_fail_nomem(err, sizeof *h);
    }
    *out = h;
    return 0;
}

void aoei_http_destroy(aoei_http *h) {
    if (!h)
        return;
    sigset_t before;
    const int pending = block_pipe(&before); /* open connections are closed */
    aoei_curl.easy_cleanup(h->easy);
    (void)aoei_curl.multi_cleanup(h->multi);
    unblock_pipe(&before, pending);
    aoei_free(h->user_agent);
    aoei_free(h->ca_file);
    aoei_free(h);
}

void aoei_http_response_free(aoei_http_response *r) {
    aoei_free(r->url);
    aoei_headers_free(&r->headers);
    aoei_buffer_free(&r->body);
    *r = (aoei_http_response){0};
}

/* ---------------------------------------------------------------- checks */

/* Returns 1 if s has no control characters, so that it is valid in a header line. */
static int is_header_text(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return 0;
    return 1;
}

/* Returns 1 if the header line has this name. */
static int has_name(const char *line, const char *name) {
    const size_t len = strlen(name);
    return strncasecmp(line, name, len) == 0 && line[len + strspn(line + len, " \t")] == ':';
}

/* Checks the token and the headers of a request. */
static int check_request(const aoei_http_request *q, aoe_error *err) {
    static const char *const reserved[] = {"authorization", "proxy-authorization", "cookie"};
    if (q->token && (!*q->token || !is_header_text(q->token) || strchr(q->token, ' ')))
        return aoei_fail(
            err, AOE_EARG,
            "the token is empty or contains a space or a control character; pass the token without \"Bearer\"");
    for (size_t i = 0; i < q->n_headers; i++) {
        if (!is_header_text(q->headers[i]) || !strchr(q->headers[i], ':'))
            return aoei_fail(err, AOE_EARG, "request header %zu is not of the form \"Name: value\"; correct it", i + 1);
        for (size_t j = 0; j < sizeof reserved / sizeof *reserved; j++)
            if (has_name(q->headers[i], reserved[j]))
                return aoei_fail(err, AOE_EARG, "the header %s cannot be set directly; pass the token separately",
                                 reserved[j]);
    }
    return 0;
}

/* --------------------------------------------------------------- callbacks */

/* Callback that stores a header line of the response (CURLOPT_HEADERFUNCTION). */
static size_t receive_header(char *line, size_t size, size_t n, void *user) {
    transfer *t = user;
    const size_t len = size * n;
    t->last_byte = aoei_now();
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) { /* a new response begins; the headers of an interim response
                                                        (status 100) are discarded */
        aoei_headers_clear(&t->r->headers);
        return len;
    }
    const int rc = aoei_headers_add(&t->r->headers, line, len);
    t->too_large |= rc == AOE_EFORMAT;
    return rc ? 0 : len;
}

/* Callback that stores a part of the response body (CURLOPT_WRITEFUNCTION). */
static size_t receive_body(char *data, size_t size, size_t n, void *user) {
    transfer *t = user;
    const size_t len = size * n;
    t->last_byte = aoei_now();
    if (t->q->receive) {
        long status = 0;
        (void)aoei_curl.easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &status);
        t->r->status = (int)status;
        if (status == 200 || status == 206) {
            if (t->q->receive(t->q->receive_user, t->r, t->received, data, len))
                return 0;
            t->received += len;
            return len;
        }
    }
    if (len > t->h->o.max_body || t->r->body.len > t->h->o.max_body - len) {
        t->too_large = 1;
        return 0;
    }
    return aoei_buffer_append(&t->r->body, data, len) ? 0 : len;
}

/* ------------------------------------------------------------------ one request */

static int add_header(transfer *t, const char *line) {
    struct curl_slist *longer = aoei_curl.slist_append(t->headers, line);
    if (!longer)
        return -1;
    t->headers = longer;
    return 0;
}

/* Sets t->headers to the headers of the request. with_token: 1 to add q->token. Returns nonzero if an allocation
 * fails. */
static int add_headers(transfer *t, const aoei_http_request *q, int with_token) {
    int failed = 0, has_type = 0;
    for (size_t i = 0; i < q->n_headers; i++) {
        failed |= add_header(t, q->headers[i]);
        has_type |= has_name(q->headers[i], "content-type");
    }
    if (q->body && !has_type)
        failed |= add_header(t, "Content-Type: application/json");
    failed |= add_header(t, "Expect:"); /* the body is sent without waiting for "100 Continue" */
    if (!with_token)
        return failed;
    aoei_buffer line = {0};
    (void)aoei_buffer_printf(&line, "Authorization: Bearer %s", q->token);
    failed |= line.failed || add_header(t, line.data);
    aoei_buffer_free(&line);
    return failed;
}

static long milliseconds(double seconds) {
    return seconds < 1e6 ? (long)(seconds * 1000 + 0.5) : 1000000000L;
}

/* Sets the options of the easy handle. secure: 1 for https. Returns nonzero if libcurl runs out of memory or is too
 * old. */
static int set_options(aoei_http *h, transfer *t, const aoei_http_request *q, const char *url, int secure) {
    CURL *c = h->easy;
    const char *method = q->method ? q->method : "GET";
    aoei_curl.easy_reset(c);
    int bad = aoei_curl.easy_setopt(c, CURLOPT_URL, url) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L) != CURLE_OK; /* libcurl's use of signals is not thread-safe */
    bad |= aoei_curl.easy_setopt(c, CURLOPT_USERAGENT, h->user_agent) != CURLE_OK;
    if (!q->receive) /* "": all encodings that libcurl can decompress */
        bad |= aoei_curl.easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "") != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L) != CURLE_OK;
    if (h->ca_file)
        bad |= aoei_curl.easy_setopt(c, CURLOPT_CAINFO, h->ca_file) != CURLE_OK;
    if (!secure)
        bad |= aoei_curl.easy_setopt(c, CURLOPT_PROXY, "") != CURLE_OK; /* requests to loopback addresses never use a
                                                                           proxy */
    bad |= aoei_curl.easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(h->o.connect_timeout)) != CURLE_OK;
    if (!q->receive) {
        bad |= aoei_curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, milliseconds(h->o.timeout)) != CURLE_OK;
        bad |= aoei_curl.easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)h->o.max_body) != CURLE_OK;
    }
    bad |= aoei_curl.easy_setopt(c, CURLOPT_ERRORBUFFER, t->message) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, receive_header) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_HEADERDATA, t) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, receive_body) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_WRITEDATA, t) != CURLE_OK;
    bad |= aoei_curl.easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) != CURLE_OK;
    if (q->body || strcmp(method, "POST") == 0) {
        bad |= aoei_curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_len) != CURLE_OK;
        bad |= aoei_curl.easy_setopt(c, CURLOPT_POSTFIELDS, q->body ? q->body : "") != CURLE_OK;
    }
    if (strcmp(method, "HEAD") == 0)
        bad |= aoei_curl.easy_setopt(c, CURLOPT_NOBODY, 1L) != CURLE_OK;
    else
        bad |= aoei_curl.easy_setopt(c, CURLOPT_CUSTOMREQUEST, method) != CURLE_OK;
    return bad;
}

/* DONE: the transfer ended; STOPPED: the caller cancelled it; STALLED: no data was received for stall_timeout
 * seconds. */
typedef enum outcome { DONE, STOPPED, STALLED } outcome;

/* Returns the maximum number of seconds during which the request may receive no data. */
static double stall_timeout(const transfer *t) {
    return t->q->stall_timeout > 0 ? t->q->stall_timeout : t->h->o.stall_timeout;
}

/* Runs the transfer until it ends. If the result is DONE, *code is libcurl's result. */
static outcome run_transfer(aoei_http *h, const transfer *t, CURLcode *code) {
    int running = 1;
    *code = CURLE_FAILED_INIT;
    for (;;) {
        if (aoei_curl.multi_perform(h->multi, &running) != CURLM_OK)
            return DONE;
        if (!running)
            break;
        if (h->o.stop && h->o.stop(h->o.stop_user))
            return STOPPED;
        const double left = t->last_byte + stall_timeout(t) - aoei_now();
        if (left <= 0)
            return STALLED;
        const double wait = left < POLL_SECONDS ? left : POLL_SECONDS;
        if (aoei_curl.multi_poll(h->multi, NULL, 0, (int)milliseconds(wait) + 1, NULL) != CURLM_OK)
            return DONE;
    }
    int left = 0;
    for (const CURLMsg *m = aoei_curl.multi_info_read(h->multi, &left); m;
         m = aoei_curl.multi_info_read(h->multi, &left))
        if (m->msg == CURLMSG_DONE)
            *code = m->data.result;
    return DONE;
}

/* Returns 1 if the error may be temporary, so that a retry may succeed. */
static int is_temporary(CURLcode code) {
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return 1;
    default:
        return 0;
    }
}

/* Returns the advice at the end of the message for an error of libcurl. */
static const char *remedy(CURLcode code) {
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return "check the URL, the network and the proxy settings (https_proxy)";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "check the URL and the clock; set CURL_CA_BUNDLE to a file with your own certificates";
    case CURLE_SSL_CACERT_BADFILE:
        return "install ca-certificates, or set CURL_CA_BUNDLE to a file with certificates";
    default:
        return is_temporary(code) ? "try again later" : "check the URL";
    }
}

/* Converts an error of libcurl to an error of aoe. */
static int fail_transfer(const aoei_http *h, const transfer *t, const char *url, const char *token, CURLcode code,
                         aoe_error *err) {
    char shown_url[AOEI_URL_DISPLAY_MAX];
    (void)aoei_url_display(url, shown_url);
    if (t->too_large || code == CURLE_FILESIZE_EXCEEDED)
        return aoei_fail(err, AOE_EFORMAT, "%s: the response is larger than %zu bytes; request less data at a time",
                         shown_url, h->o.max_body);
    t->r->transient = is_temporary(code);
    /* t->message explains TLS errors. For other errors it adds only times, so it is omitted. It never contains request
     * headers. */
    const int detail = (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR ||
                        code == CURLE_SSL_CACERT_BADFILE) &&
                       *t->message && !(token && strstr(t->message, token));
    return aoei_fail(err, AOE_EIO, "%s: %s; %s", shown_url, detail ? t->message : aoei_curl.easy_strerror(code),
                     remedy(code));
}

/* Sends one request and receives one response. If the response is a redirect, *next is set to the URL to which it
 * redirects, which the caller owns. Otherwise *next is set to NULL. */
static int send_once(aoei_http *h, const aoei_http_request *q, const char *url, int secure, int with_token,
                     aoei_http_response *r, char **next, aoe_error *err) {
    transfer t = {.h = h, .q = q, .r = r, .last_byte = aoei_now()};
    CURLcode code = CURLE_OUT_OF_MEMORY;
    outcome out = DONE;
    *next = NULL;
    r->status = 0;
    aoei_headers_clear(&r->headers);
    aoei_buffer_clear(&r->body);
    if (!add_headers(&t, q, with_token) && !set_options(h, &t, q, url, secure) &&
        aoei_curl.multi_add_handle(h->multi, h->easy) == CURLM_OK) {
        sigset_t before;
        const int pending = block_pipe(&before);
        out = run_transfer(h, &t, &code);
        long status = 0;
        const char *redirect = NULL;
        (void)aoei_curl.easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)aoei_curl.easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &redirect);
        r->status = out == DONE && code == CURLE_OK ? (int)status : 0;
        *next = redirect ? aoei_strdup(redirect) : NULL;
        (void)aoei_curl.multi_remove_handle(h->multi, h->easy);
        unblock_pipe(&before, pending);
    }
    aoei_curl.slist_free_all(t.headers);
    char shown_url[AOEI_URL_DISPLAY_MAX];
    if (aoei_alloc_failed() || code == CURLE_OUT_OF_MEMORY)
        return aoei_fail_nomem(err, r->body.len);
    if (out == STOPPED)
        return aoei_fail(err, AOE_ECANCELLED, "%s: cancelled by the caller", aoei_url_display(url, shown_url));
    if (out == STALLED) {
        r->transient = 1;
        return aoei_fail(err, AOE_EIO, "%s: no data received for %g s; try again later",
                         aoei_url_display(url, shown_url), stall_timeout(&t));
    }
    return code ? fail_transfer(h, &t, url, q->token, code, err) : 0;
}

/* --------------------------------------------------------------- redirects */

static int is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Parses the URL `next` of a redirect into *to and checks it. from: URL of the request that was redirected. secure: 1
 * if `from` is an https URL. hops: number of redirects so far, including this one. */
static int check_redirect(aoei_url *to, const char *from, const char *next, int secure, int hops, aoe_error *err) {
    char shown_url[AOEI_URL_DISPLAY_MAX];
    if (hops > MAX_REDIRECTS)
        return aoei_fail(err, AOE_EIO, "%s: redirected more than %d times; check the URL",
                         aoei_url_display(from, shown_url), MAX_REDIRECTS);
    int rc = aoei_url_read(to, next, err);
    if (rc == 0 && secure && !to->secure)
        rc = aoei_fail(err, AOE_EIO, "%s: redirected from https:// to http://, which is not followed; check the URL",
                       aoei_url_display(from, shown_url));
    else if (rc && rc != AOE_ENOMEM)
        rc = aoei_fail(err, AOE_EIO, "%s: redirected to a URL that is not allowed; check the URL",
                       aoei_url_display(from, shown_url));
    return rc;
}

/* Sends the request and follows redirects. On entry, r->url is the URL of the request, and *at contains its parsed
 * form. On return, r->url and *at are the URL of the last response and its parsed form. */
static int follow(aoei_http *h, const aoei_http_request *q, aoei_url *at, aoei_http_response *r, aoe_error *err) {
    const int redirectable = !q->method || strcmp(q->method, "GET") == 0;
    int with_token = q->token != NULL, permanent = 1;
    for (int hops = 1;; hops++) {
        char *next;
        int rc = send_once(h, q, r->url, at->secure, with_token, r, &next, err);
        if (rc || !next || !redirectable || !is_redirect(r->status)) {
            aoei_free(next);
            r->moved = rc == 0 && hops > 1 && permanent;
            return rc;
        }
        permanent &= r->status == 301 || r->status == 308;
        r->status = 0;
        aoei_url to = {0};
        rc = check_redirect(&to, r->url, next, at->secure, hops, err);
        with_token &= rc == 0 && strcmp(at->origin, to.origin) == 0;
        aoei_url_free(at);
        *at = to;
        aoei_free(r->url);
        r->url = next;
        if (rc)
            return rc;
    }
}

int aoei_http_send(aoei_http *h, const aoei_http_request *q, aoei_http_response *r, aoe_error *err) {
    aoei_url at = {0};
    r->status = r->moved = r->transient = 0;
    aoei_free(r->url);
    r->url = NULL;
    aoei_headers_clear(&r->headers);
    aoei_buffer_clear(&r->body);
    (void)aoei_alloc_failed(); /* resets the flag of earlier requests */
    int rc = check_request(q, err);
    if (!rc)
        rc = aoei_url_read(&at, q->url, err);
    if (!rc && !(r->url = aoei_strdup(q->url)))
        rc = aoei_fail_nomem(err, strlen(q->url));
    if (!rc)
        rc = follow(h, q, &at, r, err);
    aoei_url_free(&at);
    return rc;
}

int aoei_http_json(json_t **root, const aoei_http_response *r, aoe_error *err) {
    char shown_url[AOEI_URL_DISPLAY_MAX];
    *root = NULL;
    (void)aoei_url_display(r->url ? r->url : "the response", shown_url);
    if (r->body.len == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the response is empty, but must be JSON; try again later", shown_url);
    return aoei_json_parse(root, r->body.data, r->body.len, shown_url, err);
}
