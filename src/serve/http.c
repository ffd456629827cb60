/* SPDX-License-Identifier: MIT
 * The server: starts libmicrohttpd, follows each request from its first line to the end of its answer, and rejects
 * requests that no handler should see. libmicrohttpd calls on_request several times for a request: when its headers
 * are complete, for each part of its body, when it is complete, and, if the connection was suspended, when it was
 * resumed.
 */
#include "serve/http.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "serve/acceptor.h"
#include "serve/access_log.h"
#include "serve/auth.h"
#include "serve/exchange_state.h"
#include "serve/head.h"
#include "serve/request_threads.h"

#define CONNECTION_MEMORY 32768 /* bytes of a connection for the headers of a request and of its answer */
#define DISCARD_BYTES     ((uint64_t)64 << 20) /* of the body of a rejected request; then the connection is closed */
#define DISCARD_SECONDS   10
#define ANSWER_SECONDS    600   /* to send an answer; without progress, idle_timeout */
#define MAX_CONNECTIONS   20000 /* default */
#define RESERVED_FILES    128   /* open files of the process that are not connections */

struct aoei_http {
    aoei_exchange_shared shared;
    aoei_http_options o; /* with defaults; the texts are no longer valid, except cors_origin in `shared` */
    aoei_listener listener;
    aoei_acceptor acceptor;
    aoei_key key;
    aoei_access_log access_log;
    aoei_request_threads threads;
    aoei_log log;
    struct MHD_Daemon *daemon;
    char *certificate, *certificate_key; /* PEM, owned; NULL: no TLS */
    char address[96];                    /* "http://127.0.0.1:8080" */
    char reason[256];                    /* the last message of libmicrohttpd while it is started */
    int is_started;                      /* 1: messages of libmicrohttpd are no longer stored */
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ----------------------------------------------------------------- rejections */

static void reject(aoei_exchange *x, int status, const char *fmt, ...) AOEI_PRINTF(3, 4);
static void reject(aoei_exchange *x, int status, const char *fmt, ...) {
    char message[512];
    va_list args;
    va_start(args, fmt);
    aoei_format_line(message, sizeof message, fmt, args);
    va_end(args);
    if (status == 429)
        aoei_exchange_add_header(x, "Retry-After", "1");
    aoei_exchange_reject(x, status, status == 429 ? "Overloaded" : "Validation", message);
}

static void reject_size(const aoei_http *h, aoei_exchange *x) {
    if (x->framing.n_length)
        reject(x, 413, "the body of the request has %llu bytes; the maximum is %zu",
               (unsigned long long)x->framing.length, h->o.body_limit);
    else
        reject(x, 413, "the body of the request has more than %zu bytes, the maximum", h->o.body_limit);
}

/* Passes the stored answer to libmicrohttpd. */
static enum MHD_Result send_answer(aoei_exchange *x) {
    struct MHD_Response *r = x->response;
    if (!r || x->is_sent_early || aoei_connections_enter(&x->shared->connections, x->connection, AOEI_PHASE_ANSWER))
        return MHD_NO;
    x->response = NULL;
    const enum MHD_Result result = aoei_mhd.queue_response(x->mhd, (unsigned)x->status, r);
    aoei_mhd.destroy_response(r);
    atomic_store(&x->state, AOEI_EXCHANGE_SENT);
    return result;
}

/* Sends the rejection of a body that is too large before the body has arrived. libmicrohttpd can answer early only
 * before it reads the body, and then closes the connection with a reset, so that many clients report the reset instead
 * of the answer. The answer is therefore sent directly, and the body is read and discarded for a while. */
static int send_early(aoei_exchange *x, size_t limit) {
    char message[128], date[64] = "";
    aoei_buffer body = {0}, text = {0};
    const time_t now = time(NULL);
    struct tm t;
    if (gmtime_r(&now, &t))
        (void)strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &t);
    (void)snprintf(message, sizeof message, "the body of the request has more than %zu bytes, the maximum", limit);
    aoei_exchange_write_error(x, &body, 413, "Validation", message);
    (void)aoei_buffer_printf(&text,
                             "HTTP/1.1 413 Content Too Large\r\n%sContent-Type: application/json\r\n"
                             "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                             date, body.len, body.data ? body.data : "");
    x->answer_bytes = body.len;
    const int sent = !body.failed && !text.failed &&
                     aoei_connections_send(&x->shared->connections, x->connection, text.data, text.len);
    aoei_buffer_free(&body);
    aoei_buffer_free(&text);
    return sent;
}

/* Continues a rejected request whose headers are complete. If it has a body, the connection stays usable only if the
 * body is read. */
static enum MHD_Result send_rejection(const aoei_http *h, aoei_exchange *x) {
    const aoei_framing *f = &x->framing;
    const int has_body = f->length > 0 || f->is_chunked, is_large = f->length > h->o.body_limit;
    if (!has_body || f->expects || f->problem)
        return send_answer(x);
    x->is_discarded = 1;
    if (!is_large)
        return MHD_YES;
    x->is_sent_early = send_early(x, h->o.body_limit);
    if (!x->is_sent_early)
        return send_answer(x);
    return aoei_connections_enter(&x->shared->connections, x->connection, AOEI_PHASE_DISCARD) ? MHD_NO : MHD_YES;
}

/* -------------------------------------------------------------------- checks */

/* libmicrohttpd has decoded the path. The part of an absolute target before the path is removed. */
static const char *path_of(const char *url) {
    const size_t scheme = strncasecmp(url, "http://", 7) == 0 ? 7 : strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
    if (!scheme)
        return url;
    const char *path = strchr(url + scheme, '/');
    return path ? path : "/";
}

static void check_framing(aoei_exchange *x, const char *url, const char *version) {
    const aoei_head_line line = {x->target, x->method, url, version};
    x->is_http10 = strcmp(version, "HTTP/1.1") != 0;
    if (!aoei_head_check(&x->framing, x->mhd, &line))
        return;
    x->closes = 1;
    reject(x, 400, "%s; the connection is closed", x->framing.problem);
}

static int is_rejected(aoei_exchange *x) {
    return atomic_load(&x->state) == AOEI_EXCHANGE_ANSWERED;
}

/* Answers the question of a browser whether a page of another origin may send a request. */
static void answer_preflight(aoei_exchange *x) {
    const char *headers = aoei_exchange_header(x, "Access-Control-Request-Headers"); /* clients have headers of their
                                                                                        own */
    const int is_usable = headers && *headers && strlen(headers) < 1000;
    aoei_exchange_add_header(x, "Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS");
    aoei_exchange_add_header(x, "Access-Control-Allow-Headers", "%s",
                             is_usable ? headers : "authorization, content-type, x-api-key, api-key");
    aoei_exchange_add_header(x, "Access-Control-Max-Age", "600");
    aoei_exchange_reject(x, 204, "", "");
}

static void check_names(const aoei_http *h, aoei_exchange *x) {
    const aoei_framing *f = &x->framing;
    const char *cors = x->shared->cors_origin;
    if (f->host.data && !aoei_listener_allows(&h->listener, f->host)) {
        reject(x, 403,
               "the host '%.*s' is not a name of this server; to allow it, start the server with the option allow-host",
               (int)(f->host.len < 100 ? f->host.len : 100), f->host.data);
        return;
    }
    if (!f->origin.data || (f->host.data && aoei_origin_is_host(f->origin, f->host)))
        return;
    const int is_allowed = cors && (strcmp(cors, "*") == 0 || (strlen(cors) == f->origin.len &&
                                                               strncasecmp(cors, f->origin.data, f->origin.len) == 0));
    if (!is_allowed)
        reject(x, 403,
               "pages of the origin '%.*s' may not use this server, whose host is '%.*s' in this request; a proxy must "
               "forward the host with its port; to allow another site, start the server with the option cors-origin",
               (int)(f->origin.len < 100 ? f->origin.len : 100), f->origin.data,
               (int)(f->host.len < 100 ? f->host.len : 100), f->host.data ? f->host.data : "");
    else if (strcmp(x->method, "OPTIONS") == 0 && aoei_exchange_header(x, "Access-Control-Request-Method"))
        answer_preflight(x);
}

static void check_key(const aoei_http *h, aoei_exchange *x) {
    if ((h->o.is_open && h->o.is_open(x->method, x->path)) ||
        aoei_key_allows(&h->key, aoei_exchange_header(x, "Authorization"), aoei_exchange_header(x, "X-Api-Key"),
                        aoei_exchange_header(x, "Api-Key")))
        return;
    aoei_exchange_add_header(x, "WWW-Authenticate", "Bearer");
    reject(x, 401, "the API key is missing or wrong; send it in the header 'Authorization: Bearer KEY'");
}

static void check_body(const aoei_http *h, aoei_exchange *x) {
    if (x->framing.is_encoded)
        reject(x, 415,
               "the body has a Content-Encoding, such as gzip, which this server does not read; send it as it is");
    else if (x->framing.length > h->o.body_limit)
        reject_size(h, x);
    else if (x->framing.length > h->o.bodies_limit - smaller(atomic_load(&x->shared->body_bytes), h->o.bodies_limit))
        reject(x, 429, "the server is reading too many requests; try again later");
}

/* ------------------------------------------------------------------ requests */

static void count(aoei_exchange *x) {
    aoei_mutex_lock(&x->shared->lock);
    x->shared->in_flight++;
    aoei_mutex_unlock(&x->shared->lock);
    x->is_counted = 1;
}

/* The headers are complete. */
static enum MHD_Result begin(const aoei_http *h, aoei_exchange *x, const char *url, const char *method,
                             const char *version) {
    x->method = method;
    x->path = path_of(url);
    x->start = aoei_now_ns();
    count(x);
    if (aoei_connections_enter(&x->shared->connections, x->connection, AOEI_PHASE_BODY))
        return MHD_NO;
    check_framing(x, url, version);
    if (!is_rejected(x))
        check_names(h, x);
    if (!is_rejected(x))
        check_key(h, x);
    if (!is_rejected(x))
        check_body(h, x);
    return is_rejected(x) ? send_rejection(h, x) : MHD_YES;
}

/* A part of the body has arrived. */
static enum MHD_Result receive(const aoei_http *h, aoei_exchange *x, const char *data, size_t len) {
    x->received += len;
    if (x->is_discarded)
        return x->received > DISCARD_BYTES ? MHD_NO : MHD_YES;
    if (x->received > h->o.body_limit) {
        reject_size(h, x);
        x->is_discarded = x->closes = 1;
        x->is_sent_early = send_early(x, h->o.body_limit);
        return aoei_connections_enter(&x->shared->connections, x->connection, AOEI_PHASE_DISCARD) ? MHD_NO : MHD_YES;
    }
    if (x->body.len == 0)
        (void)aoei_buffer_reserve(&x->body, (size_t)x->framing.length);
    if (atomic_fetch_add(&x->shared->body_bytes, len) + len > h->o.bodies_limit) {
        reject(x, 429, "the server is reading too many requests; try again later");
        x->is_discarded = 1;
    } else if (aoei_buffer_append(&x->body, data, len)) {
        reject(x, 503, "out of memory; try again later");
        x->is_discarded = 1;
    }
    if (x->is_discarded)
        (void)atomic_fetch_sub(&x->shared->body_bytes, len);
    else
        x->body_bytes += len;
    return MHD_YES;
}

/* Counts the call of `handle` and makes it, or passes the request to a thread that makes it. Returns 0, or 1 if the
 * queue of the threads is full. */
static int dispatch(aoei_http *h, aoei_exchange *x) {
    const int is_small = x->body.len <= AOEI_HTTP_SMALL_BODY;
    aoei_mutex_lock(&h->shared.lock);
    h->shared.handling++;
    aoei_mutex_unlock(&h->shared.lock);
    atomic_store(&x->state, AOEI_EXCHANGE_HANDLE);
    if (is_small)
        h->o.handle(h->o.user, x);
    else if (aoei_request_threads_add(&h->threads, x))
        return 1;
    return 0;
}

/* The request is complete. It is dispatched in the next call, because libmicrohttpd 0.9.75 reads from a connection that
 * is resumed if it was suspended in the call in which it had read. If the client has ended its side, libmicrohttpd
 * would then close the connection instead of sending the answer. */
static enum MHD_Result complete(aoei_exchange *x) {
    if (aoei_connections_enter(&x->shared->connections, x->connection, AOEI_PHASE_HANDLE))
        return MHD_NO;
    atomic_store(&x->state, AOEI_EXCHANGE_COMPLETE);
    return MHD_YES;
}

/* Passes the request to `handle`, and suspends the connection until it is answered. */
static enum MHD_Result handle(aoei_http *h, aoei_exchange *x) {
    if (dispatch(h, x)) {
        reject(x, 429, "too many requests are waiting; try again later");
        aoei_mutex_lock(&h->shared.lock);
        h->shared.handling--;
        aoei_mutex_unlock(&h->shared.lock);
    }
    if (atomic_load(&x->state) == AOEI_EXCHANGE_ANSWERED)
        return send_answer(x);
    aoei_mhd.suspend_connection(x->mhd);
    int state = AOEI_EXCHANGE_HANDLE;
    if (!atomic_compare_exchange_strong(&x->state, &state, AOEI_EXCHANGE_SUSPENDED))
        aoei_mhd.resume_connection(x->mhd); /* it was answered meanwhile */
    return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *mhd, const char *url, const char *method,
                                  const char *version, const char *data, size_t *len, void **exchange) {
    aoei_http *h = user;
    aoei_exchange *x = *exchange;
    (void)mhd;
    if (!x)
        return MHD_NO;
    if (x->start == 0)
        return begin(h, x, url, method, version);
    if (*len) {
        const size_t n = *len;
        *len = 0;
        return receive(h, x, data, n);
    }
    switch (atomic_load(&x->state)) {
    case AOEI_EXCHANGE_RECEIVE:
        return complete(x);
    case AOEI_EXCHANGE_COMPLETE:
        return handle(h, x);
    case AOEI_EXCHANGE_ANSWERED:
        return send_answer(x);
    default:
        return MHD_YES;
    }
}

/* ---------------------------------------------------------------- connections */

/* The first line of a request has arrived. Returns the exchange, which libmicrohttpd passes to on_request; NULL if out
 * of memory, and then the connection is closed. */
static void *on_line(void *user, const char *target, struct MHD_Connection *mhd) {
    aoei_http *h = user;
    const union MHD_ConnectionInfo *info = aoei_mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    aoei_exchange *x = info && info->socket_context ? aoei_calloc(1, sizeof *x) : NULL;
    if (!x)
        return NULL;
    x->shared = &h->shared;
    x->mhd = mhd;
    x->connection = info->socket_context;
    x->target = aoei_strdup(target);
    if (!x->target) {
        aoei_free(x);
        return NULL;
    }
    (void)aoei_connections_enter(&h->shared.connections, x->connection, AOEI_PHASE_HEADERS);
    return x;
}

static void log_access(aoei_http *h, const aoei_exchange *x, int is_complete) {
    const int is_sent = is_complete || x->is_sent_early;
    const int broken = aoei_connections_was_slow(&h->shared.connections, x->connection) ? 408 : 499;
    const aoei_access a = {.remote = x->connection->remote,
                           .method = x->method,
                           .path = x->path,
                           .status = is_sent ? x->status : broken,
                           .bytes_in = x->received,
                           .bytes_out = is_sent && strcmp(x->method, "HEAD") != 0 ? x->answer_bytes : 0,
                           .seconds = (double)(aoei_now_ns() - x->start) * 1e-9,
                           .model = x->model,
                           .texts = x->texts,
                           .tokens = x->tokens};
    (void)aoei_access_log_write(&h->access_log, &a);
}

/* The answer was sent, or the connection is broken. */
static void on_end(void *user, struct MHD_Connection *mhd, void **exchange, enum MHD_RequestTerminationCode code) {
    aoei_http *h = user;
    aoei_exchange *x = *exchange;
    (void)mhd;
    *exchange = NULL;
    if (!x)
        return;
    if (x->is_counted)
        log_access(h, x, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    (void)aoei_connections_enter(&h->shared.connections, x->connection, AOEI_PHASE_IDLE);
    const int was_counted = x->is_counted;
    aoei_exchange_free(x);
    if (!was_counted)
        return;
    aoei_mutex_lock(&h->shared.lock);
    h->shared.in_flight -= 1;
    if (h->shared.in_flight == 0)
        aoei_condition_broadcast(&h->shared.changed);
    aoei_mutex_unlock(&h->shared.lock);
}

static void on_connection(void *user, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    aoei_http *h = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            aoei_connections_remove(&h->shared.connections, *context);
        *context = NULL;
        aoei_acceptor_closed(&h->acceptor);
        return;
    }
    const union MHD_ConnectionInfo *info = aoei_mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int fd = info ? info->connect_fd : -1;
    info = aoei_mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *context = fd < 0 ? NULL
                      : aoei_connections_add(&h->shared.connections, fd, h->certificate != NULL,
                                             info ? info->client_addr : NULL);
}

/* --------------------------------------------------------------------- start */

static void on_message(void *user, const char *fmt, va_list args) {
    aoei_http *h = user;
    if (!h->is_started)
        aoei_format_line(h->reason, sizeof h->reason, fmt, args);
}

static void set_defaults(aoei_http_options *o) {
    o->body_limit = o->body_limit ? o->body_limit : 2000000;
    o->bodies_limit = o->bodies_limit ? o->bodies_limit : smaller(SIZE_MAX / 256, o->body_limit) * 256;
    o->answers_limit = o->answers_limit ? o->answers_limit : (size_t)512 << 20;
    o->max_connections = o->max_connections ? o->max_connections : MAX_CONNECTIONS;
    o->header_timeout = o->header_timeout ? o->header_timeout : 10;
    o->body_timeout = o->body_timeout ? o->body_timeout : 60;
    o->idle_timeout = o->idle_timeout ? o->idle_timeout : 75;
    o->request_threads = o->request_threads ? o->request_threads : 1;
    o->request_queue = o->request_queue ? o->request_queue : 512;
}

/* The number of connections is limited so that the process can still open files. If the caller has not asked for more,
 * that is no reason for a warning. */
static void limit_connections(aoei_http *h) {
    const size_t files = aoei_raise_open_files();
    const size_t max = files > 2 * RESERVED_FILES ? files - RESERVED_FILES : files / 2;
    const size_t wanted = h->o.max_connections;
    h->o.max_connections = smaller(wanted, max);
    if (wanted <= max || wanted == MAX_CONNECTIONS)
        return;
    aoei_log_write(
        &h->log, AOE_LOG_WARNING,
        "at most %zu instead of %zu connections are possible, because this process may open %zu files; raise "
        "its limit (ulimit -n)",
        max, wanted, files);
}

static int read_tls(aoei_http *h, aoe_error *err) {
    if (!h->o.tls_cert && !h->o.tls_key)
        return 0;
    if (!h->o.tls_cert || !h->o.tls_key)
        return aoei_fail(err, AOE_EARG, "TLS needs both a certificate and its key; give the other file as well");
    if (aoei_mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return aoei_fail(err, AOE_EUNSUPPORTED, "the installed libmicrohttpd has no TLS; install one with GnuTLS");
    size_t len;
    const int rc = aoei_read_file(&h->certificate, &len, h->o.tls_cert, 1 << 20, err);
    return rc ? rc : aoei_read_file(&h->certificate_key, &len, h->o.tls_key, 1 << 20, err);
}

/* Starts the thread of libmicrohttpd. The logger must be the first option, because it receives the errors of the
 * others. */
static int start_daemon(aoei_http *h, aoe_error *err) {
    const unsigned flags = MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                           MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_ERROR_LOG |
                           (h->certificate ? (unsigned)MHD_USE_TLS : 0);
    const size_t max = smaller(h->o.max_connections, 1000000) + 64;
    struct MHD_OptionItem option[] = {
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_end, h},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, h},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_line, h},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)max, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)h->o.idle_timeout, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {h->certificate ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0, h->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, h->certificate_key},
        {MHD_OPTION_END, 0, NULL},
    };
    sigset_t before;
    aoei_signals_block(&before);
    h->daemon = aoei_mhd.start_daemon(flags, 0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, on_message, h,
                                      MHD_OPTION_ARRAY, option, MHD_OPTION_END);
    aoei_signals_restore(&before);
    h->is_started = 1;
    if (h->daemon)
        return 0;
    return aoei_fail(err, h->certificate ? AOE_EARG : AOE_EIO, "libmicrohttpd cannot be started: %s%s",
                     h->reason[0] ? h->reason : "no reason is known",
                     h->certificate ? "; check the certificate and its key" : "");
}

static int start(aoei_http *h, aoe_error *err) {
    const aoei_http_options *o = &h->o;
    int rc = aoei_mhd_start(err);
    rc = rc ? rc : read_tls(h, err);
    if (rc == 0 && o->api_key_file)
        rc = aoei_key_load(&h->key, o->api_key_file, &h->log, err);
    if (rc == 0 && o->cors_origin) {
        h->shared.cors_origin = aoei_strdup(o->cors_origin);
        rc = h->shared.cors_origin ? 0 : aoei_fail_nomem(err, strlen(o->cors_origin) + 1);
    }
    rc = rc ? rc : aoei_access_log_open(&h->access_log, o->access_log, err);
    if (rc == 0 && o->listen_fd > 0)
        rc = aoei_listener_use(&h->listener, o->listen_fd, o->allow_hosts, o->n_allow_hosts, err);
    else if (rc == 0)
        rc = aoei_listener_open(&h->listener, o->host, o->port, o->allow_hosts, o->n_allow_hosts, err);
    if (rc)
        return rc;
    const int is_ipv6 = strchr(h->listener.address, ':') != NULL;
    (void)snprintf(h->address, sizeof h->address, is_ipv6 ? "%s://[%s]:%u" : "%s://%s:%u",
                   h->certificate ? "https" : "http", h->listener.address, h->listener.port);
    limit_connections(h);
    h->shared.answers_limit = o->answers_limit;
    h->shared.write_error = o->write_error;
    rc = aoei_request_threads_start(&h->threads, o->request_threads, o->request_queue, o->handle, o->user, err);
    rc = rc ? rc : start_daemon(h, err);
    h->acceptor.listener = &h->listener;
    h->acceptor.daemon = h->daemon;
    h->acceptor.connections = &h->shared.connections;
    h->acceptor.max_connections = o->max_connections;
    h->acceptor.log = &h->log;
    rc = rc ? rc : aoei_acceptor_start(&h->acceptor, err);
    if (rc == 0)
        aoei_log_write(&h->log, AOE_LOG_INFO, "libmicrohttpd %s", aoei_mhd.get_version());
    return rc;
}

int aoei_http_start(aoei_http **result, const aoei_http_options *o, aoe_error *err) {
    *result = NULL;
    aoei_http *h = aoei_calloc(1, sizeof *h);
    if (!h)
        return aoei_fail_nomem(err, sizeof *h);
    h->o = *o;
    h->log = (aoei_log){.fn = o->log, .user = o->log_user};
    h->listener.fd = -1;
    set_defaults(&h->o);
    aoei_connections_init(&h->shared.connections);
    uint64_t *seconds = h->shared.connections.seconds;
    seconds[AOEI_PHASE_IDLE] = h->o.idle_timeout;
    seconds[AOEI_PHASE_HEADERS] = h->o.header_timeout;
    seconds[AOEI_PHASE_BODY] = h->o.body_timeout;
    seconds[AOEI_PHASE_DISCARD] = DISCARD_SECONDS;
    seconds[AOEI_PHASE_ANSWER] = ANSWER_SECONDS;
    aoei_mutex_init(&h->shared.lock);
    aoei_condition_init(&h->shared.changed);
    const int rc = start(h, err);
    if (rc) {
        if (o->listen_fd > 0)
            h->listener.fd = -1; /* it still belongs to the caller */
        aoei_http_stop(h);
        return rc;
    }
    *result = h;
    return 0;
}

unsigned aoei_http_port(const aoei_http *h) {
    return h->listener.port;
}

const char *aoei_http_address(const aoei_http *h) {
    return h->address;
}

const char *aoei_http_version(void) {
    return aoei_mhd_start(NULL) ? "" : aoei_mhd.get_version();
}

size_t aoei_http_connections(aoei_http *h) {
    return aoei_connections_count(&h->shared.connections);
}

void aoei_http_drain(aoei_http *h) {
    atomic_store(&h->shared.draining, 1);
    aoei_acceptor_drain(&h->acceptor);
}

int aoei_http_wait(aoei_http *h, double seconds) {
    const double end = aoei_now() + seconds;
    aoei_mutex_lock(&h->shared.lock);
    while (h->shared.in_flight && aoei_condition_wait_until(&h->shared.changed, &h->shared.lock, end))
        ;
    const int is_busy = h->shared.in_flight > 0;
    aoei_mutex_unlock(&h->shared.lock);
    return is_busy;
}

int aoei_http_reopen_log(aoei_http *h, aoe_error *err) {
    return aoei_access_log_reopen(&h->access_log, err);
}

void aoei_http_stop(aoei_http *h) {
    if (!h)
        return;
    aoei_acceptor_stop(&h->acceptor);
    aoei_mutex_lock(&h->shared.lock);
    while (h->shared.handling)
        aoei_condition_wait(&h->shared.changed, &h->shared.lock);
    aoei_mutex_unlock(&h->shared.lock);
    aoei_request_threads_stop(&h->threads);
    if (h->daemon)
        aoei_mhd.stop_daemon(h->daemon);
    aoei_listener_free(&h->listener);
    aoei_access_log_close(&h->access_log);
    aoei_connections_destroy(&h->shared.connections);
    aoei_condition_destroy(&h->shared.changed);
    aoei_mutex_destroy(&h->shared.lock);
    aoei_free(h->shared.cors_origin);
    aoei_free(h->certificate);
    if (h->certificate_key)
        explicit_bzero(h->certificate_key, strlen(h->certificate_key));
    aoei_free(h->certificate_key);
    explicit_bzero(&h->key, sizeof h->key);
    aoei_free(h);
}
