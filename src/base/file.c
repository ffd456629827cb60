/* SPDX-License-Identifier: MIT
 * Reads and maps files. If another program shortens a mapped file, access to the missing part raises SIGBUS. The
 * functions in this file do not prevent this.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define FIRST_READ ((size_t)64 << 10) /* first buffer size in bytes if the file size is unknown */

/* Reads fd to its end into *data[*size] and appends a NUL. `expected` is an estimate of the size. */
static int read_all(int fd, size_t expected, size_t max_bytes, char **data, size_t *size, const char *path,
                    aoe_error *err) {
    size_t capacity = expected + 1, len = 0;
    char *buffer = aoei_malloc(capacity);
    if (!buffer)
        return aoei_fail_nomem(err, capacity);
    int code = 0;
    for (;;) {
        if (len + 1 >= capacity) {
            size_t wanted = capacity > SIZE_MAX / 2 ? SIZE_MAX : capacity * 2;
            if (wanted < FIRST_READ)
                wanted = FIRST_READ;
            char *larger = aoei_realloc(buffer, wanted);
            if (!larger) {
                code = aoei_fail_nomem(err, wanted);
                goto fail;
            }
            buffer = larger;
            capacity = wanted;
        }
        ssize_t n = read(fd, buffer + len, capacity - 1 - len);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            code = aoei_fail_errno(err, errno, "cannot read %s", path);
            goto fail;
        }
        len += (size_t)n;
        if (max_bytes && len > max_bytes) {
            code = aoei_fail(
                err, AOE_EFORMAT,
                "%s: larger than %zu bytes, the maximum for this kind of file; check that it is the right file", path,
                max_bytes);
            goto fail;
        }
    }
    buffer[len] = 0;
    *data = buffer;
    *size = len;
    return 0;
fail:
    aoei_free(buffer);
    return code;
}

/* Which files a function accepts. */
typedef enum accepted { ACCEPT_ALL, ACCEPT_REGULAR } accepted;

/* Opens a file for reading and sets *fd and *st to the descriptor and the attributes of the file. Returns AOE_EARG for
 * a directory. With ACCEPT_REGULAR, returns AOE_EFORMAT for a pipe, which it does not wait for, and for a device. */
static int open_input(int *fd, struct stat *st, const char *path, accepted kind, aoe_error *err) {
    int f = open(path, O_RDONLY | O_CLOEXEC | (kind == ACCEPT_REGULAR ? O_NONBLOCK : 0));
    if (f < 0)
        return aoei_fail_errno(err, errno, "cannot open %s", path);
    int code = 0;
    if (fstat(f, st))
        code = aoei_fail_errno(err, errno, "cannot read %s", path);
    else if (S_ISDIR(st->st_mode))
        code = aoei_fail(err, AOE_EARG, "%s is a directory; give the path of a file", path);
    else if (kind == ACCEPT_REGULAR && !S_ISREG(st->st_mode))
        code = aoei_fail(err, AOE_EFORMAT, "%s is a %s, but must be a regular file; replace it by the file", path,
                         S_ISFIFO(st->st_mode) ? "pipe" : "device");
    if (code) {
        close(f);
        return code;
    }
    *fd = f;
    return 0;
}

/* Returns an estimate for read_all. For a regular file, it is the size plus 1, so that read_all reaches the end without
 * growing the buffer. For pipes and files in /proc, whose size is unknown, it is 0. */
static size_t expected_size(const struct stat *st) {
    return S_ISREG(st->st_mode) && st->st_size > 0 && (uintmax_t)st->st_size < PTRDIFF_MAX ? (size_t)st->st_size + 1
                                                                                           : 0;
}

static int read_path(char **data, size_t *size, const char *path, size_t max_bytes, accepted kind, aoe_error *err) {
    *data = NULL;
    *size = 0;
    int fd;
    struct stat st;
    int code = open_input(&fd, &st, path, kind, err);
    if (code)
        return code;
    size_t expected = expected_size(&st);
    if (max_bytes && expected > max_bytes && max_bytes < SIZE_MAX - 1)
        expected = max_bytes + 1; /* one byte more than the limit detects a file that is too large */
    code = read_all(fd, expected, max_bytes, data, size, path, err);
    close(fd);
    return code;
}

int aoei_read_file(char **data, size_t *size, const char *path, size_t max_bytes, aoe_error *err) {
    return read_path(data, size, path, max_bytes, ACCEPT_ALL, err);
}

int aoei_read_regular(char **data, size_t *size, const char *path, size_t max_bytes, aoe_error *err) {
    return read_path(data, size, path, max_bytes, ACCEPT_REGULAR, err);
}

static int map_path(aoei_map *m, const char *path, accepted kind, aoe_error *err) {
    *m = (aoei_map){0};
    int fd;
    struct stat st;
    int code = open_input(&fd, &st, path, kind, err);
    if (code)
        return code;
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            m->data = data;
            m->size = (size_t)st.st_size;
            goto done;
        }
    }
    char *copy = NULL;
    code = read_all(fd, expected_size(&st), 0, &copy, &m->size, path, err);
    if (code == 0 && m->size == 0) {
        aoei_free(copy);
    } else if (code == 0) {
        m->handle = copy;
        m->data = (unsigned char *)copy;
    }
done:
    close(fd);
    return code;
}

int aoei_map_open(aoei_map *m, const char *path, aoe_error *err) {
    return map_path(m, path, ACCEPT_ALL, err);
}

int aoei_map_regular(aoei_map *m, const char *path, aoe_error *err) {
    return map_path(m, path, ACCEPT_REGULAR, err);
}

void aoei_map_drop(const aoei_map *m) {
    if (!m->handle && m->data)
        (void)madvise((void *)(uintptr_t)m->data, m->size, MADV_DONTNEED); /* only a hint: errors do not matter */
}

void aoei_map_close(aoei_map *m) {
    if (m->handle)
        aoei_free(m->handle);
    else if (m->data)
        munmap((void *)(uintptr_t)m->data, m->size);
    *m = (aoei_map){0};
}
