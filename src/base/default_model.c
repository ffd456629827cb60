/* SPDX-License-Identifier: MIT
 * Finds the default model, which is used if the user names no model. aoe.h documents where it is searched
 * (aoe_default_model).
 */
#include "aoe.h"
#include "base/check.h"
#include "base/error.h"
#include "base/share_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* A search for the default model. */
typedef struct search {
    char found[PATH_MAX]; /* model directory */
    char searched[600];   /* folders that were searched, separated by ", ", for messages; folders that do not fit are
                             omitted */
} search;

static int search_folder(void *user, const char *folder) {
    search *s = user;
    const size_t used = strlen(s->searched);
    if (used + strlen(folder) + 3 < sizeof s->searched)
        snprintf(s->searched + used, sizeof s->searched - used, "%s%s", used ? ", " : "", folder);
    return find_in(folder, s->found);
}

int aoe_default_model(char *dir, size_t size, aoe_error *err) {
    AOEI_CHECK(err, dir);
    const char *given = getenv("AOE_MODEL");
    search s = {.searched = ""};
    if (!given || !*given) {
        if (!aoei_share_search("models", "models", search_folder, &s))
            return aoei_fail(
                err, AOE_ENOENT,
                "no default model found (searched: %s); give a model directory, or set AOE_MODEL in the environment",
                s.searched);
        given = s.found;
    }
    return aoe_model_find(dir, size, given, err);
}
