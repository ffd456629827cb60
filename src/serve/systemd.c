/* SPDX-License-Identifier: MIT
 * Reads the variables of systemd, and sends datagrams to its notification socket.
 */
#include "serve/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

/* Reads a number of digits. Returns 0, or 1 if the text is none or the number is greater than max. */
static int read_number(const char *text, long max, long *number) {
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return errno || text[0] < '0' || text[0] > '9' || *end || *number > max;
}

int aoei_systemd_socket(int *fd, aoe_error *err) {
    *fd = -1;
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    long process = 0, n = 0;
    if (!pid || !fds)
        return 0;
    if (read_number(pid, INT32_MAX, &process) || read_number(fds, 1024, &n))
        return aoei_fail(err, AOE_EARG, "LISTEN_PID=%s, LISTEN_FDS=%s: one of these variables is no number; unset them",
                         pid, fds);
    if (process != (long)getpid() || n == 0)
        return 0; /* the variables are for another process, or there is no socket */
    if (n > 1)
        return aoei_fail(err, AOE_EARG, "the socket unit has %ld sockets; use one ListenStream", n);
    if (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC))
        return aoei_fail(err, AOE_EARG, "LISTEN_FDS is 1, but file descriptor %d is not open; check the socket unit",
                         FIRST_FD);
    *fd = FIRST_FD;
    return 0;
}

/* A name that begins with '@' is one of the abstract sockets of Linux, whose address begins with a NUL. */
static int notify(const char *message, aoe_error *err) {
    const char *name = getenv("NOTIFY_SOCKET");
    if (!name || !*name)
        return 0;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const size_t len = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof a.sun_path)
        return aoei_fail(err, AOE_EARG, "NOTIFY_SOCKET=%s is no path and no abstract socket; unset it", name);
    memcpy(a.sun_path, name, len);
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/'));
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return aoei_fail_errno(err, errno, "cannot create a socket to notify systemd");
    const ssize_t sent =
        sendto(fd, message, strlen(message), MSG_NOSIGNAL, (const struct sockaddr *)(const void *)&a, size);
    const int errnum = errno;
    (void)close(fd);
    if (sent == (ssize_t)strlen(message))
        return 0;
    return aoei_fail(err, AOE_EIO, "NOTIFY_SOCKET=%s: cannot notify systemd: %s; check the service", name,
                     strerror(errnum));
}

int aoei_systemd_ready(aoe_error *err) {
    return notify("READY=1", err);
}

/* systemd compares the time with that of its request to reload (Type=notify-reload). */
int aoei_systemd_reloading(aoe_error *err) {
    char message[80];
    (void)snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%llu",
                   (unsigned long long)(aoei_now_ns() / 1000));
    return notify(message, err);
}

int aoei_systemd_stopping(aoe_error *err) {
    return notify("STOPPING=1", err);
}

int aoei_systemd_status(const char *text, aoe_error *err) {
    char message[512] = "STATUS=";
    const size_t len = strlen(message);
    (void)snprintf(message + len, sizeof message - len, "%s", text);
    (void)aoei_one_line(message, strlen(message));
    return notify(message, err);
}
