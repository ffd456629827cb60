/* SPDX-License-Identifier: MIT
 * The list of connections. A socket is shut down, but not closed, when its time is over, so its number cannot be reused
 * by another connection meanwhile. libmicrohttpd notices the end of the connection and closes it.
 */
#include "serve/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/clock.h"

void aoei_connections_init(aoei_connections *t) {
    aoei_mutex_init(&t->lock);
}

void aoei_connections_destroy(aoei_connections *t) {
    aoei_mutex_destroy(&t->lock);
}

static uint64_t deadline_of(const aoei_connections *t, aoei_phase phase) {
    return t->seconds[phase] ? aoei_now_ns() + t->seconds[phase] * UINT64_C(1000000000) : 0;
}

static void format_address(char *text, size_t size, const struct sockaddr *address) {
    const void *bytes = NULL;
    const int family = address ? address->sa_family : AF_UNIX;
    if (family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!bytes || !inet_ntop(family, bytes, text, (socklen_t)size))
        (void)snprintf(text, size, "%s", family == AF_UNIX ? "unix" : "unknown");
}

aoei_connection *aoei_connections_add(aoei_connections *t, int fd, int is_tls, const struct sockaddr *remote) {
    aoei_connection *c = aoei_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->fd = fd;
    c->is_tls = is_tls;
    format_address(c->remote, sizeof c->remote, remote);
    aoei_mutex_lock(&t->lock);
    c->number = ++t->n_total;
    c->deadline = deadline_of(t, AOEI_PHASE_HEADERS);
    c->next = t->first;
    if (t->first)
        t->first->previous = c;
    t->first = c;
    t->n++;
    aoei_mutex_unlock(&t->lock);
    return c;
}

void aoei_connections_remove(aoei_connections *t, aoei_connection *c) {
    aoei_mutex_lock(&t->lock);
    *(c->previous ? &c->previous->next : &t->first) = c->next;
    if (c->next)
        c->next->previous = c->previous;
    t->n--;
    aoei_mutex_unlock(&t->lock);
    aoei_free(c);
}

size_t aoei_connections_count(aoei_connections *t) {
    aoei_mutex_lock(&t->lock);
    const size_t n = t->n;
    aoei_mutex_unlock(&t->lock);
    return n;
}

int aoei_connections_enter(aoei_connections *t, aoei_connection *c, aoei_phase phase) {
    const uint64_t deadline = deadline_of(t, phase);
    aoei_mutex_lock(&t->lock);
    const int expired = c->phase == AOEI_PHASE_EXPIRED;
    if (!expired) {
        c->phase = phase;
        c->deadline = deadline;
        c->has_ended = 0;
    }
    aoei_mutex_unlock(&t->lock);
    return expired;
}

int aoei_connections_was_slow(aoei_connections *t, const aoei_connection *c) {
    aoei_mutex_lock(&t->lock);
    const int was_slow = c->was_slow;
    aoei_mutex_unlock(&t->lock);
    return was_slow;
}

/* The caller holds the lock. */
static int send_raw(const aoei_connection *c, const char *text, size_t len) {
    return !c->is_tls && c->phase != AOEI_PHASE_EXPIRED &&
           send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

int aoei_connections_send(aoei_connections *t, aoei_connection *c, const char *text, size_t len) {
    aoei_mutex_lock(&t->lock);
    const int sent = send_raw(c, text, len);
    aoei_mutex_unlock(&t->lock);
    return sent;
}

/* Returns 1 if the client has ended its side before its request was complete. libmicrohttpd 0.9.75 does not notice an
 * end that arrives together with the last bytes, because it then neither reads again nor gets another event of epoll.
 * The end must be seen in two calls, because libmicrohttpd may still be processing the last bytes in the first. */
static int is_broken(aoei_connection *c) {
    if (c->phase != AOEI_PHASE_HEADERS && c->phase != AOEI_PHASE_BODY && c->phase != AOEI_PHASE_DISCARD)
        return 0;
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    int unread = 0;
    const int has_ended = poll(&p, 1, 0) > 0 && ioctl(c->fd, FIONREAD, &unread) == 0 && unread == 0;
    const int is_second = has_ended && c->has_ended;
    c->has_ended = has_ended;
    return is_second;
}

void aoei_connections_expire(aoei_connections *t, uint64_t now) {
    static const char body[] = "{\"error\":\"the request did not arrive in time\",\"error_type\":\"Validation\"}";
    char answer[256];
    const int len = snprintf(answer, sizeof answer,
                             "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
                             "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                             sizeof body - 1, body);
    aoei_mutex_lock(&t->lock);
    for (aoei_connection *c = t->first; c; c = c->next) {
        const int broken = is_broken(c);
        if (!broken && (c->deadline == 0 || c->deadline > now))
            continue;
        if (!broken && (c->phase == AOEI_PHASE_HEADERS || c->phase == AOEI_PHASE_BODY))
            (void)send_raw(c, answer, (size_t)len);
        c->was_slow = !broken && c->phase != AOEI_PHASE_IDLE && c->phase != AOEI_PHASE_ANSWER;
        c->phase = AOEI_PHASE_EXPIRED;
        c->deadline = 0;
        (void)shutdown(c->fd, SHUT_RDWR);
    }
    aoei_mutex_unlock(&t->lock);
}
