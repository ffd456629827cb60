/* SPDX-License-Identifier: MIT
 * Joins, compares and resolves paths.
 */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

#define MAX_LINKS 40 /* maximum number of symbolic links to follow, as in Linux */

int aoei_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

int aoei_check_optional_file(const char *path, aoe_error *err) {
    struct stat st;
    if (lstat(path, &st))
        return errno == ENOENT || errno == ENOTDIR ? 0 : aoei_fail_errno(err, errno, "cannot open %s", path);
    if (S_ISLNK(st.st_mode) && !aoei_exists(path))
        return aoei_fail(err, AOE_ENOENT,
                         "%s: this symbolic link leads to a missing file; download the file again, or remove the link",
                         path);
    if (aoei_is_dir(path))
        return aoei_fail(err, AOE_EFORMAT, "%s: this is a directory, but must be a file; download the model again",
                         path);
    return 0;
}

int aoei_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int aoei_has_other_owner(const char *path, uid_t user) {
    struct stat link, st;
    if (lstat(path, &link))
        return 0;
    if (stat(path, &st))
        st = link; /* a link to a missing file */
    return (link.st_uid != user && link.st_uid != 0) || (st.st_uid != user && st.st_uid != 0);
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

const char *aoei_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int aoei_path_extension(const char *path, char ext[AOEI_EXTENSION_BYTES]) {
    const char *name = aoei_path_name(path), *dot = strrchr(name, '.');
    ext[0] = 0;
    if (!dot || dot == name || strlen(dot + 1) >= AOEI_EXTENSION_BYTES)
        return 0;
    for (size_t i = 0; dot[i]; i++) {
        const char c = dot[i + 1];
        ext[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return ext[0] != 0;
}

int aoei_name_ends_with(const char *name, const char *end) {
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Returns the last component of a path without trailing slashes. */
static aoe_text last_component(const char *path) {
    size_t end = strlen(path), begin;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
        ;
    return begin < end ? (aoe_text){path + begin, end - begin} : (aoe_text){path, end};
}

char *aoei_path_label(const char *const *paths, size_t n, size_t i) {
    const aoe_text name = last_component(paths[i]);
    for (size_t k = 0; k < n; k++) {
        const aoe_text other = last_component(paths[k]);
        if (strcmp(paths[k], paths[i]) != 0 && other.len == name.len && memcmp(other.data, name.data, name.len) == 0)
            return aoei_strdup(paths[i]);
    }
    return aoei_strndup(name.data, name.len);
}

char *aoei_path_parent(const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    return len == 0 ? aoei_strdup(".") : aoei_strndup(path, len);
}

char *aoei_full_path(const char *path) {
    char full[PATH_MAX];
    return aoei_strdup(realpath(path, full) ? full : path);
}

int aoei_same_path(const char *a, const char *b) {
    struct stat x, y;
    return a && b && !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int aoei_path_within(const char *path, const char *dir) {
    char full[PATH_MAX], outer[PATH_MAX];
    if (!path || !dir || !realpath(path, full) || !realpath(dir, outer))
        return 0;
    const size_t n = strlen(outer);
    return !strncmp(full, outer, n) && (full[n] == 0 || full[n] == '/' || outer[n - 1] == '/');
}

/* Returns the path that a symbolic link contains, owned by the caller, or NULL with errno set. */
static char *read_link(const char *path) {
    char text[PATH_MAX];
    const ssize_t n = readlink(path, text, sizeof text);
    if (n < 0)
        return NULL;
    if ((size_t)n == sizeof text) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    char *copy = aoei_strndup(text, (size_t)n);
    if (!copy)
        errno = ENOMEM;
    return copy;
}

/* Replaces *path, an allocated string, by the path that the symbolic link *path contains. Returns -1 with errno set on
 * failure.
 */
static int follow_link(char **path) {
    char *text = read_link(*path);
    char *dir = text && *text != '/' ? aoei_path_parent(*path) : NULL;
    char *next = dir ? aoei_path_join(dir, text) : NULL;
    const int relative = text && *text != '/';
    if (!text || (relative && !next)) {
        const int errnum = text ? ENOMEM : errno;
        aoei_free(text);
        aoei_free(dir);
        errno = errnum;
        return -1;
    }
    aoei_free(*path);
    aoei_free(dir);
    *path = relative ? next : text;
    if (relative)
        aoei_free(text);
    return 0;
}

int aoei_follow_links(char **target, const char *path, aoe_error *err) {
    struct stat st;
    int errnum = 0;
    *target = aoei_strdup(path);
    if (!*target)
        return aoei_fail_nomem(err, strlen(path) + 1);
    for (int links = 0; errnum == 0 && lstat(*target, &st) == 0 && S_ISLNK(st.st_mode); links++)
        if (links == MAX_LINKS)
            errnum = ELOOP;
        else if (follow_link(target))
            errnum = errno;
    if (errnum == 0)
        return 0;
    aoei_free(*target);
    *target = NULL;
    return aoei_fail_errno(err, errnum, "cannot follow the symbolic link %s", path);
}

int aoei_path_is_foreign(const char *path, const char *dir) {
    char full[PATH_MAX];
    if (!realpath(path, full) || strcmp(full, path) != 0)
        return 1;
    char *own = aoei_full_path(dir), *folder = own ? aoei_path_parent(own) : NULL;
    const int is_inside = !folder || aoei_path_within(full, folder);
    aoei_free(folder);
    aoei_free(own);
    return is_inside;
}
