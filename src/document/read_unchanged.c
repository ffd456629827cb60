/* SPDX-License-Identifier: MIT
 * Compares the size and the time of an open file before and after it was read.
 */
#include "document/read_unchanged.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

/* Reads up to `size` bytes and tests whether the file ends there. Returns the number of bytes read, size + 1 if the
 * file is longer, or -1 with errno set. */
static ssize_t read_all(int fd, char *data, size_t size) {
    size_t n = 0;
    char more;
    for (;;) {
        const ssize_t got = n < size ? read(fd, data + n, size - n) : read(fd, &more, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            return (ssize_t)n;
        n += (size_t)got;
        if (n > size)
            return (ssize_t)n;
    }
}

static int same_contents(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int aoei_read_unchanged(char **data, int fd, const struct stat *before, int *errnum, aoe_error *err) {
    struct stat after;
    const size_t size = (size_t)before->st_size;
    *data = NULL;
    *errnum = 0;
    char *text = aoei_malloc(size + 1);
    if (!text)
        return aoei_fail_nomem(err, size + 1);
    const ssize_t n = read_all(fd, text, size);
    if (n < 0 || fstat(fd, &after)) {
        *errnum = errno;
    } else if ((size_t)n == size && same_contents(before, &after)) {
        text[size] = 0;
        *data = text;
        return 0;
    }
    aoei_free(text);
    return 0;
}
