/* SPDX-License-Identifier: MIT
 * Reading whole files and writing them so that a name always stands for a
 * complete file: the old one until rename, the new one after. Directories are
 * in file_tree.c. A mapped file that another program shortens faults on
 * access; nothing here protects against that.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define FIRST_READ ((size_t)64 << 10) /* bytes, where the size is not known */
#define NAME_PART  200                /* bytes of the final name kept in the temporary one (NAME_MAX is 255) */
#define NAME_TRIES 100

static _Atomic uint64_t steps;   /* since the last aoei_io_fail_at */
static _Atomic uint64_t fail_at; /* the step that fails; 0: none */
static _Atomic int fail_errno;
static _Atomic unsigned temp_counter; /* keeps the temporary names of this process apart */

void aoei_io_fail_at(uint64_t n, int errnum) {
    atomic_store(&steps, 0);
    atomic_store(&fail_errno, errnum);
    atomic_store(&fail_at, n);
}

uint64_t aoei_io_count(void) {
    return atomic_load(&steps);
}

int aoei_io_step(void) {
    if (atomic_fetch_add(&steps, 1) + 1 != atomic_load(&fail_at))
        return 0;
    errno = atomic_load(&fail_errno);
    return -1;
}

/* Reads fd to its end into *data[*size] plus a NUL. `expected` is a guess of the size. */
static int read_all(int fd, size_t expected, size_t max_bytes, char **data, size_t *size, const char *path, aoe_error *err) {
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
            code = aoei_fail(err, AOE_EFORMAT,
                             "%s: larger than the %zu bytes such a file may have; check that it is the right file", path,
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

/* Opens a file for reading and tells what it is; a directory is refused. */
static int open_input(int *fd, struct stat *st, const char *path, aoe_error *err) {
    int f = open(path, O_RDONLY | O_CLOEXEC);
    if (f < 0)
        return aoei_fail_errno(err, errno, "cannot open %s", path);
    int code = 0;
    if (fstat(f, st))
        code = aoei_fail_errno(err, errno, "cannot read %s", path);
    else if (S_ISDIR(st->st_mode))
        code = aoei_fail(err, AOE_EARG, "%s is a directory; name a file", path);
    if (code) {
        close(f);
        return code;
    }
    *fd = f;
    return 0;
}

/* Size of a regular file, else 0: pipes and files of /proc do not know theirs. One byte more is read, so that the end
 * is seen without growing the buffer. */
static size_t expected_size(const struct stat *st) {
    return S_ISREG(st->st_mode) && st->st_size > 0 && (uintmax_t)st->st_size < PTRDIFF_MAX ? (size_t)st->st_size + 1 : 0;
}

int aoei_read_file(char **data, size_t *size, const char *path, size_t max_bytes, aoe_error *err) {
    *data = NULL;
    *size = 0;
    int fd;
    struct stat st;
    int code = open_input(&fd, &st, path, err);
    if (code)
        return code;
    size_t expected = expected_size(&st);
    if (max_bytes && expected > max_bytes && max_bytes < SIZE_MAX - 1)
        expected = max_bytes + 1; /* enough to see that the file is too large */
    code = read_all(fd, expected, max_bytes, data, size, path, err);
    close(fd);
    return code;
}

int aoei_map_open(aoei_map *m, const char *path, aoe_error *err) {
    *m = (aoei_map){0};
    int fd;
    struct stat st;
    int code = open_input(&fd, &st, path, err);
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

void aoei_map_drop(const aoei_map *m) {
    if (!m->handle && m->data)
        (void)madvise((void *)(uintptr_t)m->data, m->size, MADV_DONTNEED); /* a hint: nothing depends on it */
}

void aoei_map_close(aoei_map *m) {
    if (m->handle)
        aoei_free(m->handle);
    else if (m->data)
        munmap((void *)(uintptr_t)m->data, m->size);
    *m = (aoei_map){0};
}

/* Fills w->temp_path: ".NAME.tmp-PID-N" in the directory of path. */
static int name_temp(aoei_writer *w, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t dir_len = (size_t)(name - path);
    size_t bytes = dir_len + NAME_PART + 64;
    aoei_free(w->temp_path);
    w->temp_path = aoei_malloc(bytes);
    if (!w->temp_path)
        return -1;
    memcpy(w->temp_path, path, dir_len);
    snprintf(w->temp_path + dir_len, bytes - dir_len, ".%.*s.tmp-%ld-%u", NAME_PART, name, (long)getpid(),
             atomic_fetch_add(&temp_counter, 1));
    return 0;
}

/* Creates the temporary file; -1 with errno. A name left behind by a killed process of the same number is skipped. */
static int open_temp(aoei_writer *w, const char *path) {
    for (int i = 0; i < NAME_TRIES; i++) {
        if (name_temp(w, path)) {
            errno = ENOMEM;
            return -1;
        }
        int fd = aoei_io_step() ? -1 : open(w->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int aoei_writer_open(aoei_writer *w, const char *path, aoe_error *err) {
    *w = (aoei_writer){0};
    struct stat st;
    int exists = lstat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return aoei_fail(err, AOE_EARG, "cannot write %s: it exists and is not a regular file; choose another name", path);
    int code = 0, fd = -1;
    w->path = aoei_strdup(path);
    if (!w->path) {
        code = aoei_fail_nomem(err, strlen(path) + 1);
        goto fail;
    }
    fd = open_temp(w, path);
    if (fd < 0) {
        int errnum = errno;
        aoei_free(w->temp_path); /* nothing was created: nothing to remove */
        w->temp_path = NULL;
        code = aoei_fail_errno(err, errnum, "cannot create %s", path);
        goto fail;
    }
    if (exists && S_ISREG(st.st_mode))
        (void)fchmod(fd, st.st_mode & 07777); /* a replaced file keeps its permissions where that is allowed */
    w->file = fdopen(fd, "wb");
    if (!w->file) {
        code = aoei_fail_errno(err, errno, "cannot write %s", path);
        goto fail;
    }
    return 0;
fail:
    if (fd >= 0)
        close(fd);
    aoei_writer_abort(w);
    return code;
}

int aoei_writer_write(aoei_writer *w, const void *data, size_t bytes, aoe_error *err) {
    if (aoei_io_step() || (bytes && fwrite(data, 1, bytes, w->file) != bytes))
        return aoei_fail_errno(err, errno, "cannot write %s", w->path);
    return 0;
}

/* Everything on the disk and the stream closed; -1 with errno. */
static int finish_stream(aoei_writer *w) {
    int errnum = 0;
    errno = 0;
    /* a stream that failed earlier has lost its errno: the flush finds the reason again or EIO stands for it */
    if (aoei_io_step() || fflush(w->file) || ferror(w->file))
        errnum = errno ? errno : EIO;
    else if (aoei_io_step() || fsync(fileno(w->file)))
        errnum = errno;
    errno = 0;
    if (fclose(w->file) && !errnum)
        errnum = errno ? errno : EIO;
    w->file = NULL;
    errno = errnum;
    return errnum ? -1 : 0;
}

int aoei_writer_commit(aoei_writer *w, aoe_error *err) {
    if (finish_stream(w))
        return aoei_fail_errno(err, errno, "cannot write %s", w->path);
    if (aoei_io_step() || rename(w->temp_path, w->path))
        return aoei_fail_errno(err, errno, "cannot move the finished file to %s", w->path);
    aoei_free(w->temp_path); /* it has its final name: abort has nothing left to remove */
    w->temp_path = NULL;
    int code = aoei_sync_parent(w->path, err);
    aoei_writer_abort(w);
    return code;
}

void aoei_writer_abort(aoei_writer *w) {
    if (w->file)
        fclose(w->file);
    if (w->temp_path)
        unlink(w->temp_path);
    aoei_free(w->temp_path);
    aoei_free(w->path);
    *w = (aoei_writer){0};
}

int aoei_write_file(const char *path, const void *data, size_t bytes, aoe_error *err) {
    aoei_writer w;
    int code = aoei_writer_open(&w, path, err);
    if (code == 0)
        code = aoei_writer_write(&w, data, bytes, err);
    if (code == 0)
        code = aoei_writer_commit(&w, err);
    aoei_writer_abort(&w);
    return code;
}
