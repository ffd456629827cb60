/* SPDX-License-Identifier: MIT
 * Accepts connections. If an error lasts, such as a lack of file descriptors, the thread tries again ten times a
 * second, and connections wait in the queue of the system meanwhile.
 */
#include "serve/acceptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define TICK_MS         200 /* time between two checks of deadlines */
#define PAUSE_MS        100 /* time without accepting after an error */
#define WARNING_SECONDS 60.0
#define BURST           64 /* connections that are accepted between two checks of deadlines */

static void pause_accepting(aoei_acceptor *a, const char *reason) {
    const double now = aoei_now();
    a->paused_until = now + PAUSE_MS * 1e-3;
    if (a->warned > 0 && now < a->warned + WARNING_SECONDS)
        return;
    a->warned = now;
    aoei_log_write(a->log, AOE_LOG_WARNING,
                   "cannot accept connections: %s; further clients have to wait (%zu connections are open)", reason,
                   atomic_load(&a->open));
}

/* Errors that concern only the new connection (accept(2)). */
static int is_of_connection(int errnum) {
    return errnum == EINTR || errnum == ECONNABORTED || errnum == EPROTO || errnum == ENETDOWN || errnum == EHOSTDOWN ||
           errnum == EHOSTUNREACH || errnum == ENETUNREACH || errnum == ENOPROTOOPT;
}

/* libmicrohttpd closes the socket if it fails. */
static void add(aoei_acceptor *a, int fd, const struct sockaddr *address, socklen_t len) {
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)atomic_fetch_add(&a->open, 1);
    if (aoei_mhd.add_connection(a->daemon, fd, address, len) == MHD_YES)
        return;
    (void)atomic_fetch_sub(&a->open, 1);
    pause_accepting(a, "libmicrohttpd rejected a connection");
}

static void accept_some(aoei_acceptor *a) {
    for (int i = 0; i < BURST && atomic_load(&a->open) < a->max_connections; i++) {
        struct sockaddr_storage address;
        socklen_t len = sizeof address;
        const int fd = accept4(a->listener->fd, (struct sockaddr *)&address, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        const int errnum = fd < 0 ? errno : 0;
        if (fd >= 0) {
            add(a, fd, (struct sockaddr *)&address, len);
        } else if (errnum == EAGAIN || errnum == EWOULDBLOCK) {
            return;
        } else if (!is_of_connection(errnum)) {
            pause_accepting(a, strerror(errnum));
            return;
        }
    }
}

static void run(void *arg) {
    aoei_acceptor *a = arg;
    while (!atomic_load(&a->stops)) {
        if (atomic_load(&a->drains))
            aoei_listener_close(a->listener);
        const int is_full = atomic_load(&a->open) >= a->max_connections, is_paused = aoei_now() < a->paused_until;
        struct pollfd p[2] = {{.fd = a->wake, .events = POLLIN},
                              {.fd = is_full || is_paused ? -1 : a->listener->fd, .events = POLLIN}};
        const int wait = is_full || is_paused ? PAUSE_MS : atomic_load(&a->open) ? TICK_MS : -1;
        (void)poll(p, 2, wait);
        if (p[1].revents)
            accept_some(a);
        aoei_connections_expire(a->connections, aoei_now_ns());
        uint64_t count;
        if (p[0].revents && read(a->wake, &count, sizeof count) < 0)
            continue;
    }
    aoei_listener_close(a->listener);
}

int aoei_acceptor_start(aoei_acceptor *a, aoe_error *err) {
    a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->wake < 0)
        return aoei_fail_errno(err, errno, "cannot create a file descriptor for the thread that accepts connections");
    const int rc = aoei_thread_start(&a->thread, run, a, err);
    if (rc)
        (void)close(a->wake);
    return rc;
}

void aoei_acceptor_closed(aoei_acceptor *a) {
    (void)atomic_fetch_sub(&a->open, 1);
}

static void wake(const aoei_acceptor *a) {
    const uint64_t one = 1;
    (void)!write(a->wake, &one, sizeof one);
}

void aoei_acceptor_drain(aoei_acceptor *a) {
    atomic_store(&a->drains, 1);
    wake(a);
}

void aoei_acceptor_stop(aoei_acceptor *a) {
    if (!a->thread.started)
        return;
    atomic_store(&a->stops, 1);
    wake(a);
    aoei_thread_join(&a->thread);
    (void)close(a->wake);
}

size_t aoei_raise_open_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit more = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &more) == 0)
            limit = more;
    }
    return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)limit.rlim_cur;
}
