/* SPDX-License-Identifier: MIT
 * Writes the access log.
 */
#include "serve/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

#define PATH_BYTES 256 /* a longer path is truncated */

static int open_file(const char *path, aoe_error *err) {
    if (strcmp(path, "-") == 0)
        return STDOUT_FILENO;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0)
        (void)aoei_fail_errno(err, errno, "%s: cannot open the access log", path);
    return fd;
}

int aoei_access_log_open(aoei_access_log *l, const char *path, aoe_error *err) {
    *l = (aoei_access_log){.fd = -1};
    aoei_mutex_init(&l->lock);
    if (!path)
        return 0;
    aoe_error local = {0};
    const int fd = open_file(path, &local);
    if (fd < 0) {
        if (err)
            *err = local;
        return local.code;
    }
    l->path = aoei_strdup(path);
    l->fd = fd;
    if (l->path)
        return 0;
    if (fd != STDOUT_FILENO)
        (void)close(fd);
    return aoei_fail_nomem(err, strlen(path) + 1);
}

int aoei_access_log_reopen(aoei_access_log *l, aoe_error *err) {
    if (!l->path || strcmp(l->path, "-") == 0)
        return 0;
    aoe_error local = {0};
    const int fd = open_file(l->path, &local);
    if (fd < 0) {
        if (err)
            *err = local;
        return local.code;
    }
    aoei_mutex_lock(&l->lock);
    const int old = l->fd;
    l->fd = fd;
    aoei_mutex_unlock(&l->lock);
    (void)close(old);
    return 0;
}

/* Bytes that are not visible ASCII characters are escaped one by one, so the line is valid JSON for any bytes. */
static void append_string(aoei_buffer *b, const char *key, const char *value, size_t max) {
    (void)aoei_buffer_printf(b, ",\"%s\":\"", key);
    for (size_t i = 0; value[i] && i < max; i++) {
        const unsigned char c = (unsigned char)value[i];
        if (c == '"' || c == '\\' || c < ' ' || c >= 127)
            (void)aoei_buffer_printf(b, "\\u%04x", c);
        else
            (void)aoei_buffer_putc(b, (char)c);
    }
    (void)aoei_buffer_putc(b, '"');
}

static void append_time(aoei_buffer *b) {
    struct timespec now;
    struct tm t;
    char text[32] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &t))
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    (void)aoei_buffer_printf(b, "{\"time\":\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

int aoei_access_log_write(aoei_access_log *l, const aoei_access *a) {
    if (!l->path)
        return 0;
    aoei_buffer b = {0};
    append_time(&b);
    append_string(&b, "remote", a->remote, PATH_BYTES);
    append_string(&b, "method", a->method, PATH_BYTES);
    append_string(&b, "path", a->path, PATH_BYTES);
    (void)aoei_buffer_printf(&b, ",\"status\":%d,\"bytes_in\":%llu,\"bytes_out\":%llu,\"ms\":%.3f", a->status,
                             (unsigned long long)a->bytes_in, (unsigned long long)a->bytes_out, a->seconds * 1e3);
    if (a->model && a->model[0])
        append_string(&b, "model", a->model, PATH_BYTES);
    if (a->texts || a->tokens)
        (void)aoei_buffer_printf(&b, ",\"texts\":%zu,\"tokens\":%zu", a->texts, a->tokens);
    (void)aoei_buffer_printf(&b, "}\n");
    aoei_mutex_lock(&l->lock);
    const int lost = b.failed || write(l->fd, b.data, b.len) != (ssize_t)b.len;
    l->n_lost += (uint64_t)lost;
    aoei_mutex_unlock(&l->lock);
    aoei_buffer_free(&b);
    return lost;
}

void aoei_access_log_close(aoei_access_log *l) {
    if (l->path && strcmp(l->path, "-") != 0)
        (void)close(l->fd);
    if (l->path)
        aoei_mutex_destroy(&l->lock);
    aoei_free(l->path);
    *l = (aoei_access_log){.fd = -1};
}
