/* SPDX-License-Identifier: MIT
 * Writes files under a temporary name and renames them when they are complete.
 */
#include "base/atomic_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/io_fault.h"
#include "base/path.h"

#define NAME_PART                                                                                                      \
    200 /* maximum bytes of the final name that are copied to the temporary name, because NAME_MAX is 255 */
#define NAME_TRIES 100 /* maximum number of temporary names to try */

static _Atomic unsigned temp_counter; /* counter that makes the temporary names of this process unique */

/* ---- temporary files of killed processes */

static int is_same_file(int fd, int dir, const char *name) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(dir, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Removes a temporary file unless a writer holds its lock. Errors are ignored: the file then remains. */
static void remove_if_stale(int dir, const char *name) {
    const int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same_file(fd, dir, name))
        unlinkat(dir, name, 0);
    close(fd);
}

/* Returns 1 if `name` consists of `prefix` and "PID-N" with two decimal numbers. */
static int is_temp_name(const char *name, const char *prefix) {
    static const char digits[] = "0123456789";
    const size_t len = strlen(prefix);
    if (strncmp(name, prefix, len) != 0)
        return 0;
    name += len;
    const size_t pid = strspn(name, digits);
    if (!pid || name[pid] != '-')
        return 0;
    name += pid + 1;
    const size_t number = strspn(name, digits);
    return number && !name[number];
}

/* Removes temporary files for the final name `target` that killed processes did not remove. Returns -1 if out of
 * memory. */
static int remove_stale(const char *target) {
    char prefix[NAME_PART + 16];
    snprintf(prefix, sizeof prefix, ".%.*s.tmp-", NAME_PART, aoei_path_name(target));
    char *parent = aoei_path_parent(target);
    if (!parent)
        return -1;
    DIR *d = opendir(parent);
    aoei_free(parent);
    if (!d)
        return 0; /* the directory cannot be read, or does not exist */
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (is_temp_name(e->d_name, prefix))
            remove_if_stale(dirfd(d), e->d_name);
    closedir(d);
    return 0;
}

/* ---- opening */

/* Sets w->temp_path to ".NAME.tmp-PID-N" in the directory of the target. Returns -1 if out of memory. */
static int name_temp(aoei_writer *w) {
    const char *name = aoei_path_name(w->target);
    const size_t dir_len = (size_t)(name - w->target);
    const size_t bytes = dir_len + NAME_PART + 64;
    aoei_free(w->temp_path);
    w->temp_path = aoei_malloc(bytes);
    if (!w->temp_path)
        return -1;
    memcpy(w->temp_path, w->target, dir_len);
    snprintf(w->temp_path + dir_len, bytes - dir_len, ".%.*s.tmp-%ld-%u", NAME_PART, name, (long)getpid(),
             atomic_fetch_add(&temp_counter, 1));
    return 0;
}

/* Locks a new temporary file. Returns 0 if another process considered the file stale and removed it before it was
 * locked, otherwise 1. If the file system does not support locks, the function also returns 1: no other process can
 * lock the file either, so none removes it. */
static int lock_temp(int fd) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return 0;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

/* Creates and locks the temporary file. Returns its descriptor, or -1 with errno set. */
static int open_temp(aoei_writer *w) {
    for (int i = 0; i < NAME_TRIES; i++) {
        if (name_temp(w)) {
            errno = ENOMEM;
            return -1;
        }
        const int fd = aoei_io_step() ? -1 : open(w->temp_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0 && lock_temp(fd))
            return fd;
        if (fd >= 0) {
            close(fd);
            errno = EEXIST;
        }
    }
    return -1;
}

/* Opens the temporary file. old: attributes of the file that will be replaced; NULL if there is none. */
static int open_temp_file(aoei_writer *w, const struct stat *old, aoe_error *err) {
    if (remove_stale(w->target))
        return aoei_fail_nomem(err, strlen(w->target));
    w->lock = open_temp(w);
    if (w->lock < 0) {
        const int errnum = errno;
        aoei_free(w->temp_path); /* no temporary file was created, so aoei_writer_abort must not remove one */
        w->temp_path = NULL;
        return aoei_fail_errno(err, errnum, "cannot create %s", w->path);
    }
    if (old)
        (void)fchmod(w->lock, old->st_mode & 07777); /* keeps the permissions if the system allows it */
    /* the stream gets its own descriptor: closing the stream then does not close w->lock, which must stay locked until
     * the rename */
    const int fd = fcntl(w->lock, F_DUPFD_CLOEXEC, 0);
    w->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (w->file)
        return 0;
    const int errnum = errno;
    if (fd >= 0)
        close(fd);
    return aoei_fail_errno(err, errnum, "cannot write %s", w->path);
}

/* Opens a device or a pipe, which is written without a temporary file. */
static int open_in_place(aoei_writer *w, aoe_error *err) {
    w->file = aoei_io_step() ? NULL : fopen(w->target, "wbe");
    return w->file ? 0 : aoei_fail_errno(err, errno, "cannot write %s", w->path);
}

/* Opens w for the file that `path` refers to after all symbolic links are followed. allow_in_place: 1 if the file may
 * be a device or a pipe. */
static int open_writer(aoei_writer *w, const char *path, int allow_in_place, aoe_error *err) {
    *w = (aoei_writer){.path = aoei_strdup(path)};
    struct stat st;
    int code = w->path ? aoei_follow_links(&w->target, path, err) : aoei_fail_nomem(err, strlen(path) + 1);
    if (code == 0) {
        const int exists = lstat(w->target, &st) == 0;
        if (exists && S_ISDIR(st.st_mode))
            code = aoei_fail(err, AOE_EARG, "cannot write %s: it is a directory; give the path of a file", path);
        else if (!exists || S_ISREG(st.st_mode))
            code = open_temp_file(w, exists ? &st : NULL, err);
        else if (allow_in_place)
            code = open_in_place(w, err);
        else
            code = aoei_fail(err, AOE_EARG, "cannot write %s: it is not a regular file; choose another name", path);
    }
    if (code)
        aoei_writer_abort(w);
    return code;
}

int aoei_writer_open(aoei_writer *w, const char *path, aoe_error *err) {
    return open_writer(w, path, 0, err);
}

int aoei_writer_open_output(aoei_writer *w, const char *path, aoe_error *err) {
    return open_writer(w, path, 1, err);
}

/* ---- writing and publishing */

int aoei_writer_write(aoei_writer *w, const void *data, size_t bytes, aoe_error *err) {
    if (aoei_io_step() || (bytes && fwrite(data, 1, bytes, w->file) != bytes))
        return aoei_fail_errno(err, errno, "cannot write %s", w->path);
    return 0;
}

/* Flushes and closes the stream, and syncs it if it is a temporary file. Returns -1 with errno set on failure. */
static int finish_stream(aoei_writer *w) {
    int errnum = 0;
    errno = 0;
    /* the errno of an earlier failed write is no longer known; if the flush does not set errno, EIO is reported */
    if (aoei_io_step() || fflush(w->file) || ferror(w->file))
        errnum = errno ? errno : EIO;
    else if (w->temp_path && (aoei_io_step() || fsync(fileno(w->file))))
        errnum = errno;
    errno = 0;
    if (fclose(w->file) && !errnum)
        errnum = errno ? errno : EIO;
    w->file = NULL;
    errno = errnum;
    return errnum ? -1 : 0;
}

int aoei_writer_finish(aoei_writer *w, aoe_error *err) {
    return finish_stream(w) ? aoei_fail_errno(err, errno, "cannot write %s", w->path) : 0;
}

int aoei_writer_publish(aoei_writer *w, aoe_error *err) {
    int code = 0;
    if (w->temp_path) {
        if (aoei_io_step() || rename(w->temp_path, w->target))
            return aoei_fail_errno(err, errno, "cannot rename the finished file to %s", w->path);
        aoei_free(w->temp_path); /* the file has its final name, so aoei_writer_abort must not remove it */
        w->temp_path = NULL;
        close(w->lock);
        code = aoei_sync_parent(w->target, err);
    }
    aoei_writer_abort(w);
    return code;
}

int aoei_writer_commit(aoei_writer *w, aoe_error *err) {
    const int code = aoei_writer_finish(w, err);
    return code ? code : aoei_writer_publish(w, err);
}

void aoei_writer_abort(aoei_writer *w) {
    if (w->file)
        fclose(w->file);
    if (w->temp_path) {
        unlink(w->temp_path);
        close(w->lock);
    }
    aoei_free(w->temp_path);
    aoei_free(w->target);
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
