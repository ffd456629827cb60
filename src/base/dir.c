/* SPDX-License-Identifier: MIT
 * Creates, lists, renames and removes directories. Removal uses directory descriptors and never follows a symbolic
 * link. Therefore, a link inside the removed directory cannot cause files outside of it to be removed.
 */
#include "base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/io_fault.h"
#include "base/path.h"
#include "base/sort.h"

int aoei_sync_dir(const char *path, aoe_error *err) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return aoei_fail_errno(err, errno, "cannot open the directory %s", path);
    int errnum = aoei_io_step() || fsync(fd) ? errno : 0;
    close(fd);
    /* some file systems cannot sync a directory, which is not an error */
    if (errnum == 0 || errnum == EINVAL || errnum == ENOTSUP)
        return 0;
    return aoei_fail_errno(err, errnum, "cannot sync the directory %s to disk", path);
}

int aoei_sync_parent(const char *path, aoe_error *err) {
    char *dir = aoei_path_parent(path);
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

/* Creates one directory, unless it exists. */
static int make_one(const char *path, aoe_error *err) {
    if (aoei_is_dir(path))
        return 0;
    if (aoei_io_step() == 0 && mkdir(path, 0777) == 0)
        return 0;
    int errnum = errno;
    if (errnum == EEXIST && aoei_is_dir(path))
        return 0; /* another process created it first */
    if (errnum == EEXIST || errnum == ENOTDIR)
        return aoei_fail(err, AOE_EEXIST,
                         "cannot create the directory %s: a file has this name; remove it or choose another name",
                         path);
    return aoei_fail_errno(err, errnum, "cannot create the directory %s", path);
}

int aoei_make_dir(const char *path, aoe_error *err) {
    if (!*path)
        return aoei_fail(err, AOE_EARG, "the name of a directory is empty; give a name");
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

/* Removes everything in a directory. Returns -1 with errno set on failure. The function reads the directory again until
 * it is empty, because a file system may skip entries of a directory that changes while it is read. */
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

/* Removes an entry, including everything inside it if it is a directory. Returns -1 with errno set on failure. */
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

/* Returns 1 if path is the root directory, or if its last component is "." or "..". Such a path is never removed. */
static int is_dangerous(const char *path) {
    struct stat st, root;
    const char *slash = strrchr(path, '/');
    if (is_dot(slash ? slash + 1 : path))
        return 1;
    return lstat(path, &st) == 0 && stat("/", &root) == 0 && st.st_dev == root.st_dev && st.st_ino == root.st_ino;
}

int aoei_remove_tree(const char *path, aoe_error *err) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') /* a path such as "link/" would follow the link, so trailing slashes are
                                               removed */
        len--;
    char *name = aoei_strndup(path, len);
    if (!name)
        return aoei_fail_nomem(err, len + 1);
    int code = 0;
    if (len == 0 || is_dangerous(name))
        code = aoei_fail(
            err, AOE_EARG,
            "cannot remove \"%s\": the root directory, the current directory and parent directories cannot be removed; "
            "give another path",
            path);
    else if (aoei_io_step() || remove_at(AT_FDCWD, name))
        code = aoei_fail_errno(err, errno, "cannot remove %s", path);
    aoei_free(name);
    return code;
}

/* Tests whether files can be created in `dir`: creates and removes an unnamed file. Returns 0, or the errno of the
 * failure. */
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
    char *path = aoei_path_join(dir, ".aoe-probe-XXXXXX"); /* unnamed files are not supported, so a named one is used */
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
    /* find the nearest parent that exists; a dangling link exists, and stat then reports an error */
    while (lstat(dir, &st) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        char *up = aoei_path_parent(dir);
        aoei_free(dir);
        dir = up;
        if (!dir)
            return aoei_fail_nomem(err, strlen(path) + 1);
    }
    if (stat(dir, &st) != 0) {
        code = aoei_fail_errno(err, errno, "cannot write to %s", dir);
    } else if (!S_ISDIR(st.st_mode)) {
        code = aoei_fail(err, AOE_EEXIST, "cannot write to %s: %s is not a directory; choose another output directory",
                         path, dir);
    } else {
        int errnum = probe_dir(dir);
        if (errnum)
            code = aoei_fail_errno(err, errnum, "cannot write to the directory %s", dir);
    }
    aoei_free(dir);
    return code;
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
        qsort(list, count, sizeof *list, aoei_compare_strings);
    *names = list;
    *n = count;
    return 0;
}

void aoei_list_free(char **names, size_t n) {
    for (size_t i = 0; i < n; i++)
        aoei_free(names[i]);
    aoei_free(names);
}

int aoei_check_free_space(const char *dir, uint64_t needed, const char *what, const char *remedy, aoe_error *err) {
    struct statvfs disk;
    if (statvfs(dir, &disk))
        return 0;
    const uint64_t space = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (needed <= space)
        return 0;
    return aoei_fail(err, AOE_ENOSPC,
                     "%s needs %.1f MiB, but the file system of %s has only %.1f MiB of free space; %s", what,
                     (double)needed / 0x1p20, dir, (double)space / 0x1p20, remedy);
}
