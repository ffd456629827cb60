/* SPDX-License-Identifier: MIT
 * Reads requests, and stores their answers. The answer is built in the thread that answers, so that the thread of
 * libmicrohttpd has little to do. The functions of libmicrohttpd that are called here only read the connection or
 * work on an answer that is not yet in use, except resume_connection, which is thread-safe.
 */
#include "serve/exchange.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "serve/exchange_state.h"

enum { SMALL_ANSWER = 65536 }; /* bytes of an answer that the limit of unread answers ignores */

const char *aoei_exchange_method(const aoei_exchange *x) {
    return x->method;
}

const char *aoei_exchange_path(const aoei_exchange *x) {
    return x->path;
}

const char *aoei_exchange_header(const aoei_exchange *x, const char *name) {
    return aoei_mhd.lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

const char *aoei_exchange_query(const aoei_exchange *x, const char *name) {
    return aoei_mhd.lookup_connection_value(x->mhd, MHD_GET_ARGUMENT_KIND, name);
}

aoe_text aoei_exchange_body(const aoei_exchange *x) {
    return (aoe_text){.data = x->body.data ? x->body.data : "", .len = x->body.len};
}

void aoei_exchange_free_body(aoei_exchange *x) {
    aoei_buffer_free(&x->body);
}

uint64_t aoei_exchange_connection(const aoei_exchange *x) {
    return x->connection->number;
}

uint64_t aoei_exchange_start(const aoei_exchange *x) {
    return x->start;
}

/* While a request is handled, libmicrohttpd neither sends on the connection nor closes it. */
int aoei_exchange_is_gone(aoei_exchange *x) {
    struct pollfd p = {.fd = x->connection->fd, .events = POLLRDHUP};
    if (poll(&p, 1, 0) <= 0)
        return 0;
    if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
        return 1;
    if (!(p.revents & POLLRDHUP) || x->is_http10 || x->was_probed)
        return 0;
    if (x->connection->is_tls)
        return 1;
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    x->was_probed = 1;
    (void)aoei_connections_send(&x->shared->connections, x->connection, interim, sizeof interim - 1);
    p.revents = 0;
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

void aoei_exchange_add_header(aoei_exchange *x, const char *name, const char *fmt, ...) {
    char value[1024];
    va_list args;
    va_start(args, fmt);
    aoei_format_line(value, sizeof value, fmt, args);
    va_end(args);
    (void)aoei_buffer_append(&x->headers, name, strlen(name) + 1);
    (void)aoei_buffer_append(&x->headers, value, strlen(value) + 1);
}

void aoei_exchange_note(aoei_exchange *x, const char *model, size_t texts, size_t tokens) {
    (void)snprintf(x->model, sizeof x->model, "%s", model ? model : "");
    x->texts = texts;
    x->tokens = tokens;
}

void aoei_exchange_write_error(const aoei_exchange *x, aoei_buffer *b, int status, const char *kind,
                               const char *message) {
    if (x->shared->write_error) {
        x->shared->write_error(b, x->path, status, message);
        return;
    }
    (void)aoei_buffer_printf(b, "{\"error\":\"");
    for (const char *p = message; *p; p++)
        if (*p == '"' || *p == '\\')
            (void)aoei_buffer_printf(b, "\\%c", *p);
        else if ((unsigned char)*p < ' ' || (unsigned char)*p >= 127)
            (void)aoei_buffer_printf(b, "?");
        else
            (void)aoei_buffer_putc(b, *p);
    (void)aoei_buffer_printf(b, "\",\"error_type\":\"%s\"}", kind);
}

void aoei_exchange_set_work(aoei_exchange *x, void *work) {
    x->work = work;
}

void *aoei_exchange_work(const aoei_exchange *x) {
    return x->work;
}

/* ------------------------------------------------------------------ answer */

/* Adds all headers to the answer. Returns 0, or 1 if out of memory. */
static int add_headers(const aoei_exchange *x, struct MHD_Response *r, const char *type) {
    int failed = x->headers.failed;
    const char *cors = x->framing.origin.data ? x->shared->cors_origin : NULL;
    if (type)
        failed |= aoei_mhd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_NO;
    for (size_t i = 0; i < x->headers.len;) {
        const char *name = x->headers.data + i, *value = name + strlen(name) + 1;
        failed |= aoei_mhd.add_response_header(r, name, value) == MHD_NO;
        i = (size_t)(value + strlen(value) + 1 - x->headers.data);
    }
    if (cors) {
        failed |= aoei_mhd.add_response_header(r, "Access-Control-Allow-Origin", cors) == MHD_NO;
        failed |= aoei_mhd.add_response_header(r, "Access-Control-Expose-Headers", "*") == MHD_NO;
    }
    if (x->shared->cors_origin)
        failed |= aoei_mhd.add_response_header(r, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN) == MHD_NO;
    if (x->closes || atomic_load(&x->shared->draining))
        failed |= aoei_mhd.add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_NO;
    return failed;
}

/* Takes over the memory of body. Returns NULL if out of memory. */
static struct MHD_Response *build(aoei_exchange *x, const char *type, aoei_buffer *body) {
    struct MHD_Response *r = NULL;
    if (body->data && !body->failed)
        r = aoei_mhd.create_response_from_buffer_with_free_callback(body->len, body->data, aoei_free);
    if (!r) {
        aoei_buffer_free(body);
        return NULL;
    }
    x->answer_bytes = body->len;
    *body = (aoei_buffer){0};
    if (add_headers(x, r, type) == 0)
        return r;
    aoei_mhd.destroy_response(r);
    return NULL;
}

/* Counts the bytes of a large answer. Returns 1 if there is too little left of the limit. */
static int hold(aoei_exchange *x, size_t len) {
    if (len <= SMALL_ANSWER)
        return 0;
    if (atomic_fetch_add(&x->shared->answer_bytes, len) + len > x->shared->answers_limit) {
        (void)atomic_fetch_sub(&x->shared->answer_bytes, len);
        return 1;
    }
    x->held_bytes = len;
    return 0;
}

int aoei_exchange_reserve(aoei_exchange *x, size_t bytes, size_t *limit) {
    *limit = x->shared->answers_limit;
    if (bytes > *limit && bytes > SMALL_ANSWER)
        return 1;
    if (hold(x, bytes))
        return 2;
    x->is_reserved = x->held_bytes > 0;
    return 0;
}

/* Counts a large answer until it is sent, instead of the bytes that were reserved for it. Returns 1 if the answers that
 * clients do not read need too much memory. */
static int hold_answer(aoei_exchange *x, size_t len) {
    if (!x->is_reserved)
        return hold(x, len);
    (void)atomic_fetch_add(&x->shared->answer_bytes, len);
    (void)atomic_fetch_sub(&x->shared->answer_bytes, x->held_bytes);
    x->held_bytes = len;
    return 0;
}

/* Stores an answer in the exchange. If memory runs out, answers with an error, or else closes the connection. */
static void store(aoei_exchange *x, int status, const char *type, aoei_buffer *body) {
    const int is_too_much = hold_answer(x, body->len);
    x->status = status;
    if (is_too_much)
        aoei_buffer_free(body);
    else
        x->response = build(x, type, body);
    if (x->response)
        return;
    aoei_buffer error = {0};
    x->status = is_too_much ? 503 : 500;
    aoei_exchange_write_error(x, &error, x->status, is_too_much ? "Overloaded" : "Backend",
                              is_too_much ? "too many large answers are not yet read by their clients; try again later"
                                          : "out of memory");
    aoei_buffer_free(&x->headers);
    x->closes = 1;
    x->response = build(x, "application/json", &error);
}

/* Frees the body of the request, which nobody needs while the answer is being sent. */
static void drop_body(aoei_exchange *x) {
    (void)atomic_fetch_sub(&x->shared->body_bytes, x->body_bytes);
    x->body_bytes = 0;
    aoei_exchange_free_body(x);
}

void aoei_exchange_answer(aoei_exchange *x, int status, const char *type, aoei_buffer *body) {
    aoei_buffer empty = {0};
    body = body ? body : &empty;
    if (!body->data && !body->failed)
        (void)aoei_buffer_reserve(body, 1);
    store(x, status, type, body);
    drop_body(x);
    aoei_exchange_shared *shared = x->shared;
    struct MHD_Connection *mhd = x->mhd;
    if (atomic_exchange(&x->state, AOEI_EXCHANGE_ANSWERED) == AOEI_EXCHANGE_SUSPENDED)
        aoei_mhd.resume_connection(mhd);
    aoei_mutex_lock(&shared->lock);
    shared->handling -= 1;
    if (shared->handling == 0)
        aoei_condition_broadcast(&shared->changed);
    aoei_mutex_unlock(&shared->lock);
}

void aoei_exchange_reject(aoei_exchange *x, int status, const char *kind, const char *message) {
    aoei_buffer body = {0};
    aoei_exchange_write_error(x, &body, status, kind, message);
    store(x, status, "application/json", &body);
    atomic_store(&x->state, AOEI_EXCHANGE_ANSWERED);
}

void aoei_exchange_free(aoei_exchange *x) {
    if (!x)
        return;
    if (x->response)
        aoei_mhd.destroy_response(x->response);
    drop_body(x);
    (void)atomic_fetch_sub(&x->shared->answer_bytes, x->held_bytes);
    aoei_buffer_free(&x->headers);
    aoei_free(x->target);
    aoei_free(x);
}
