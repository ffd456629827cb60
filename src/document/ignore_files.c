/* SPDX-License-Identifier: MIT
 * Reads the ignore files of folders. The patterns of a folder form a level; the level of a folder points to the nearest
 * one above that has patterns. Levels above the walked folder compare longer paths than those below it.
 */
#include "document/ignore_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "document/beneath.h"
#include "document/read_unchanged.h"

enum { KINDS = 3 /* kinds of ignore files, in the order of their priority */ };
static const char *const names[KINDS] = {".aoeignore", ".gitignore", ".git/info/exclude"};

struct aoei_ignore_level {
    const aoei_ignore_level *up; /* patterns of the nearest parent that has any; NULL: none */
    aoei_ignore_level *next;     /* list of all levels, for freeing */
    size_t prefix;               /* length of the folder's path with its slash: paths are compared from this byte on */
    int is_above;                /* 1: above the walked folder; paths begin at the top of the repository */
    aoei_ignore list[KINDS];
};

/* Adds the patterns of the file `name` in an open folder, if it exists. path: of the folder, for messages. */
static int read_patterns(aoei_ignore *list, int dir, const char *path, const char *name, aoe_error *err) {
    struct stat st;
    char *text = NULL;
    int errnum = 0;
    const int fd = aoei_open_beneath(dir, name, O_RDONLY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0;
    if (fd < 0 && errno == EACCES && strchr(name, '/'))
        return 0; /* the user may read the files of the repository, but not those of git */
    if (fd < 0)
        return aoei_fail_errno(err, errno, "cannot open %s/%s", path, name);
    int code = fstat(fd, &st) ? aoei_fail_errno(err, errno, "cannot read %s/%s", path, name) : 0;
    if (code == 0 && S_ISREG(st.st_mode) && st.st_size > AOEI_IGNORE_LARGEST)
        code = aoei_fail(err, AOE_EFORMAT, "%s/%s has more than %d bytes; shorten it, or exclude its folder", path,
                         name, AOEI_IGNORE_LARGEST);
    else if (code == 0 && S_ISREG(st.st_mode))
        code = aoei_read_unchanged(&text, fd, &st, &errnum, err);
    close(fd);
    if (code == 0 && errnum)
        code = aoei_fail_errno(err, errnum, "cannot read %s/%s", path, name);
    else if (code == 0 && !text && S_ISREG(st.st_mode))
        code = aoei_fail(err, AOE_EIO, "%s/%s changed while it was read; try again", path, name);
    if (code == 0 && text && (code = aoei_ignore_add_file(list, (aoe_text){text, (size_t)st.st_size}, name, err)))
        (void)aoei_error_prefix(err, "%s", path);
    aoei_free(text);
    return code;
}

/* Adds a level and reads its files. path: of the folder, for messages. Sets *out to the level, or to `up` if the folder
 * has no patterns. */
static int add_level(aoei_ignore_files *f, int fd, const char *path, const aoei_ignore_level *up, size_t prefix,
                     int is_above, const aoei_ignore_level **out, aoe_error *err) {
    aoei_ignore_level *l = aoei_calloc(1, sizeof *l);
    size_t n = 0;
    int code = 0;
    if (!l)
        return aoei_fail_nomem(err, sizeof *l);
    l->up = up;
    l->prefix = prefix;
    l->is_above = is_above;
    l->next = f->level;
    f->level = l;
    for (size_t i = 0; i < KINDS && code == 0; i++) {
        code = read_patterns(&l->list[i], fd, path, names[i], err);
        n += l->list[i].n;
    }
    *out = n ? l : up;
    return code;
}

int aoei_ignore_files_read(aoei_ignore_files *f, int fd, const char *path, const aoei_ignore_level *up,
                           const aoei_ignore_level **level, aoe_error *err) {
    return add_level(f, fd, *path ? path : f->root, up, *path ? strlen(path) + 1 : 0, 0, level, err);
}

/* ------------------------------------------------------------------------- above */

/* Returns 1 if the folder path[len] contains .git: a folder, a link, or a file as in a worktree or a submodule. */
static int has_git(const char *path, size_t len) {
    char git[PATH_MAX + 8];
    struct stat st;
    memcpy(git, path, len);
    memcpy(git + len, "/.git", 6);
    return lstat(git, &st) == 0;
}

/* Returns the length of the path of the nearest folder that contains .git; SIZE_MAX: there is none. The path of the
 * folder / has the length 0. */
static size_t find_top(const char *root) {
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    while (!has_git(root, len)) {
        if (len == 0)
            return SIZE_MAX;
        while (root[--len] != '/')
            ;
    }
    return len;
}

/* Reads the ignore files of the folder root[len], whose path below the top root[top] is one of the levels above. */
static int read_above(aoei_ignore_files *f, size_t top, size_t len, const aoei_ignore_level **above, aoe_error *err) {
    char *path = len ? aoei_strndup(f->root, len) : aoei_strdup("/");
    if (!path)
        return aoei_fail_nomem(err, len);
    const int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int code = 0;
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        code = aoei_fail_errno(err, errno, "cannot open the folder %s", path);
    else if (fd >= 0)
        code = add_level(f, fd, len ? path : "", *above, len > top ? len - top : 0, 1, above, err);
    if (fd >= 0)
        close(fd);
    aoei_free(path);
    return code;
}

int aoei_ignore_files_begin(aoei_ignore_files *f, const char *root, const aoei_ignore_level **above, aoe_error *err) {
    const size_t end = strcmp(root, "/") == 0 ? 0 : strlen(root), top = find_top(root);
    int code = 0;
    f->root = root;
    *above = NULL;
    for (size_t len = top; len < end && code == 0;) {
        code = read_above(f, top, len, above, err);
        const char *slash = memchr(root + len + 1, '/', end - len - 1);
        len = slash ? (size_t)(slash - root) : end;
    }
    if (code || !*above)
        return code;
    f->above = end - top;
    f->capacity = f->above + 2 * PATH_MAX;
    f->full = aoei_malloc(f->capacity);
    if (!f->full)
        return aoei_fail_nomem(err, f->capacity);
    memcpy(f->full, root + top + 1, f->above - 1);
    f->full[f->above - 1] = '/';
    return 0;
}

/* ------------------------------------------------------------------------- matches */

aoei_ignore_match aoei_ignore_files_find(aoei_ignore_files *f, const aoei_ignore_level *level, const char *path,
                                         int is_dir) {
    const size_t len = strnlen(path, 2 * PATH_MAX); /* a path of the walk is shorter than PATH_MAX + NAME_MAX */
    aoei_ignore_match m = AOEI_IGNORE_NONE;
    if (f->full)
        memcpy(f->full + f->above, path, len);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (const aoei_ignore_level *l = level; l && m == AOEI_IGNORE_NONE; l = l->up) {
            const char *whole = l->is_above ? f->full : path;
            const size_t end = l->is_above ? f->above + len : len;
            m = aoei_ignore_find(&l->list[kind], (aoe_text){whole + l->prefix, end - l->prefix}, is_dir);
        }
    return m;
}

void aoei_ignore_files_free(aoei_ignore_files *f) {
    while (f->level) {
        aoei_ignore_level *l = f->level;
        f->level = l->next;
        for (size_t i = 0; i < KINDS; i++)
            aoei_ignore_free(&l->list[i]);
        aoei_free(l);
    }
    aoei_free(f->full);
    *f = (aoei_ignore_files){.root = NULL};
}
