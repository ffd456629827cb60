/* SPDX-License-Identifier: MIT
 * Directories: making, listing, renaming, removing, and asking whether files
 * can be put there. Removal goes by directory descriptors and never through a
 * symbolic link, so that a link in a tree cannot lead it outside.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

char *aoei_full_path(const char *path) {
    char full[PATH_MAX];
    return aoei_strdup(realpath(path, full) ? full : path);
}

int aoei_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

int aoei_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *aoei_path_join(const char *dir, const char *name) {
    aoei_buffer b = {0};
    size_t len = strlen(dir);
    aoei_buffer_append(&b, dir, len);
    if (len > 0 && dir[len - 1] != '/')
        aoei_buffer_putc(&b, '/');
    aoei_buffer_append(&b, name, strlen(name));
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

/* The directory part of path ("." when there is none), owned by the caller; NULL: no memory. */
static char *parent_of(const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    return len == 0 ? aoei_strdup(".") : aoei_strndup(path, len);
}

int aoei_sync_dir(const char *path, aoe_error *err) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return aoei_fail_errno(err, errno, "cannot open the directory %s", path);
    int errnum = aoei_io_step() || fsync(fd) ? errno : 0;
    close(fd);
    /* some file systems cannot sync a directory; then there is nothing more to do */
    if (errnum == 0 || errnum == EINVAL || errnum == ENOTSUP)
        return 0;
    return aoei_fail_errno(err, errnum, "cannot write the directory %s", path);
}

int aoei_sync_parent(const char *path, aoe_error *err) {
    char *dir = parent_of(path);
    if (!dir)
        return aoei_fail_nomem(err, strlen(path) + 1);
    int code = aoei_sync_dir(dir, err);
    aoei_free(dir);
    return code;
}

int aoei_rename(const char *from, const char *to, aoe_error *err) {
    if (aoei_io_step() || rename(from, to))
        return aoei_fail_errno(err, errno, "cannot rename %s to %s", from, to);
    return aoei_sync_parent(to, err);
}

/* One level; an existing directory is fine. */
static int make_one(const char *path, aoe_error *err) {
    if (aoei_is_dir(path))
        return 0;
    if (aoei_io_step() == 0 && mkdir(path, 0777) == 0)
        return 0;
    int errnum = errno;
    if (errnum == EEXIST && aoei_is_dir(path))
        return 0; /* another process was faster */
    if (errnum == EEXIST || errnum == ENOTDIR)
        return aoei_fail(err, AOE_EEXIST,
                         "cannot make the directory %s: a file is in the way; remove it or choose another name", path);
    return aoei_fail_errno(err, errnum, "cannot make the directory %s", path);
}

int aoei_make_dir(const char *path, aoe_error *err) {
    if (!*path)
        return aoei_fail(err, AOE_EARG, "the name of a directory is empty; name one");
    char *copy = aoei_strdup(path);
    if (!copy)
        return aoei_fail_nomem(err, strlen(path) + 1);
    int code = 0;
    for (char *p = copy + 1; code == 0 && *p; p++) {
        if (*p != '/' || p[-1] == '/')
            continue;
        *p = 0;
        code = make_one(copy, err);
        *p = '/';
    }
    if (code == 0)
        code = make_one(copy, err);
    aoei_free(copy);
    return code;
}

static int is_dot(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_at(int parent, const char *name);

/* Empties a directory; -1 with errno. Passes are repeated until one finds nothing: a file system may skip entries of
 * a directory that changes while it is read. */
static int empty_dir(DIR *d) {
    for (int removed = 1; removed;) {
        removed = 0;
        rewinddir(d);
        for (;;) {
            errno = 0;
            const struct dirent *e = readdir(d);
            if (!e && errno)
                return -1;
            if (!e)
                break;
            if (is_dot(e->d_name))
                continue;
            if (remove_at(dirfd(d), e->d_name))
                return -1;
            removed = 1;
        }
    }
    return 0;
}

/* Removes an entry and what is below it; -1 with errno. */
static int remove_at(int parent, const char *name) {
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(st.st_mode))
        return unlinkat(parent, name, 0) && errno != ENOENT ? -1 : 0;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    DIR *d = fdopendir(fd);
    if (!d) {
        int errnum = errno;
        close(fd);
        errno = errnum;
        return -1;
    }
    int failed = empty_dir(d);
    int errnum = errno;
    closedir(d);
    errno = errnum;
    return failed ? -1 : unlinkat(parent, name, AT_REMOVEDIR);
}

/* 1 when the path is the root directory or the current one, or one of its parents by "..": never meant. */
static int is_dangerous(const char *path) {
    struct stat st, root;
    const char *slash = strrchr(path, '/');
    if (is_dot(slash ? slash + 1 : path))
        return 1;
    return lstat(path, &st) == 0 && stat("/", &root) == 0 && st.st_dev == root.st_dev && st.st_ino == root.st_ino;
}

int aoei_remove_tree(const char *path, aoe_error *err) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') /* "link/" would follow the link */
        len--;
    char *name = aoei_strndup(path, len);
    if (!name)
        return aoei_fail_nomem(err, len + 1);
    int code = 0;
    if (len == 0 || is_dangerous(name))
        code = aoei_fail(err, AOE_EARG, "refusing to remove \"%s\"; name a file or directory below another one", path);
    else if (aoei_io_step() || remove_at(AT_FDCWD, name))
        code = aoei_fail_errno(err, errno, "cannot remove %s", path);
    aoei_free(name);
    return code;
}

/* Makes and removes a nameless file; 0 or an errno. */
static int probe_dir(const char *dir) {
    if (aoei_io_step())
        return errno;
    int fd = open(dir, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return errno;
    char *path = aoei_path_join(dir, ".aoe-probe-XXXXXX"); /* the file system has no nameless files */
    if (!path)
        return ENOMEM;
    int errnum = 0;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        errnum = errno;
    } else {
        close(fd);
        unlink(path);
    }
    aoei_free(path);
    return errnum;
}

int aoei_check_writable_dir(const char *path, aoe_error *err) {
    char *dir = aoei_strdup(*path ? path : ".");
    if (!dir)
        return aoei_fail_nomem(err, strlen(path) + 1);
    int code = 0;
    struct stat st;
    /* up to the nearest thing that exists; a link to nowhere does exist and is in the way */
    while (lstat(dir, &st) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        char *up = parent_of(dir);
        aoei_free(dir);
        dir = up;
        if (!dir)
            return aoei_fail_nomem(err, strlen(path) + 1);
    }
    if (stat(dir, &st) != 0) {
        code = aoei_fail_errno(err, errno, "cannot write to %s", dir);
    } else if (!S_ISDIR(st.st_mode)) {
        code = aoei_fail(err, AOE_EEXIST, "cannot write to %s: %s is not a directory; remove it or choose another name", path,
                         dir);
    } else {
        int errnum = probe_dir(dir);
        if (errnum)
            code = aoei_fail_errno(err, errnum, "cannot write to the directory %s", dir);
    }
    aoei_free(dir);
    return code;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int aoei_list_dir(char ***names, size_t *n, const char *path, aoe_error *err) {
    *names = NULL;
    *n = 0;
    DIR *d = opendir(path);
    if (!d)
        return aoei_fail_errno(err, errno, "cannot open the directory %s", path);
    char **list = NULL;
    size_t count = 0, capacity = 0;
    int code = 0;
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e && errno)
            code = aoei_fail_errno(err, errno, "cannot read the directory %s", path);
        if (!e)
            break;
        if (is_dot(e->d_name))
            continue;
        if (aoei_grow((void **)&list, &capacity, count, sizeof *list) || !(list[count] = aoei_strdup(e->d_name))) {
            code = aoei_fail_nomem(err, (count + 1) * sizeof *list);
            break;
        }
        count++;
    }
    closedir(d);
    if (code) {
        aoei_list_free(list, count);
        return code;
    }
    if (count > 1)
        qsort(list, count, sizeof *list, compare_names);
    *names = list;
    *n = count;
    return 0;
}

void aoei_list_free(char **names, size_t n) {
    for (size_t i = 0; i < n; i++)
        aoei_free(names[i]);
    aoei_free(names);
}

int aoei_lock_dir(aoei_lock *lock, const char *dir, aoe_error *err) {
    *lock = (aoei_lock){0};
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return aoei_fail_errno(err, errno, "cannot open the directory %s", dir);
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        const int code =
            errno == EWOULDBLOCK
                ? aoei_fail(err, AOE_EEXIST, "%s: another run writes there; wait for it or choose another directory", dir)
                : aoei_fail_errno(err, errno, "cannot lock the directory %s", dir);
        close(fd);
        return code;
    }
    *lock = (aoei_lock){.held = 1, .fd = fd};
    return 0;
}

void aoei_unlock(aoei_lock *lock) {
    if (lock->held)
        close(lock->fd);
    *lock = (aoei_lock){0};
}

int aoei_path_within(const char *path, const char *dir) {
    char full[PATH_MAX], outer[PATH_MAX];
    if (!path || !dir || !realpath(path, full) || !realpath(dir, outer))
        return 0;
    const size_t n = strlen(outer);
    return !strncmp(full, outer, n) && (full[n] == 0 || full[n] == '/' || outer[n - 1] == '/');
}

int aoei_same_path(const char *a, const char *b) {
    struct stat x, y;
    return a && b && !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
