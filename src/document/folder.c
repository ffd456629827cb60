/* SPDX-License-Identifier: MIT
 * Lists and reads the files of a folder. The walk has a list of pending folders instead of a recursion, so the depth of
 * a folder is limited only by PATH_MAX. Symbolic links are followed after all other files are known, in the order of
 * their paths, so that the result does not depend on the order in which the file system lists names.
 */
#include "document/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/distinct.h"
#include "base/error.h"
#include "base/path.h"
#include "base/utf8.h"
#include "document/beneath.h"
#include "document/ignore.h"
#include "document/ignore_files.h"
#include "document/read_unchanged.h"

/* A folder or a symbolic link that the walk has not visited. */
typedef struct pending {
    const char *path, *real;     /* as in aoei_file */
    const aoei_ignore_level *up; /* patterns of its parent */
} pending;

typedef struct pending_list {
    pending *item; /* [n] owned */
    size_t n, capacity;
} pending_list;

typedef struct walk {
    aoei_folder *f;
    const aoei_folder_options *o;
    aoei_ignore exclude;      /* patterns of the options */
    aoei_ignore_files ignore; /* patterns of the ignore files */
    pending_list folders;     /* folders to visit; the last one is next */
    pending_list links;       /* links that were found */
    aoei_distinct visited;    /* (device, inode) of the folders */
    aoei_distinct files;      /* (device, inode) of all files; used only while links are followed */
    int follows_links;        /* 1: the walk has begun to follow links */
    struct stat skip;         /* directory of the index */
    const char *skip_prefix;  /* path of this directory below the folder; NULL: it is not inside */
    char skip_path[PATH_MAX];
} walk;

static int add_pending(pending_list *list, pending item, aoe_error *err) {
    if (aoei_grow((void **)&list->item, &list->capacity, list->n, sizeof *list->item))
        return aoei_fail_nomem(err, (list->n + 1) * sizeof *list->item);
    list->item[list->n++] = item;
    return 0;
}

/* ------------------------------------------------------------------ list of files */

/* Returns "dir/name", or "name" if dir is empty; owned by the folder. */
static const char *join(aoei_folder *f, const char *dir, const char *name, aoe_error *err) {
    const size_t n = strlen(dir), m = strlen(name);
    char *path = aoei_chunks_take(&f->text, n + m + 2);
    if (!path) {
        (void)aoei_fail_nomem(err, n + m + 2);
        return NULL;
    }
    memcpy(path, dir, n);
    if (n)
        path[n] = '/';
    memcpy(path + n + (n != 0), name, m + 1);
    return path;
}

static void set_times(aoei_file *file, const struct stat *st) {
    file->size = (uint64_t)st->st_size;
    file->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    file->ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
    file->inode = (uint64_t)st->st_ino;
    file->device = (uint64_t)st->st_dev;
}

/* Adds the pair (device, inode) to a set. Sets *is_new to 0 if the set contained it. */
static int add_inode(aoei_distinct *set, uint64_t device, uint64_t inode, int *is_new, aoe_error *err) {
    const uint64_t key[2] = {device, inode};
    const size_t n = set->n;
    size_t index;
    const int code = aoei_distinct_add(set, (aoe_text){(const char *)key, sizeof key}, 0, &index, err);
    *is_new = set->n > n;
    return code;
}

static int append_file(aoei_folder *f, const aoei_file *file, aoe_error *err) {
    if (aoei_grow((void **)&f->file, &f->capacity, f->n, sizeof *f->file))
        return aoei_fail_nomem(err, (f->n + 1) * sizeof *f->file);
    f->file[f->n++] = *file;
    return 0;
}

static int add_skipped(walk *w, const char *path, const char *real, aoei_skip skip, int errnum, aoe_error *err) {
    return append_file(w->f, &(aoei_file){.path = path, .real = real, .skip = skip, .errnum = errnum}, err);
}

/* Adds a regular file, unless links are followed and the file is already known. */
static int add_file(walk *w, const char *path, const char *real, const struct stat *st, aoe_error *err) {
    aoei_file file = {.path = path, .real = real};
    set_times(&file, st);
    if (w->follows_links) {
        int is_new;
        const int code = add_inode(&w->files, file.device, file.inode, &is_new, err);
        if (code || !is_new)
            return code;
    }
    if (file.size > AOEI_FILE_LARGEST)
        file.skip = AOEI_SKIP_LARGE;
    return append_file(w->f, &file, err);
}

static int compare_files(const void *a, const void *b) {
    return strcmp(((const aoei_file *)a)->path, ((const aoei_file *)b)->path);
}

static int compare_pending(const void *a, const void *b) {
    return strcmp(((const pending *)a)->path, ((const pending *)b)->path);
}

/* ------------------------------------------------------------------ what is skipped */

/* Returns 1 if `name` is a folder of version control. */
static int is_version_control(const char *name, size_t len) {
    static const char *const names[] = {".git", ".hg", ".svn", ".bzr", ".jj", ".pijul", "_darcs", "CVS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return 1;
    return 0;
}

/* Returns 1 if a path contains a folder of version control, or is inside the directory of the index. */
static int is_internal(const walk *w, const char *path) {
    const size_t n = w->skip_prefix ? strlen(w->skip_prefix) : 0;
    if (n && strncmp(path, w->skip_prefix, n) == 0 && (path[n] == 0 || path[n] == '/'))
        return 1;
    for (const char *p = path; *p;) {
        const size_t len = strcspn(p, "/");
        if (is_version_control(p, len))
            return 1;
        p += len + (p[len] == '/');
    }
    return 0;
}

/* Returns 1 if the name is valid UTF-8 without control characters: C0, DEL, C1, and the line separators. */
static int is_valid_name(const char *name) {
    const size_t len = strlen(name);
    if (aoei_utf8_valid(name, len) < len)
        return 0;
    for (size_t i = 0; i < len;) {
        uint32_t c;
        i += aoei_utf8_decode(name + i, len - i, &c);
        if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
            return 0;
    }
    return 1;
}

/* The patterns of the options have priority over the ignore files. */
static int is_excluded(walk *w, const aoei_ignore_level *levels, const char *path, int is_dir) {
    aoei_ignore_match m = aoei_ignore_find(&w->exclude, aoe_text_of(path), is_dir);
    if (m == AOEI_IGNORE_NONE)
        m = aoei_ignore_files_find(&w->ignore, levels, path, is_dir);
    return m == AOEI_IGNORE_EXCLUDED;
}

/* ------------------------------------------------------------------ reading files */

/* Reads an open file once. Sets file->skip to AOEI_SKIP_CHANGING if it changed. */
static int read_once(int fd, aoei_file *file, char **data, aoe_error *err) {
    struct stat st;
    file->skip = AOEI_SKIP_UNREADABLE;
    if (fstat(fd, &st)) {
        file->errnum = errno;
        return 0;
    }
    set_times(file, &st);
    if (!S_ISREG(st.st_mode) || file->size > AOEI_FILE_LARGEST) {
        file->skip = S_ISREG(st.st_mode) ? AOEI_SKIP_LARGE : AOEI_SKIP_SPECIAL;
        return 0;
    }
    const int code = aoei_read_unchanged(data, fd, &st, &file->errnum, err);
    if (!code)
        file->skip = *data ? AOEI_SKIP_NONE : file->errnum ? AOEI_SKIP_UNREADABLE : AOEI_SKIP_CHANGING;
    return code;
}

int aoei_folder_read(const aoei_folder *f, aoei_file *file, char **data, aoe_error *err) {
    int code = 0;
    *data = NULL;
    file->skip = AOEI_SKIP_CHANGING;
    for (int attempt = 0; attempt < 2 && code == 0 && file->skip == AOEI_SKIP_CHANGING; attempt++) {
        /* the file is opened again, because it may have been replaced by a new one */
        const int fd = aoei_open_beneath(f->fd, file->real, O_RDONLY);
        if (fd < 0) {
            file->errnum = errno;
            file->skip = errno == ELOOP ? AOEI_SKIP_LINK : AOEI_SKIP_UNREADABLE;
            if (errno == ENXIO) /* a socket, or a device without hardware */
                file->skip = AOEI_SKIP_SPECIAL;
            return 0;
        }
        code = read_once(fd, file, data, err);
        close(fd);
    }
    return code;
}

void aoei_folder_stat(const aoei_folder *f, aoei_file *file) {
    struct stat st;
    const int fd = aoei_open_beneath(f->fd, file->real, O_PATH);
    if (fd < 0 || fstat(fd, &st)) {
        file->errnum = errno;
        file->skip = AOEI_SKIP_UNREADABLE;
    } else {
        set_times(file, &st);
        if (!S_ISREG(st.st_mode))
            file->skip = AOEI_SKIP_SPECIAL;
    }
    if (fd >= 0)
        close(fd);
}

/* ------------------------------------------------------------------------- walk */

/* Adds one name of an open folder. */
static int visit_entry(walk *w, int fd, const pending *folder, const aoei_ignore_level *levels, const struct dirent *e,
                       aoe_error *err) {
    struct stat st = {.st_mode = DTTOIF(e->d_type)};
    const int is_known = e->d_type != DT_UNKNOWN && e->d_type != DT_REG;
    if (e->d_name[0] == '.')
        return 0;
    if (!is_known && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT)
            return 0;
        st.st_mode = 0;
    }
    const int errnum = st.st_mode ? 0 : errno, is_dir = S_ISDIR(st.st_mode);
    if (is_dir && is_version_control(e->d_name, strlen(e->d_name)))
        return 0;
    const char *path = join(w->f, folder->path, e->d_name, err), *real = path;
    if (path && folder->real != folder->path)
        real = join(w->f, folder->real, e->d_name, err);
    if (!path || !real)
        return AOE_ENOMEM;
    if (is_excluded(w, levels, path, is_dir))
        return 0;
    if (!is_valid_name(e->d_name) || strlen(path) >= PATH_MAX || strlen(real) >= PATH_MAX)
        return add_skipped(w, path, real, AOEI_SKIP_NAME, 0, err);
    if (is_dir)
        return add_pending(&w->folders, (pending){path, real, levels}, err);
    if (S_ISLNK(st.st_mode))
        return add_pending(&w->links, (pending){path, real, levels}, err);
    if (S_ISREG(st.st_mode))
        return add_file(w, path, real, &st, err);
    return add_skipped(w, path, real, st.st_mode ? AOEI_SKIP_SPECIAL : AOEI_SKIP_UNREADABLE, errnum, err);
}

/* Reads the names of an open folder, and closes fd. */
static int visit_names(walk *w, int fd, const pending *folder, aoe_error *err) {
    const aoei_ignore_level *levels = NULL;
    DIR *d = fdopendir(fd);
    if (!d) {
        const int code = aoei_fail_errno(err, errno, "cannot read the folder %s/%s", w->f->root, folder->real);
        close(fd);
        return code;
    }
    int code = aoei_ignore_files_read(&w->ignore, fd, folder->path, folder->up, &levels, err);
    while (code == 0) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e && errno)
            code = aoei_fail_errno(err, errno, "cannot read the folder %s/%s", w->f->root, folder->real);
        if (!e)
            break;
        code = visit_entry(w, fd, folder, levels, e, err);
    }
    closedir(d);
    return code;
}

/* Visits a folder, unless it was visited before or is the directory of the index. */
static int visit_folder(walk *w, const pending *folder, aoe_error *err) {
    struct stat st;
    int is_new;
    if (w->o->progress && w->o->progress(w->o->user, w->f->n))
        return aoei_fail(err, AOE_ECANCELLED, "cancelled while listing the files of %s", w->f->root);
    const int fd = aoei_open_beneath(w->f->fd, folder->real, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && (errno == EACCES || errno == EPERM)) {
        const int errnum = errno;
        const char *path = join(w->f, folder->path, "", err);
        return path ? add_skipped(w, path, path, AOEI_SKIP_UNREADABLE, errnum, err) : AOE_ENOMEM;
    }
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0; /* removed or replaced since it was listed */
    if (fd < 0 || fstat(fd, &st)) {
        const int code = aoei_fail_errno(err, errno, "cannot open the folder %s/%s", w->f->root, folder->real);
        if (fd >= 0)
            close(fd);
        return code;
    }
    const int is_index = w->skip.st_ino && st.st_dev == w->skip.st_dev && st.st_ino == w->skip.st_ino;
    const int code = add_inode(&w->visited, (uint64_t)st.st_dev, (uint64_t)st.st_ino, &is_new, err);
    if (code || !is_new || is_index) {
        close(fd);
        return code;
    }
    return visit_names(w, fd, folder, err);
}

static int visit_folders(walk *w, aoe_error *err) {
    int code = 0;
    while (code == 0 && w->folders.n) {
        const pending next = w->folders.item[--w->folders.n];
        code = visit_folder(w, &next, err);
    }
    return code;
}

/* Resolves a link. Sets *real to the path of its target relative to the folder, owned by the folder, and *st. Sets
 * *real to NULL and *errnum (0: outside) if the link must not be followed. */
static int resolve_link(walk *w, const pending *link, const char **real, struct stat *st, int *errnum, aoe_error *err) {
    char full[PATH_MAX];
    aoei_folder *f = w->f;
    const size_t n = strcmp(f->root, "/") == 0 ? 0 : strlen(f->root);
    *real = NULL;
    *errnum = 0;
    char *path = aoei_path_join(f->root, link->real);
    if (!path)
        return aoei_fail_nomem(err, n + strlen(link->real) + 2);
    const char *resolved = realpath(path, full);
    *errnum = resolved ? 0 : errno;
    aoei_free(path);
    if (!resolved || strncmp(full, f->root, n) != 0 || (full[n] && full[n] != '/'))
        return 0;
    const char *relative = full + n + (full[n] == '/');
    if (is_internal(w, relative))
        return 0;
    const int fd = aoei_open_beneath(f->fd, relative, O_PATH);
    const int failed = fd < 0 || fstat(fd, st);
    *errnum = failed ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (failed)
        return 0;
    *real = join(f, "", relative, err);
    return *real ? 0 : AOE_ENOMEM;
}

/* Returns 1 if a file or one of the folders that contain it is hidden. */
static int is_hidden(const char *path) {
    return *path == '.' || strstr(path, "/.") != NULL;
}

static int follow_link(walk *w, const pending *link, aoe_error *err) {
    const char *real;
    struct stat st = {.st_mode = 0};
    int errnum;
    const int code = resolve_link(w, link, &real, &st, &errnum, err);
    if (code || (real && is_hidden(real)))
        return code;
    if (real && S_ISDIR(st.st_mode))
        return is_excluded(w, link->up, link->path, 1)
                   ? 0
                   : add_pending(&w->folders, (pending){link->path, real, link->up}, err);
    if (real && S_ISREG(st.st_mode))
        return add_file(w, link->path, real, &st, err);
    return add_skipped(w, link->path, link->real, real ? AOEI_SKIP_SPECIAL : AOEI_SKIP_LINK, errnum, err);
}

/* Follows all links, and the links in the folders to which they lead. The walk ends, because each folder is visited at
 * most once. */
static int follow_links(walk *w, aoe_error *err) {
    int code = 0, is_new;
    w->follows_links = 1;
    for (size_t i = 0; i < w->f->n && w->links.n && code == 0; i++)
        if (w->f->file[i].inode)
            code = add_inode(&w->files, w->f->file[i].device, w->f->file[i].inode, &is_new, err);
    while (code == 0 && w->links.n) {
        pending_list batch = w->links;
        w->links = (pending_list){.n = 0};
        qsort(batch.item, batch.n, sizeof *batch.item, compare_pending);
        for (size_t i = 0; i < batch.n && code == 0; i++)
            if ((code = follow_link(w, &batch.item[i], err)) == 0)
                code = visit_folders(w, err);
        aoei_free(batch.item);
    }
    return code;
}

/* Sets the directory that is skipped. */
static void set_skip(walk *w) {
    const size_t n = strlen(w->f->root);
    if (!w->o->skip || stat(w->o->skip, &w->skip) || !realpath(w->o->skip, w->skip_path))
        return;
    if (strncmp(w->skip_path, w->f->root, n) == 0 && w->skip_path[n] == '/')
        w->skip_prefix = w->skip_path + n + 1;
}

static int run_walk(walk *w, aoe_error *err) {
    const aoei_ignore_level *above = NULL;
    int code = 0;
    set_skip(w);
    for (size_t i = 0; i < w->o->n_exclude && code == 0; i++)
        if ((code = aoei_ignore_add(&w->exclude, aoe_text_of(w->o->exclude[i]), err)))
            (void)aoei_error_prefix(err, "pattern %zu of exclude", i + 1);
    if (code == 0)
        code = aoei_ignore_files_begin(&w->ignore, w->f->root, &above, err);
    if (code == 0)
        code = add_pending(&w->folders, (pending){"", "", above}, err);
    if (code == 0)
        code = visit_folders(w, err);
    if (code == 0)
        code = follow_links(w, err);
    if (code == 0 && w->f->n > 1)
        qsort(w->f->file, w->f->n, sizeof *w->f->file, compare_files);
    return code;
}

static void free_walk(walk *w) {
    aoei_ignore_files_free(&w->ignore);
    aoei_ignore_free(&w->exclude);
    aoei_free(w->folders.item);
    aoei_free(w->links.item);
    aoei_distinct_free(&w->visited);
    aoei_distinct_free(&w->files);
}

/* Opens a folder without listing its files. */
static int open_root(aoei_folder **out, const char *path, aoe_error *err) {
    char full[PATH_MAX];
    *out = NULL;
    if (!realpath(path, full))
        return aoei_fail_errno(err, errno, "cannot open the folder %s", path);
    aoei_folder *f = aoei_calloc(1, sizeof *f);
    if (!f || !(f->root = aoei_strdup(full))) {
        aoei_free(f);
        return aoei_fail_nomem(err, sizeof *f);
    }
    f->fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd >= 0) {
        *out = f;
        return 0;
    }
    const int errnum = errno;
    aoei_folder_close(f);
    if (errnum == ENOTDIR)
        return aoei_fail(err, AOE_EARG, "%s is not a folder; give the path of a folder", path);
    return aoei_fail_errno(err, errnum, "cannot open the folder %s", path);
}

int aoei_folder_open(aoei_folder **out, const char *path, const aoei_folder_options *o, aoe_error *err) {
    int code = open_root(out, path, err);
    if (code)
        return code;
    walk *w = aoei_calloc(1, sizeof *w);
    if (w) {
        w->f = *out;
        w->o = o;
        code = run_walk(w, err);
        free_walk(w);
        aoei_free(w);
    } else {
        code = aoei_fail_nomem(err, sizeof *w);
    }
    if (code) {
        aoei_folder_close(*out);
        *out = NULL;
    }
    return code;
}

int aoei_folder_open_file(aoei_folder **out, const char *path, aoe_error *err) {
    char full[PATH_MAX];
    *out = NULL;
    if (!realpath(path, full))
        return aoei_fail_errno(err, errno, "cannot open %s", path);
    char *parent = aoei_path_parent(full);
    if (!parent)
        return aoei_fail_nomem(err, strlen(full));
    int code = open_root(out, parent, err);
    aoei_free(parent);
    if (code)
        return code;
    aoei_folder *f = *out;
    const char *name = join(f, "", aoei_path_name(full), err);
    aoei_file file = {.path = name, .real = name};
    if (!name) {
        code = AOE_ENOMEM;
    } else {
        aoei_folder_stat(f, &file);
        if (file.skip == AOEI_SKIP_UNREADABLE)
            code = aoei_fail_errno(err, file.errnum, "cannot open %s", path);
        else if (file.skip)
            code = aoei_fail(err, AOE_EARG, "%s is neither a folder nor a regular file; give another path", path);
        else if (!is_valid_name(name))
            code = aoei_fail(err, AOE_EARG,
                             "the name of %s contains control characters or is not valid UTF-8; "
                             "rename the file",
                             path);
        else
            code = append_file(f, &file, err);
    }
    if (code) {
        aoei_folder_close(f);
        *out = NULL;
    }
    return code;
}

void aoei_folder_close(aoei_folder *f) {
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    aoei_chunks_free(&f->text);
    aoei_free(f->file);
    aoei_free(f->root);
    aoei_free(f);
}

char *aoei_folder_full_path(const aoei_folder *f, const aoei_file *file) {
    return aoei_path_join(f->root, file->real);
}

const char *aoei_skip_text(aoei_skip skip) {
    switch (skip) {
    case AOEI_SKIP_UNREADABLE:
        return "cannot be read";
    case AOEI_SKIP_NAME:
        return "has a name with control characters or invalid UTF-8, or a path that is too long";
    case AOEI_SKIP_SPECIAL:
        return "is a device, a FIFO or a socket";
    case AOEI_SKIP_LINK:
        return "is a symbolic link to a missing file or to a file outside the folder";
    case AOEI_SKIP_LARGE:
        return "has more than 256 MiB";
    case AOEI_SKIP_CHANGING:
        return "changed while it was read";
    case AOEI_SKIP_BINARY:
        return "is a binary file";
    default:
        return "";
    }
}
