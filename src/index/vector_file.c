/* SPDX-License-Identifier: MIT
 * Files of vectors: headers, appending with pwrite, and maps for reading. Every size in a header is compared with the
 * size that the database requires, so a damaged header is never used.
 */
#include "index/vector_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/io_fault.h"
#include "vectors/codes.h"

#define MAGIC           "aoevecs1"
#define VERSION         1
#define BYTE_ORDER_MARK UINT32_C(0x01020304)
#define OTHER_ORDER     UINT32_C(0x04030201)

static const char *const names[] = {[AOEI_VECTORS_CODES] = "codes",
                                    [AOEI_VECTORS_SIGNS] = "signs",
                                    [AOEI_VECTORS_F32] = "values",
                                    [AOEI_VECTORS_BF16] = "values"};

size_t aoei_vector_stride(aoei_vector_type type, size_t dims) {
    switch (type) {
    case AOEI_VECTORS_CODES:
        return aoei_codes_stride(dims);
    case AOEI_VECTORS_SIGNS:
        return aoei_signs_stride(dims);
    case AOEI_VECTORS_F32:
        return 4 * dims;
    default:
        return 2 * dims;
    }
}

char *aoei_vector_path(const char *dir, aoei_vector_type type, uint64_t generation) {
    const size_t size = strlen(dir) + 64;
    char *path = aoei_malloc(size);
    if (path)
        (void)snprintf(path, size, "%s/vectors-%llu.%s", dir, (unsigned long long)generation, names[type]);
    return path;
}

/* Bytes of a file with n rows. Returns -1 if the number overflows. */
static int file_bytes(size_t n, size_t stride, size_t *bytes) {
    return aoei_mul_size(n, stride, bytes) || aoei_add_size(*bytes, AOEI_VECTORS_HEADER, bytes) ||
                   *bytes > (size_t)1 << 62
               ? -1
               : 0;
}

/* ------------------------------------------------------------------ header */

static void put32(unsigned char *at, size_t value) {
    const uint32_t v = (uint32_t)value;
    memcpy(at, &v, sizeof v);
}

static uint32_t get32(const unsigned char *at) {
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void make_header(unsigned char h[AOEI_VECTORS_HEADER], const aoei_vector_header *want) {
    memset(h, 0, AOEI_VECTORS_HEADER);
    memcpy(h, MAGIC, 8);
    put32(h + 8, VERSION);
    put32(h + 12, BYTE_ORDER_MARK);
    put32(h + 16, (size_t)want->type);
    put32(h + 20, want->dims);
    put32(h + 24, want->stride);
    memcpy(h + 32, &want->generation, 8);
    memcpy(h + 40, &want->index_id, 8);
    put32(h + 60, crc32(0, h, 60));
}

static int damaged(const char *path, const char *what, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: the index is damaged: %s; repair the index, or remove its directory and create it again",
                     path, what);
}

/* Compares a header with the one that the file must have. */
static int check_header(const unsigned char h[AOEI_VECTORS_HEADER], const aoei_vector_header *want, const char *path,
                        aoe_error *err) {
    unsigned char expected[AOEI_VECTORS_HEADER];
    make_header(expected, want);
    if (memcmp(h, expected, AOEI_VECTORS_HEADER) == 0)
        return 0;
    if (memcmp(h, MAGIC, 8) != 0)
        return damaged(path, "the file does not begin with the header of a vector file", err);
    if (get32(h + 12) == OTHER_ORDER)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the index was created on a machine with another byte order; create it again on this "
                         "machine",
                         path);
    if (get32(h + 60) != crc32(0, h, 60))
        return damaged(path, "the checksum of the header of this file is wrong", err);
    if (get32(h + 8) != VERSION)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the file has format version %u, but this version of aoe supports only version %d; use a "
                         "newer aoe",
                         path, get32(h + 8), VERSION);
    if (memcmp(h + 40, expected + 40, 8) != 0)
        return damaged(path, "this file belongs to another index", err);
    return damaged(path, "the header of this file does not match the database", err);
}

/* Reads up to `bytes` bytes from an offset. Returns the number of bytes, which is smaller at the end of the file, or
 * -1 with errno set. */
static ssize_t read_at(int fd, void *data, size_t bytes, size_t offset) {
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Checks the header and the size of an open file. *bytes is set to the number of bytes of n rows with the header. */
static int check_file(int fd, const char *path, const aoei_vector_header *h, size_t n, size_t *bytes, aoe_error *err) {
    unsigned char found[AOEI_VECTORS_HEADER];
    struct stat st;
    if (fstat(fd, &st))
        return aoei_fail_errno(err, errno, "%s: cannot read the size of the file", path);
    if (!S_ISREG(st.st_mode))
        return damaged(path, "this is not a file", err);
    const ssize_t got = read_at(fd, found, sizeof found, 0);
    if (got < 0)
        return aoei_fail_errno(err, errno, "%s: cannot read the file", path);
    if ((size_t)got < sizeof found)
        return damaged(path, "the file is truncated", err);
    const int rc = check_header(found, h, path, err);
    if (rc)
        return rc;
    if (file_bytes(n, h->stride, bytes) || (uint64_t)st.st_size < *bytes) {
        char what[128];
        (void)snprintf(what, sizeof what, "this file has %llu bytes, but the %zu vectors of the index need %zu",
                       (unsigned long long)st.st_size, n, *bytes);
        return damaged(path, what, err);
    }
    return 0;
}

/* --------------------------------------------------------------------- map */

int aoei_vectors_map(aoei_vectors *s, const char *path, const aoei_vector_header *h, size_t n, aoe_error *err) {
    *s = (aoei_vectors){.stride = h->stride};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return aoei_fail_errno(err, errno, "%s: cannot open the vectors of the index", path);
    size_t bytes;
    int rc = check_file(fd, path, h, n, &bytes, err);
    if (!rc && n) {
        void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED) {
            rc = errno == ENOMEM ? aoei_fail_nomem(err, bytes)
                                 : aoei_fail_errno(err, errno, "%s: cannot map the vectors of the index", path);
        } else {
            s->map = map;
            s->map_bytes = bytes;
            s->rows = (const unsigned char *)map + AOEI_VECTORS_HEADER;
            s->n = n;
        }
    }
    (void)close(fd);
    return rc;
}

void aoei_vectors_close(aoei_vectors *s) {
    if (s->map)
        (void)munmap(s->map, s->map_bytes);
    *s = (aoei_vectors){0};
}

/* ------------------------------------------------------------------ writing */

static int fail_write(const char *path, aoe_error *err) {
    return aoei_fail_errno(err, errno, "%s: cannot write the vectors of the index", path);
}

static int write_at(const aoei_vector_file *f, const void *data, size_t bytes, size_t offset, aoe_error *err) {
    size_t done = 0;
    while (done < bytes) {
        if (aoei_io_step())
            return fail_write(f->path, err);
        const ssize_t n = pwrite(f->fd, (const char *)data + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_write(f->path, err);
        done += (size_t)n;
    }
    return 0;
}

static int open_file(aoei_vector_file *f, const char *path, int flags, const aoei_vector_header *h, aoe_error *err) {
    *f = (aoei_vector_file){.fd = -1, .stride = h->stride};
    if (!(f->path = aoei_strdup(path)))
        return aoei_fail_nomem(err, strlen(path));
    f->fd = aoei_io_step() ? -1 : open(path, flags | O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
    return f->fd >= 0 ? 0 : aoei_fail_errno(err, errno, "%s: cannot open the vectors of the index", path);
}

int aoei_vector_file_create(aoei_vector_file *f, const char *path, const aoei_vector_header *h, aoe_error *err) {
    unsigned char header[AOEI_VECTORS_HEADER];
    make_header(header, h);
    *f = (aoei_vector_file){.fd = -1};
    /* Never writes into a file that exists, which may have another name outside of the directory. */
    if (aoei_io_step() || (unlink(path) && errno != ENOENT))
        return aoei_fail_errno(err, errno, "%s: cannot replace the vectors of the index", path);
    int rc = open_file(f, path, O_CREAT | O_EXCL, h, err);
    if (!rc)
        rc = write_at(f, header, sizeof header, 0, err);
    if (!rc)
        rc = aoei_vector_file_sync(f, err);
    return rc ? rc : aoei_sync_parent(path, err);
}

int aoei_vector_file_open(aoei_vector_file *f, const char *path, const aoei_vector_header *h, size_t n,
                          aoe_error *err) {
    size_t bytes;
    int rc = open_file(f, path, 0, h, err);
    if (!rc)
        rc = check_file(f->fd, path, h, n, &bytes, err);
    return rc ? rc : aoei_vector_file_truncate(f, n, err);
}

int aoei_vector_file_write(const aoei_vector_file *f, size_t first, const void *rows, size_t count, aoe_error *err) {
    size_t offset, bytes;
    if (file_bytes(first, f->stride, &offset) || aoei_mul_size(count, f->stride, &bytes))
        return aoei_fail(err, AOE_EARG, "%s: the index has too many vectors", f->path);
    return write_at(f, rows, bytes, offset, err);
}

int aoei_vector_file_read(const aoei_vector_file *f, size_t first, void *rows, size_t count, aoe_error *err) {
    size_t offset, bytes;
    if (file_bytes(first, f->stride, &offset) || aoei_mul_size(count, f->stride, &bytes))
        return damaged(f->path, "the number of a vector is too large", err);
    const ssize_t got = read_at(f->fd, rows, bytes, offset);
    if (got < 0)
        return aoei_fail_errno(err, errno, "%s: cannot read the vectors of the index", f->path);
    return (size_t)got == bytes ? 0 : damaged(f->path, "the file is truncated", err);
}

int aoei_vector_file_sync(const aoei_vector_file *f, aoe_error *err) {
    if (aoei_io_step() || fdatasync(f->fd))
        return fail_write(f->path, err);
    return 0;
}

int aoei_vector_file_truncate(const aoei_vector_file *f, size_t n, aoe_error *err) {
    size_t bytes;
    struct stat st;
    if (file_bytes(n, f->stride, &bytes))
        return damaged(f->path, "the number of vectors is too large", err);
    if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size == bytes)
        return 0;
    if (aoei_io_step() || ftruncate(f->fd, (off_t)bytes))
        return fail_write(f->path, err);
    return 0;
}

void aoei_vector_file_close(aoei_vector_file *f) {
    if (f->path && f->fd >= 0)
        (void)close(f->fd);
    aoei_free(f->path);
    *f = (aoei_vector_file){0};
}
