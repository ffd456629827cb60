/* SPDX-License-Identifier: MIT
 * Finds the default model, which is used if the user names no model. aoe.h documents where it is searched
 * (aoe_default_model).
 */
#include "aoe.h"
#include "base/check.h"
#include "base/error.h"
#include "base/source_tree.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Appends "/NAME" to path[PATH_MAX]. Returns 0, or -1 if the result does not fit. */
static int append(char *path, const char *name) {
    const size_t len = strlen(path), more = strlen(name);
    if (len + more + 2 > PATH_MAX)
        return -1;
    path[len] = '/';
    memcpy(path + len + 1, name, more + 1);
    return 0;
}

static int is_model(const char *dir) {
    char config[PATH_MAX];
    struct stat st;
    memcpy(config, dir, strlen(dir) + 1);
    return !append(config, "config.json") && stat(config, &st) == 0 && S_ISREG(st.st_mode);
}

/* Sets found[PATH_MAX] to the model called "default" in `folder` or, if no model has this name, to the only model in
 * `folder`. Returns 1 if a model was found. */
static int find_in(const char *folder, char *found) {
    memcpy(found, folder, strlen(folder) + 1);
    if (!append(found, "default") && is_model(found))
        return 1;
    DIR *d = opendir(folder);
    size_t n = 0;
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[PATH_MAX];
        memcpy(path, folder, strlen(folder) + 1);
        if (e->d_name[0] != '.' && !append(path, e->d_name) && is_model(path) && n++ == 0)
            memcpy(found, path, strlen(path) + 1);
    }
    if (d)
        closedir(d);
    return n == 1;
}

/* Sets folder[PATH_MAX] to `relative`, a path relative to the directory of `file`. Returns 0, or -1 if it does not
 * fit. */
static int resolve(char *folder, const char *file, const char *relative) {
    const char *slash = strrchr(file, '/');
    if (!slash || (size_t)(slash - file) >= PATH_MAX)
        return -1;
    memcpy(folder, file, (size_t)(slash - file));
    folder[slash - file] = 0;
    return append(folder, relative);
}

/* A search for the default model. */
typedef struct search {
    char found[PATH_MAX]; /* directory of the model if `done` is 1 */
    int done;             /* 1: the model was found */
    char searched[600]; /* folders that were searched, separated by ", ", for messages; folders that do not fit are left
                           out */
} search;

static void search_folder(search *s, const char *folder) {
    const size_t used = strlen(s->searched);
    if (s->done)
        return;
    if (used + strlen(folder) + 3 < sizeof s->searched)
        snprintf(s->searched + used, sizeof s->searched - used, "%s%s", used ? ", " : "", folder);
    s->done = find_in(folder, s->found);
}

/* Searches the models that are installed with `file`, the path of the program or the library. */
static void search_installed(search *s, const char *file) {
    char folder[PATH_MAX];
    if (!resolve(folder, file, "../share/aoe/models"))
        search_folder(s, folder);
}

/* Searches the models of the source tree that contains `file`. include/aoe.h identifies the source tree, so that a
 * folder `models` of another project is not used. */
static void search_sources(search *s, const char *file) {
    static const char *const trees[][2] = {{"../include/aoe.h", "../models"}, {"../../include/aoe.h", "../../models"}};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char path[PATH_MAX];
        if (!resolve(path, file, trees[i][0]) && access(path, F_OK) == 0 && !resolve(path, file, trees[i][1]))
            search_folder(s, path);
    }
}

/* Searches the system's data directories, as the XDG Base Directory Specification defines them. The defaults are the
 * data directories of the usual values of PREFIX. */
static void search_data_dirs(search *s) {
    const char *at = getenv("XDG_DATA_DIRS");
    for (at = at && *at ? at : "/usr/local/share:/usr/share"; *at; at += *at == ':') {
        char folder[PATH_MAX];
        size_t n = strcspn(at, ":");
        const char *end = at + n;
        while (n > 1 && at[n - 1] == '/')
            n--;
        if (*at == '/' && n < PATH_MAX) { /* the specification ignores relative paths */
            memcpy(folder, at, n);
            folder[n] = 0;
            if (!append(folder, "aoe/models"))
                search_folder(s, folder);
        }
        at = end;
    }
}

/* Searches the source tree in which the library was built. Only a program that is linked with libaoe.a outside of this
 * tree reaches it. */
static void search_build_tree(search *s) {
    char file[PATH_MAX];
    if (*aoei_source_tree && snprintf(file, sizeof file, "%s/build/aoe", aoei_source_tree) < (int)sizeof file)
        search_sources(s, file);
}

static int is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int aoe_default_model(char *dir, size_t size, aoe_error *err) {
    AOEI_CHECK(err, dir);
    const char *given = getenv("AOE_MODEL");
    search s = {.done = 0};
    if (!given || !*given) {
        char program[PATH_MAX];
        const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
        Dl_info info;
        const char *library = dladdr((void *)aoe_default_model, &info) && info.dli_fname ? info.dli_fname : "";
        program[n > 0 ? n : 0] = 0;
        search_installed(&s, program);
        if (!is_same_file(library, program))
            search_installed(&s, library);
        search_sources(&s, program);
        search_sources(&s, library);
        search_data_dirs(&s);
        search_build_tree(&s);
        if (!s.done)
            return aoei_fail(
                err, AOE_ENOENT,
                "no default model found (searched: %s); give a model directory, or set AOE_MODEL in the environment",
                s.searched);
        given = s.found;
    }
    const size_t len = strlen(given);
    if (len >= size)
        return aoei_fail(err, AOE_EARG, "aoe_default_model: the path of the default model needs %zu bytes", len + 1);
    memcpy(dir, given, len + 1);
    return 0;
}
