/* SPDX-License-Identifier: MIT
 * Starts and stops a server, and passes requests to the functions of the routes. Requests are counted, so that more
 * than options.max_requests at the same time get the status 429. A request that waits for a model or an index is
 * handled by further threads, because the thread of the connections must not wait.
 */
#include "aoe_serve.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/options.h"
#include "serve/call.h"
#include "serve/indexes.h"
#include "serve/job.h"
#include "serve/routes.h"
#include "serve/systemd.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_WAITING_THREADS = 4 };

AOEI_DEFAULTS(aoe_serve_options) {
    *o = (aoe_serve_options){.struct_size = sizeof *o};
    o->host = "127.0.0.1";
    o->port = 8080;
    o->listen_fd = AOE_AUTO;
    o->threads = AOE_AUTO;
    o->max_batch_tokens = 2048;
    o->max_texts = 32;
    o->max_list = 2048;
    o->max_request_tokens = 300000;
    o->max_requests = 512;
    o->max_connections = 20000;
    o->max_body = 2000000;
    o->cache_bytes = (size_t)64 << 20;
    o->header_timeout = 10;
    o->body_timeout = 60;
    o->idle_timeout = 75;
    o->truncate = 1;
    o->answer_bytes = (size_t)512 << 20;
}

/* ---------------------------------------------------------------- dispatch */

/* Answers with an error in the form of the path. */
static void fail(aoei_exchange *x, aoei_error_kind kind, const char *message) {
    const aoei_route route = {.family = aoei_route_family(aoei_exchange_path(x))};
    aoei_call_fail_exchange(x, &route, kind, message, NULL);
}

/* Appends the body of an error that the unit serve/http answers before the route is known. */
static void write_error(aoei_buffer *b, const char *path, int status, const char *message) {
    const aoei_error_kind kind = status == 401   ? AOEI_UNAUTHORIZED
                                 : status == 403 ? AOEI_FORBIDDEN
                                 : status == 413 ? AOEI_TOO_LARGE
                                 : status == 429 ? AOEI_OVERLOADED
                                 : status == 500 ? AOEI_INTERNAL
                                 : status == 503 ? AOEI_UNHEALTHY
                                                 : AOEI_MALFORMED;
    aoei_answer_error(b, aoei_route_family(path), status, kind, message);
}

/* Answers a path that no route has, or not with this method. allowed: methods of the path; "": none. */
static void fail_path(aoei_exchange *x, const char *allowed) {
    char message[400];
    if (*allowed) {
        aoei_exchange_add_header(x, "Allow", "%s", allowed);
        snprintf(message, sizeof message, "%.100s does not support the method %.20s; supported: %s",
                 aoei_exchange_path(x), aoei_exchange_method(x), allowed);
        fail(x, AOEI_METHOD, message);
        return;
    }
    snprintf(message, sizeof message, "there is no path %.100s; GET /docs lists the routes", aoei_exchange_path(x));
    fail(x, AOEI_NOT_FOUND, message);
}

/* Returns 1 if the requests of a route count among those at the same time. */
static int computes(const aoei_route *route) {
    return strcmp(route->method, "GET") != 0;
}

/* Counts a request. Returns 1 after answering that there are too many. */
static int is_overloaded(aoe_server *s, aoei_exchange *x) {
    if (atomic_fetch_add(&s->requests, 1) < s->o.max_requests)
        return 0;
    atomic_fetch_sub(&s->requests, 1);
    aoei_metrics_count(s->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_OVERLOADED);
    fail(x, AOEI_OVERLOADED, "Model is overloaded: too many requests at the same time; try again later");
    return 1;
}

/* Calls the function of the route. may_wait: see aoei_call. Returns 1 if the call must be repeated with may_wait. */
static int call_route(aoe_server *s, aoei_exchange *x, const aoei_route_match *m, int may_wait) {
    aoei_call c = {.server = s, .x = x, .route = m->route, .may_wait = may_wait, .counted = computes(m->route)};
    c.param[0] = *m->first ? m->first : NULL;
    c.param[1] = *m->second ? m->second : NULL;
    if (!may_wait && c.route->flags & AOEI_ROUTE_WAITS)
        return 1;
    c.route->fn(&c);
    aoei_request_free(&c.request);
    if (c.counted && !c.would_wait)
        atomic_fetch_sub(&s->requests, 1);
    return c.would_wait;
}

/* Returns 1 after answering that the server stops, if it does not finish requests any more. */
static int is_given_up(const aoe_server *s, aoei_exchange *x) {
    if (atomic_load(&s->state) != AOEI_STOPPING)
        return 0;
    fail(x, AOEI_UNHEALTHY, "the server is stopping");
    return 1;
}

/* Continues a job, or repeats a call, in a thread that may wait. */
static void call_waiting(void *user, aoei_exchange *x) {
    aoe_server *s = user;
    aoei_route_match m;
    if (aoei_exchange_work(x)) {
        aoei_job_continue(aoei_exchange_work(x));
        return;
    }
    aoei_route_find(s->routes, s->n_routes, aoei_exchange_method(x), aoei_exchange_path(x), &m);
    if (!is_given_up(s, x)) {
        call_route(s, x, &m, 1);
        return;
    }
    if (computes(m.route))
        atomic_fetch_sub(&s->requests, 1);
}

static void handle(void *user, aoei_exchange *x) {
    aoe_server *s = user;
    aoei_route_match m;
    if (aoei_route_find(s->routes, s->n_routes, aoei_exchange_method(x), aoei_exchange_path(x), &m)) {
        fail_path(x, m.allowed);
        return;
    }
    if (m.route->flags & AOEI_ROUTE_WRITES && !s->o.writable) {
        fail(x, AOEI_FORBIDDEN, "the server only reads indexes; its operator can allow changes (writable)");
        return;
    }
    aoei_request_threads *threads = m.route->flags & AOEI_ROUTE_WRITES ? &s->writing : &s->waiting;
    if ((computes(m.route) && (is_given_up(s, x) || is_overloaded(s, x))) || !call_route(s, x, &m, 0) ||
        !aoei_request_threads_add(threads, x))
        return;
    if (computes(m.route))
        atomic_fetch_sub(&s->requests, 1);
    fail(x, AOEI_OVERLOADED, "too many requests wait for models or indexes");
}

static int is_open(const char *method, const char *path) {
    aoei_route_match m;
    return !aoei_route_find(aoei_routes, aoei_n_routes, method, path, &m) && m.route->flags & AOEI_ROUTE_OPEN;
}

/* ---------------------------------------------------------- start and stop */

static int check_options(const aoe_serve_options *o, aoe_error *err) {
    if (o->port > 65535)
        return aoei_fail(err, AOE_EARG, "options.port is %zu, but must be at most 65535", o->port);
    if (!o->tls_cert != !o->tls_key)
        return aoei_fail(err, AOE_EARG,
                         "TLS needs both the certificate (options.tls_cert) and its key "
                         "(options.tls_key)");
    if (!o->max_batch_tokens || !o->max_texts || !o->max_list || !o->max_requests || !o->answer_bytes)
        return aoei_fail(err, AOE_EARG,
                         "a limit of the server is 0; set options.max_batch_tokens, max_texts, max_list, max_requests "
                         "and answer_bytes to at least 1");
    return AOE_OK;
}

/* Creates a server that does not listen. */
static int create(aoe_server **server, const aoe_serve_options *o, aoe_error *err) {
    aoe_server *s = *server = aoei_calloc(1, sizeof *s);
    if (!s)
        return aoei_fail_nomem(err, sizeof *s);
    s->o = *o;
    s->log = (aoei_log){o->log, o->log_user};
    s->routes = aoei_routes;
    s->n_routes = aoei_n_routes;
    atomic_init(&s->state, AOEI_LOADING);
    int code = check_options(o, err);
    s->metrics = code ? NULL : aoei_calloc(1, sizeof *s->metrics);
    if (!code && !s->metrics)
        code = aoei_fail_nomem(err, sizeof *s->metrics);
    if (!code)
        aoei_metrics_init(s->metrics, 0);
    if (!code && o->cache_bytes)
        code = aoei_cache_create(&s->cache, o->cache_bytes, err);
    if (!code)
        code = aoei_models_create(&s->models, o, s->metrics, err);
    if (!code)
        code = aoei_indexes_create(&s->indexes, o, s->models, err);
    return code;
}

static void destroy(aoe_server *s) {
    aoei_request_threads_stop(&s->waiting);
    aoei_request_threads_stop(&s->writing);
    aoei_indexes_destroy(s->indexes);
    aoei_models_destroy(s->models);
    aoei_cache_destroy(s->cache);
    aoei_free(s->metrics);
    aoei_free(s);
}

static int listen_at(aoe_server *s, aoe_error *err) {
    const aoe_serve_options *o = &s->o;
    const aoei_http_options h = {.host = o->host,
                                 .port = (unsigned)o->port,
                                 .listen_fd = o->listen_fd == AOE_AUTO ? -1 : o->listen_fd,
                                 .tls_cert = o->tls_cert,
                                 .tls_key = o->tls_key,
                                 .allow_hosts = o->allow_hosts,
                                 .n_allow_hosts = o->n_allow_hosts,
                                 .api_key_file = o->api_key_file,
                                 .cors_origin = o->cors_origin,
                                 .body_limit = o->max_body,
                                 .answers_limit = o->answer_bytes,
                                 .max_connections = o->max_connections,
                                 .header_timeout = (unsigned)o->header_timeout,
                                 .body_timeout = (unsigned)o->body_timeout,
                                 .idle_timeout = (unsigned)o->idle_timeout,
                                 .request_threads = 2,
                                 .access_log = o->access_log,
                                 .log = o->log,
                                 .log_user = o->log_user,
                                 .handle = handle,
                                 .user = s,
                                 .is_open = is_open,
                                 .write_error = write_error};
    return aoei_http_start(&s->http, &h, err);
}

/* Reports the state of the server to systemd. A failure is only a warning. */
static void report(const aoe_server *s, int (*state)(aoe_error *err)) {
    aoe_error err;
    if (s->o.systemd && state(&err))
        aoei_log_write(&s->log, AOE_LOG_WARNING, "%s", err.message);
}

int aoe_server_start(aoe_server **server, const aoe_serve_options *o, aoe_error *err) {
    AOEI_CHECK(err, server);
    *server = NULL;
    AOEI_OPTIONS(aoe_serve_options, o, err);
    aoe_server *s = NULL;
    int code = create(&s, o, err), fd = -1;
    if (!code && o->systemd)
        code = aoei_systemd_socket(&fd, err);
    if (!code && fd > 0)
        s->o.listen_fd = fd;
    if (!code)
        code = aoei_indexes_create_missing(s->indexes, err);
    if (!code) {
        const size_t cpus = aoei_cpu_count(), n = cpus > LEAST_WAITING_THREADS ? cpus : LEAST_WAITING_THREADS;
        code = aoei_request_threads_start(&s->waiting, n, o->max_requests, call_waiting, s, err);
    }
    if (!code)
        code = aoei_request_threads_start(&s->writing, 1, o->max_requests, call_waiting, s, err);
    if (!code)
        code = listen_at(s, err);
    if (code) {
        if (s)
            destroy(s);
        return code;
    }
    atomic_store(&s->state, AOEI_READY);
    report(s, aoei_systemd_ready);
    *server = s;
    return AOE_OK;
}

/* Appends the resolved configuration as JSON. */
static void describe(const aoe_server *s, aoei_buffer *b) {
    const aoe_serve_options *o = &s->o;
    aoei_buffer_printf(b, "{\n  \"host\": ");
    aoei_answer_cstring(b, o->host);
    aoei_buffer_printf(b, ",\n  \"port\": %zu,\n  \"tls\": %s,\n  \"api_key\": %s,\n  \"models\": [", o->port,
                       o->tls_cert ? "true" : "false", o->api_key_file ? "true" : "false");
    for (size_t i = 0; i < aoei_models_count(s->models); i++) {
        aoei_buffer_printf(b, "%s\n    {\"name\": ", i ? "," : "");
        aoei_answer_cstring(b, aoei_models_name(s->models, i));
        aoei_buffer_printf(b, ", \"model\": ");
        aoei_answer_cstring(b, aoei_models_dir(s->models, i));
        int ignored = 0;
        aoei_served *served = aoei_models_acquire(s->models, aoei_models_name(s->models, i), 1, &ignored, NULL);
        if (served)
            aoei_buffer_printf(b, ", \"kind\": \"%s\", \"dims\": %zu, \"max_length\": %zu, \"dtype\": \"%s\"",
                               served->is_cross_encoder ? "cross-encoder" : "embedding", served->dims,
                               served->info.max_length, served->info.computed);
        aoei_models_release(s->models, served);
        aoei_buffer_printf(b, "}");
    }
    aoei_buffer_printf(b, "\n  ],\n  \"indexes\": [");
    aoei_indexes_describe(s->indexes, b);
    aoei_buffer_printf(
        b,
        "],\n  \"writable\": %s,\n  \"max_batch_tokens\": %zu,\n  \"max_texts\": %zu,\n  \"max_list\": %zu,\n"
        "  \"max_request_tokens\": %zu,\n  \"max_requests\": %zu,\n  \"max_connections\": %zu,\n"
        "  \"max_body\": %zu,\n  \"cache_bytes\": %zu,\n  \"answer_bytes\": %zu,\n  \"truncate\": %s,\n  \"allow_token_ids\": %s,\n"
        "  \"timeouts\": {\"header\": %zu, \"body\": %zu, \"idle\": %zu},\n  \"libmicrohttpd\": \"%s\"\n}",
        o->writable ? "true" : "false", o->max_batch_tokens, o->max_texts, o->max_list, o->max_request_tokens,
        o->max_requests, o->max_connections, o->max_body, o->cache_bytes, o->answer_bytes,
        o->truncate ? "true" : "false", o->allow_token_ids ? "true" : "false", o->header_timeout, o->body_timeout,
        o->idle_timeout, aoei_http_version());
}

int aoe_server_check(const aoe_serve_options *o, char *text, size_t size, aoe_error *err) {
    AOEI_CHECK(err, text);
    AOEI_OPTIONS(aoe_serve_options, o, err);
    aoe_server *s = NULL;
    aoei_buffer b = {0};
    int code = create(&s, o, err);
    for (size_t i = 0; !code && i < aoei_models_count(s->models); i++) { /* opens the others, to check them */
        int ignored = 0;
        aoe_error inner = {0};
        aoei_served *served = aoei_models_acquire(s->models, aoei_models_name(s->models, i), 1, &ignored, &inner);
        if (!served)
            code = aoei_fail(err, inner.code, "%s", inner.message);
        aoei_models_release(s->models, served);
    }
    if (!code)
        code = aoei_indexes_check(s->indexes, err);
    if (!code) {
        describe(s, &b);
        if (b.failed)
            code = aoei_fail_nomem(err, b.len);
        else if (b.len >= size)
            code =
                aoei_fail(err, AOE_EARG, "the configuration has %zu bytes, but the text has only %zu", b.len + 1, size);
        else
            memcpy(text, b.data, b.len + 1);
    }
    aoei_buffer_free(&b);
    if (s)
        destroy(s);
    return code;
}

size_t aoe_server_port(const aoe_server *server) {
    return server ? aoei_http_port(server->http) : 0;
}

const char *aoe_server_address(const aoe_server *server) {
    return server ? aoei_http_address(server->http) : NULL;
}

int aoe_server_reload(aoe_server *server, aoe_error *err) {
    AOEI_CHECK(err, server);
    report(server, aoei_systemd_reloading);
    int code = aoei_models_reload(server->models, aoei_indexes_close, server->indexes, err);
    if (!code)
        code = aoei_http_reopen_log(server->http, err);
    report(server, aoei_systemd_ready);
    return code;
}

int aoe_server_stop(aoe_server *server, double seconds) {
    if (!server)
        return 0;
    atomic_store(&server->state, AOEI_DRAINING);
    report(server, aoei_systemd_stopping);
    aoei_http_drain(server->http);
    const int left = aoei_http_wait(server->http, seconds);
    atomic_store(&server->state, AOEI_STOPPING);
    aoei_http_stop(server->http);
    destroy(server);
    return left;
}
