/* SPDX-License-Identifier: MIT
 * Tests socket activation and notifications of systemd with sockets of the test.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/clock.h"
#include "serve/systemd.h"

static aoe_error err;

static void set_listen(const char *pid, const char *fds) {
    char own[32];
    snprintf(own, sizeof own, "%ld", (long)getpid());
    setenv("LISTEN_PID", pid ? pid : own, 1);
    setenv("LISTEN_FDS", fds, 1);
}

static void sockets_are_received(void **state) {
    (void)state;
    int fd = 7;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    assert_int_equal(aoei_systemd_socket(&fd, &err), 0);
    assert_int_equal(fd, -1);
    set_listen("1", "1"); /* for another process */
    assert_int_equal(aoei_systemd_socket(&fd, &err), 0);
    assert_int_equal(fd, -1);
    set_listen(NULL, "0");
    assert_int_equal(aoei_systemd_socket(&fd, &err), 0);
    assert_int_equal(fd, -1);
    const int saved = dup(3), listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener != 3)
        assert_int_equal(dup2(listener, 3), 3);
    set_listen(NULL, "1");
    assert_int_equal(aoei_systemd_socket(&fd, &err), 0);
    assert_int_equal(fd, 3);
    assert_true(fcntl(3, F_GETFD) & FD_CLOEXEC);
    set_listen(NULL, "2");
    assert_int_equal(aoei_systemd_socket(&fd, &err), AOE_EARG);
    assert_int_equal(fd, -1);
    set_listen(NULL, "-1");
    assert_int_equal(aoei_systemd_socket(&fd, &err), AOE_EARG);
    set_listen("x", "1");
    assert_int_equal(aoei_systemd_socket(&fd, &err), AOE_EARG);
    close(3);
    set_listen(NULL, "1");
    assert_int_equal(aoei_systemd_socket(&fd, &err), AOE_EARG);
    if (saved >= 0)
        dup2(saved, 3);
    if (listener != 3)
        close(listener);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
}

/* Receives one datagram. */
static const char *hear(int fd) {
    static char text[1024];
    const ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void messages(const char *name, const struct sockaddr_un *a, socklen_t size) {
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)a, size), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    assert_int_equal(aoei_systemd_ready(&err), 0);
    assert_string_equal(hear(fd), "READY=1");
    assert_int_equal(aoei_systemd_stopping(&err), 0);
    assert_string_equal(hear(fd), "STOPPING=1");
    assert_int_equal(aoei_systemd_status("two\nmodels", &err), 0);
    assert_string_equal(hear(fd), "STATUS=two?models");
    const double before = aoei_now();
    assert_int_equal(aoei_systemd_reloading(&err), 0);
    const char *text = hear(fd);
    assert_int_equal(strncmp(text, "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
    const double time = strtod(text + 27, NULL) * 1e-6;
    assert_true(time >= before - 1e-5 && time <= aoei_now());
    close(fd);
    assert_int_equal(aoei_systemd_ready(&err), AOE_EIO);
    unsetenv("NOTIFY_SOCKET");
}

static void systemd_is_notified(void **state) {
    (void)state;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const int len = snprintf(a.sun_path, sizeof a.sun_path, "%s/notify", test_dir);
    assert_true(len > 0 && (size_t)len < sizeof a.sun_path);
    messages(a.sun_path, &a, sizeof a);
    char name[64];
    snprintf(name, sizeof name, "@aoe-test-%ld", (long)getpid());
    a = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(a.sun_path + 1, name + 1, strlen(name) - 1);
    messages(name, &a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)));
}

static void other_processes_are_not_notified(void **state) {
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(aoei_systemd_ready(&err), 0);
    setenv("NOTIFY_SOCKET", "", 1);
    assert_int_equal(aoei_systemd_ready(&err), 0);
    setenv("NOTIFY_SOCKET", "relative", 1);
    assert_int_equal(aoei_systemd_ready(&err), AOE_EARG);
    char large[300];
    memset(large, '/', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    setenv("NOTIFY_SOCKET", large, 1);
    assert_int_equal(aoei_systemd_ready(&err), AOE_EARG);
    unsetenv("NOTIFY_SOCKET");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_are_received),
        cmocka_unit_test(systemd_is_notified),
        cmocka_unit_test(other_processes_are_not_notified),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
