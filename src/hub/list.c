/* SPDX-License-Identifier: MIT
 * Implements aoe_hub_list: reads the directories of the Hub's cache.
 */
#include <string.h>
#include <sys/stat.h>

#include "aoe_hub.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/path.h"
#include "modeldir/model_kind.h"

#define PREFIX "models--"
#define LEVELS 8 /* maximum number of levels of directories that are read */

typedef struct listing {
    aoe_hub_entry_fn entry;
    void *user;
    aoe_error *err;
} listing;

/* Adds the sizes of the files in a directory to *bytes. Symbolic links are followed. */
static int add_sizes(uint64_t *bytes, const char *dir, int levels, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    int rc = aoei_list_dir(&names, &n, dir, err);
    for (size_t i = 0; i < n && !rc; i++) {
        struct stat st;
        char *path = aoei_path_join(dir, names[i]);
        if (!path)
            rc = aoei_fail_nomem(err, strlen(dir));
        else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && levels > 0)
            rc = add_sizes(bytes, path, levels - 1, err);
        else if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            *bytes += (uint64_t)st.st_size;
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return rc;
}

/* Appends the names of the references in DIR that contain the commit. name: path of DIR inside refs, "" or ending in
 * '/'. */
static int add_references(aoei_buffer *out, const char *folder, const char *name, const char *commit, int levels,
                          aoe_error *err) {
    aoei_buffer dir = {0};
    char **names = NULL, at[AOEI_HUB_COMMIT + 1];
    size_t n = 0;
    (void)aoei_buffer_printf(&dir, "%s/refs/%s", folder, name);
    int rc = dir.failed              ? aoei_fail_nomem(err, 0)
             : aoei_is_dir(dir.data) ? aoei_list_dir(&names, &n, dir.data, err)
                                     : 0;
    for (size_t i = 0; i < n && !rc; i++) {
        aoei_buffer inside = {0};
        (void)aoei_buffer_printf(&inside, "%s%s", name, names[i]);
        char *path = inside.failed ? NULL : aoei_path_join(dir.data, names[i]);
        if (!path)
            rc = aoei_fail_nomem(err, 0);
        else if (aoei_is_dir(path) && levels > 0 && !aoei_buffer_putc(&inside, '/'))
            rc = add_references(out, folder, inside.data, commit, levels - 1, err);
        else if (aoei_hub_commit(at, folder, inside.data) && strcmp(at, commit) == 0)
            (void)aoei_buffer_printf(out, "%s%s", out->len ? ", " : "", inside.data);
        aoei_free(path);
        aoei_buffer_free(&inside);
    }
    aoei_list_free(names, n);
    aoei_buffer_free(&dir);
    return rc || !out->failed ? rc : aoei_fail_nomem(err, 0);
}

/* Opens the files of the model, and sets *kind. Returns 0, or an error whose message explains why aoe cannot open the
 * model. */
static int check_opens(aoei_model_kind *kind, const char *dir, aoe_error *why) {
    aoei_model_files f;
    aoei_encoder_config c = {0};
    int rc = aoei_model_files_open(&f, &c, dir, NULL, 0, why);
    if (!rc)
        rc = aoei_model_kind_check(kind, &f, &c, why);
    aoei_model_files_close(&f);
    return rc;
}

static int list_snapshot(const listing *l, const char *name, const char *folder, const char *commit) {
    aoei_buffer dir = {0}, references = {0};
    aoe_error why;
    aoei_model_kind kind;
    aoe_hub_entry e = {.struct_size = sizeof(aoe_hub_entry), .name = name, .commit = commit};
    (void)aoei_buffer_printf(&dir, "%s/snapshots/%s", folder, commit);
    int rc = dir.failed ? aoei_fail_nomem(l->err, 0) : add_sizes(&e.bytes, dir.data, LEVELS, l->err);
    if (!rc)
        rc = add_references(&references, folder, "", commit, LEVELS, l->err);
    if (!rc) {
        e.dir = dir.data;
        e.revision = references.data ? references.data : "";
        e.problem = check_opens(&kind, dir.data, &why) ? why.message : NULL;
        e.cross_encoder = !e.problem && kind == AOEI_KIND_CROSS_ENCODER;
        rc = l->entry(l->user, &e);
    }
    aoei_buffer_free(&dir);
    aoei_buffer_free(&references);
    return rc;
}

/* Lists the snapshots in ROOT/FOLDER_NAME. */
static int list_model(const listing *l, const char *root, const char *folder_name) {
    char **commits = NULL, *folder = aoei_path_join(root, folder_name);
    aoei_buffer name = {0};
    size_t n = 0;
    const char *rest = folder_name + strlen(PREFIX), *separator = strstr(rest, "--");
    (void)aoei_buffer_printf(&name, "%.*s%s%s", separator ? (int)(separator - rest) : (int)strlen(rest), rest,
                             separator ? "/" : "", separator ? separator + 2 : "");
    int rc = !folder || name.failed ? aoei_fail_nomem(l->err, 0) : aoei_hub_commits(&commits, &n, folder, l->err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = list_snapshot(l, name.data, folder, commits[i]);
    aoei_list_free(commits, n);
    aoei_buffer_free(&name);
    aoei_free(folder);
    return rc;
}

/* Lists the models of a cache. */
static int list_root(const listing *l, const char *root) {
    char **names = NULL;
    size_t n = 0;
    int rc = aoei_is_dir(root) ? aoei_list_dir(&names, &n, root, l->err) : 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (strncmp(names[i], PREFIX, strlen(PREFIX)) == 0)
            rc = list_model(l, root, names[i]);
    aoei_list_free(names, n);
    return rc;
}

int aoe_hub_list(aoe_hub_entry_fn entry, void *user, aoe_error *err) {
    AOEI_CHECK(err, entry);
    const listing l = {entry, user, err};
    char *root[AOEI_HUB_ROOTS];
    int rc = aoei_hub_roots(root) ? aoei_fail_nomem(err, 0) : 0;
    for (size_t i = 0; i < AOEI_HUB_ROOTS && root[i] && !rc; i++)
        rc = list_root(&l, root[i]);
    aoei_hub_roots_free(root);
    return rc;
}
