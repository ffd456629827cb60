/* SPDX-License-Identifier: MIT
 * The functions with which routes read the body of a call, get their model, and answer.
 */
#include "serve/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

aoei_error_kind aoei_call_error_kind(int code) {
    switch (code) {
    case AOE_EARG:
        return AOEI_VALIDATION;
    case AOE_ENOENT:
        return AOEI_NOT_FOUND;
    case AOE_ENOMEM:
        return AOEI_INTERNAL;
    default:
        return AOEI_BACKEND;
    }
}

/* Copies the key of the body with which a message begins, such as "`input`". Returns it, or NULL if there is none. */
static const char *read_key(const char *message, char *key, size_t size) {
    const char *end = *message == '`' ? strchr(message + 1, '`') : NULL;
    if (!end || end == message + 1 || (size_t)(end - message) > size)
        return NULL;
    snprintf(key, size, "%.*s", (int)(end - message - 1), message + 1);
    return key;
}

void aoei_call_fail_exchange(aoei_exchange *x, const aoei_route *route, aoei_error_kind kind, const char *message,
                             const char *param) {
    const aoei_family family = route ? route->family : AOEI_TEI;
    const int status = aoei_answer_status(family, kind);
    char key[64];
    aoei_buffer body = {0};
    if (!param || !*param)
        param = read_key(message, key, sizeof key);
    aoei_answer_error_of(&body, family, status, kind, message, param);
    if (status == 429)
        aoei_exchange_add_header(x, "Retry-After", "1");
    aoei_exchange_answer(x, status, "application/json", &body);
}

void aoei_call_fail(aoei_call *c, aoei_error_kind kind, const char *fmt, ...) {
    char message[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    aoei_call_fail_exchange(c->x, c->route, kind, message, NULL);
}

void aoei_call_name_keys(const char *message, const char *length_key, char *text, size_t size) {
    static const char option[] = "options.", longest[] = "max_length";
    size_t at = 0;
    *text = 0;
    while (*message && at < size) {
        const size_t n = strncmp(message, option, sizeof option - 1) ? 0 : sizeof option - 1;
        const char *name = message + n;
        const size_t len = n ? strspn(name, "abcdefghijklmnopqrstuvwxyz_") : 1;
        const int is_length = n && len == sizeof longest - 1 && !memcmp(name, longest, len);
        if (is_length && !length_key)
            at += (size_t)snprintf(text + at, size - at, "the maximum sequence length");
        else if (is_length)
            at += (size_t)snprintf(text + at, size - at, "`%s`", length_key);
        else
            at += (size_t)snprintf(text + at, size - at, n ? "`%.*s`" : "%.*s", (int)len, name);
        message = name + len;
    }
}

void aoei_call_fail_code(aoei_call *c, int code, const aoe_error *err) {
    aoei_call_fail(c, aoei_call_error_kind(code), "%s", err->message);
}

void aoei_call_answer(aoei_call *c, aoei_buffer *body) {
    if (c->request.n_ignored)
        aoei_exchange_add_header(c->x, "x-aoe-ignored", "%s", c->request.ignored);
    aoei_exchange_answer(c->x, 200, "application/json", body);
}

/* Answers that the body is wrong, if code is not 0. Returns 1 if it did. */
static int fail_body(aoei_call *c, int code, const aoe_error *err) {
    if (!code)
        return 0;
    aoei_metrics_count(c->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_VALIDATION);
    aoei_call_fail_exchange(c->x, c->route,
                            code == AOE_ENOMEM        ? AOEI_INTERNAL
                            : c->request.is_malformed ? AOEI_MALFORMED
                                                      : AOEI_VALIDATION,
                            err->message, c->request.key);
    return 1;
}

int aoei_call_load_body(aoei_call *c, aoe_text body) {
    aoe_error err = {0};
    const aoei_route *r = c->route;
    return fail_body(c, aoei_request_load(&c->request, body, r->fields, r->n_fields, &err), &err);
}

int aoei_call_load(aoei_call *c) {
    return aoei_call_load_body(c, aoei_exchange_body(c->x));
}

int aoei_call_parse(aoei_call *c, void *out) {
    aoe_error err = {0};
    const aoei_route *r = c->route;
    if (!c->request.root && aoei_call_load(c))
        return 1;
    return fail_body(c, aoei_request_read(&c->request, r->fields, r->n_fields, out, &err), &err);
}

const aoei_route *aoei_call_next_route(const aoei_call *c) {
    const aoe_server *s = c->server;
    for (const aoei_route *r = c->route + 1; r < s->routes + s->n_routes; r++)
        if (!strcmp(r->path, c->route->path) && !strcmp(r->method, c->route->method))
            return r;
    return NULL;
}

aoei_served *aoei_call_model(aoei_call *c, const char *name, aoei_task_kind kind) {
    aoe_error err = {0};
    aoei_served *served = aoei_models_acquire(c->server->models, name, c->may_wait, &c->would_wait, &err);
    if (!served && !c->would_wait && !aoei_models_has(c->server->models, name))
        aoei_call_fail_exchange(c->x, c->route, AOEI_NOT_FOUND, err.message, "model");
    else if (!served && !c->would_wait) { /* the message names files of the server */
        aoei_log_write(&c->server->log, AOE_LOG_WARNING, "the model '%s' cannot be opened: %s", name ? name : "",
                       err.message);
        aoei_call_fail(c, AOEI_UNHEALTHY, "the model '%.100s' cannot be opened; the messages of the server say why",
                       name ? name : "");
    }
    if (!served || kind == AOEI_TASK_STATES || served->is_cross_encoder == (kind == AOEI_TASK_SCORE))
        return served;
    aoei_metrics_count(c->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_MODEL_TYPE);
    aoei_call_fail(c, AOEI_BACKEND,
                   served->is_cross_encoder
                       ? "the model '%.100s' is a cross-encoder, which computes no embeddings; use /rerank or /predict"
                       : "the model '%.100s' is an embedding model, which scores no pairs; use /similarity, or name a "
                         "cross-encoder",
                   served->name);
    aoei_models_release(c->server->models, served);
    return NULL;
}
