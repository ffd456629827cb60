/* SPDX-License-Identifier: MIT
 * Opens listening sockets, and decides which hosts are allowed.
 */
#include "serve/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

static int copy_names(aoei_listener *l, const char *const *names, size_t n, aoe_error *err) {
    aoei_buffer b = {0};
    for (size_t i = 0; i < n; i++) {
        const aoei_host h = aoei_host_parse(aoe_text_of(names[i]));
        if (strcmp(names[i], "*") == 0) {
            l->allows_all = 1;
            continue;
        }
        if (h.kind == AOEI_HOST_INVALID || h.port.len) {
            aoei_buffer_free(&b);
            return aoei_fail(err, AOE_EARG,
                             "the allowed host '%s' is no host name or address without a port; use a "
                             "name such as example.org, an address such as [::1], or *",
                             names[i]);
        }
        (void)aoei_buffer_append(&b, names[i], strlen(names[i]) + 1);
        l->n_names++;
    }
    l->names = b.data;
    if (!b.failed)
        return 0;
    return aoei_fail_nomem(err, b.len);
}

/* Stores the address and the port of the socket. */
static int describe(aoei_listener *l, aoe_error *err) {
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof a;
    if (getsockname(l->fd, (struct sockaddr *)&a, &len))
        return aoei_fail_errno(err, errno, "cannot read the address of the listening socket");
    if (a.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)&a;
        const uint32_t address = ntohl(v4->sin_addr.s_addr);
        l->port = ntohs(v4->sin_port);
        l->is_wildcard = address == INADDR_ANY;
        l->is_loopback = address >> 24 == 127;
        (void)inet_ntop(AF_INET, &v4->sin_addr, l->address, sizeof l->address);
    } else if (a.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)&a;
        l->port = ntohs(v6->sin6_port);
        l->is_wildcard = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
        l->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, l->address, sizeof l->address);
    } else {
        l->is_loopback = 1;
        (void)snprintf(l->address, sizeof l->address, "unix");
    }
    return 0;
}

int aoei_listener_use(aoei_listener *l, int fd, const char *const *names, size_t n, aoe_error *err) {
    *l = (aoei_listener){.fd = fd};
    int listens = 0, type = 0;
    socklen_t len = sizeof listens, type_len = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) || type != SOCK_STREAM)
        return aoei_fail(err, AOE_EARG, "file descriptor %d is no listening stream socket; check the socket unit", fd);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    const int rc = describe(l, err);
    return rc ? rc : copy_names(l, names, n, err);
}

/* Returns the socket, or -1 with errno. */
static int listen_on(const struct addrinfo *a) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    const int on = 1, off = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 4096) == 0)
        return fd;
    const int errnum = errno;
    (void)close(fd);
    errno = errnum;
    return -1;
}

/* Listens on the first address of the host for which that is possible. */
static int open_socket(const char *host, unsigned port, int *fd, aoe_error *err) {
    const int is_any = strcmp(host, "*") == 0;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char service[16];
    struct addrinfo *list = NULL;
    (void)snprintf(service, sizeof service, "%u", port);
    if (port > 65535)
        return aoei_fail(err, AOE_EARG, "the port %u is greater than 65535", port);
    int code = getaddrinfo(is_any ? "::" : host, service, &hints, &list);
    if (code)
        return aoei_fail(err, AOE_EARG, "the host '%s' is unknown: %s; use an address such as 127.0.0.1", host,
                         gai_strerror(code));
    int errnum = 0;
    *fd = -1;
    for (const struct addrinfo *a = list; a && *fd < 0; a = a->ai_next) {
        *fd = listen_on(a);
        errnum = *fd < 0 && !errnum ? errno : errnum;
    }
    freeaddrinfo(list);
    if (*fd < 0 && is_any && errnum != EADDRINUSE && errnum != EACCES)
        return open_socket("0.0.0.0", port, fd, err);
    if (*fd >= 0)
        return 0;
    return aoei_fail(err, AOE_EIO, "cannot listen on %s, port %u: %s; %s", host, port, strerror(errnum),
                     errnum == EADDRINUSE ? "stop the program that uses the port, or choose another port"
                                          : "choose another address or port");
}

int aoei_listener_open(aoei_listener *l, const char *host, unsigned port, const char *const *names, size_t n,
                       aoe_error *err) {
    *l = (aoei_listener){.fd = -1};
    int fd = -1;
    int rc = open_socket(host ? host : "127.0.0.1", port, &fd, err);
    rc = rc ? rc : aoei_listener_use(l, fd, names, n, err);
    if (rc) {
        aoei_listener_free(l);
        l->fd = -1;
    }
    return rc;
}

int aoei_listener_allows(const aoei_listener *l, aoe_text host) {
    const aoei_host h = aoei_host_parse(host);
    if (h.kind == AOEI_HOST_INVALID)
        return 0;
    if (l->allows_all || (l->is_wildcard && h.kind != AOEI_HOST_NAME) ||
        ((l->is_loopback || l->is_wildcard) && aoei_host_is_loopback(&h)))
        return 1;
    char own[80];
    (void)snprintf(own, sizeof own, strchr(l->address, ':') ? "[%s]" : "%s", l->address);
    aoei_host other = aoei_host_parse(aoe_text_of(own));
    const char *name = l->names;
    for (size_t i = 0; !aoei_host_equal(&h, &other); i++) {
        if (i == l->n_names)
            return 0;
        other = aoei_host_parse(aoe_text_of(name));
        name += strlen(name) + 1;
    }
    return 1;
}

void aoei_listener_close(aoei_listener *l) {
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

void aoei_listener_free(aoei_listener *l) {
    aoei_listener_close(l);
    aoei_free(l->names);
    l->names = NULL;
    l->n_names = 0;
}
