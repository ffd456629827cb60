/* SPDX-License-Identifier: MIT
 * Finds the default model, which is used if the user names no model. aoe.h documents where it is searched (aoe_default_model).
 */
#include "aoe.h"
#include "base/check.h"
#include "base/error.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
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

/* Sets found[PATH_MAX] to the model called "default" in `folder` or, if no model has this name, to the only model in `folder`.
 * Returns 1 if a model was found. */
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

/* Sets folder[PATH_MAX] to `relative`, a path relative to the directory of `file`. Returns 0, or -1 if it does not fit. */
static int resolve(char *folder, const char *file, const char *relative) {
    const char *slash = strrchr(file, '/');
    if (!slash || (size_t)(slash - file) >= PATH_MAX)
        return -1;
    memcpy(folder, file, (size_t)(slash - file));
    folder[slash - file] = 0;
    return append(folder, relative);
}

/* Searches the models that are installed with `file`, the path of the program or the library. Returns 1 and sets
 * found[PATH_MAX] if there is a default model. */
static int find_installed(const char *file, char *found) {
    char folder[PATH_MAX];
    return !resolve(folder, file, "../share/aoe/models") && find_in(folder, found);
}

/* Searches the models of the source tree that contains `file`. include/aoe.h identifies the source tree, so that a folder
 * `models` of another project is not used. Returns 1 and sets found[PATH_MAX] if there is a default model. */
static int find_in_sources(const char *file, char *found) {
    static const char *const trees[][2] = {{"../include/aoe.h", "../models"}, {"../../include/aoe.h", "../../models"}};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        char path[PATH_MAX];
        if (!resolve(path, file, trees[i][0]) && access(path, F_OK) == 0 && !resolve(path, file, trees[i][1]) &&
            find_in(path, found))
            return 1;
    }
    return 0;
}

int aoe_default_model(char *dir, size_t size, aoe_error *err) {
    AOEI_CHECK(err, dir);
    const char *given = getenv("AOE_MODEL");
    char found[PATH_MAX], program[PATH_MAX];
    if (!given || !*given) {
        const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
        Dl_info info;
        const char *library = dladdr((void *)aoe_default_model, &info) && info.dli_fname ? info.dli_fname : "";
        given = found;
        program[n > 0 ? n : 0] = 0;
        if (!find_installed(program, found) && !find_installed(library, found) && !find_in_sources(program, found) &&
            !find_in_sources(library, found))
            return aoei_fail(err, AOE_ENOENT,
                             "no default model found; give a model directory or set AOE_MODEL in the environment");
    }
    const size_t len = strlen(given);
    if (len >= size)
        return aoei_fail(err, AOE_EARG, "aoe_default_model: the path of the default model needs %zu bytes", len + 1);
    memcpy(dir, given, len + 1);
    return 0;
}
