/* SPDX-License-Identifier: MIT
 * Searches the folders of shared files, relative to the program, the library and the data directories of the system.
 */
#include "base/share_files.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/source_tree.h"

typedef struct search {
    const char *name, *source; /* folder in PREFIX/share/aoe, and in a source tree */
    aoei_share_try try_folder;
    void *user; /* first argument of try_folder */
    int done;   /* 1: the files were found */
} search;

/* Tries the folder `relative`, a path relative to the directory of `file`. */
static void try_relative(search *s, const char *file, const char *relative, const char *name) {
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    const int directory = slash ? (int)(slash - file) : 0;
    if (!s->done && slash &&
        snprintf(folder, sizeof folder, "%.*s/%s/%s", directory, file, relative, name) < (int)sizeof folder)
        s->done = s->try_folder(s->user, folder);
}

/* Searches the source tree that contains `file`. include/aoe.h identifies the source tree, so that a folder of another
 * project is not used. */
static void try_sources(search *s, const char *file) {
    static const char *const roots[] = {"..", "../.."};
    const char *slash = strrchr(file, '/');
    for (size_t i = 0; slash && i < sizeof roots / sizeof *roots; i++) {
        char header[PATH_MAX];
        const int n = snprintf(header, sizeof header, "%.*s/%s/include/aoe.h", (int)(slash - file), file, roots[i]);
        if (n < (int)sizeof header && access(header, F_OK) == 0)
            try_relative(s, file, roots[i], s->source);
    }
}

/* Searches the system's data directories, as the XDG Base Directory Specification defines them. The defaults are the
 * data directories of the usual values of PREFIX. */
static void try_data_dirs(search *s) {
    const char *at = getenv("XDG_DATA_DIRS");
    for (at = at && *at ? at : "/usr/local/share:/usr/share"; *at && !s->done; at += *at == ':') {
        char folder[PATH_MAX];
        const size_t n = strcspn(at, ":");
        int length = (int)n;
        while (length > 1 && at[length - 1] == '/')
            length--;
        /* the specification ignores relative paths */
        if (*at == '/' && n < PATH_MAX &&
            snprintf(folder, sizeof folder, "%.*s/aoe/%s", length, at, s->name) < (int)sizeof folder)
            s->done = s->try_folder(s->user, folder);
        at += n;
    }
}

static int is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int aoei_share_search(const char *name, const char *source, aoei_share_try try_folder, void *user) {
    search s = {.name = name, .source = source, .try_folder = try_folder, .user = user};
    char program[PATH_MAX], build[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    Dl_info info;
    const char *library = dladdr((void *)aoei_share_search, &info) && info.dli_fname ? info.dli_fname : "";
    program[n > 0 ? n : 0] = 0;
    try_relative(&s, program, "../share/aoe", name);
    if (!is_same_file(library, program))
        try_relative(&s, library, "../share/aoe", name);
    try_sources(&s, program);
    try_sources(&s, library);
    try_data_dirs(&s);
    /* only a program that is linked with libaoe.a outside of the source tree finds nothing until here */
    if (*aoei_source_tree && snprintf(build, sizeof build, "%s/build/aoe", aoei_source_tree) < (int)sizeof build)
        try_sources(&s, build);
    return s.done;
}
