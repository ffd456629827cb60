/* SPDX-License-Identifier: MIT
 * Finds a model by its path or by its name on the Hugging Face Hub (aoe_model_find). Nothing is downloaded.
 */
#include "aoe.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_ORGANIZATION "sentence-transformers/"

static int copy(char *dir, size_t size, const char *path, aoe_error *err) {
    const size_t len = strlen(path);
    if (len >= size)
        return aoei_fail(err, AOE_EARG, "aoe_model_find: the path of the model needs %zu bytes", len + 1);
    memcpy(dir, path, len + 1);
    return 0;
}

/* Appends the names NAME@COMMIT of all snapshots of the model in both caches. */
static int list_commits(aoei_buffer *list, char *const root[AOEI_HUB_ROOTS], const char *id, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < AOEI_HUB_ROOTS && root[i] && !rc; i++) {
        char *folder = aoei_hub_folder(root[i], id), **commits = NULL;
        size_t n = 0;
        rc = folder ? aoei_hub_commits(&commits, &n, folder, err) : aoei_fail_nomem(err, 0);
        for (size_t k = 0; k < n; k++)
            (void)aoei_buffer_printf(list, "%s%s@%s", list->len ? ", " : "", id, commits[k]);
        aoei_list_free(commits, n);
        aoei_free(folder);
    }
    return rc || !list->failed ? rc : aoei_fail_nomem(err, 0);
}

/* Returns the directory ROOT/ORG_NAME if it exists. sentence-transformers stored models in such directories before
 * version 2.3. Returns NULL if there is none or if out of memory. The caller frees the result with aoei_free. */
static char *find_old_copy(char *const root[AOEI_HUB_ROOTS], const char *id) {
    char folder[AOEI_HUB_ID_MAX + 1];
    snprintf(folder, sizeof folder, "%s", id);
    char *slash = strchr(folder, '/');
    if (!slash || !root[1])
        return NULL;
    *slash = '_';
    char *path = aoei_path_join(root[1], folder);
    if (path && aoei_is_dir(path))
        return path;
    aoei_free(path);
    return NULL;
}

/* Fails because the caches do not contain the revision of the model, or contain only a part of it. */
static int fail_missing(const char *text, const aoei_hub_name *hub, int partial, aoe_error *err) {
    char *root[AOEI_HUB_ROOTS];
    aoei_buffer commits = {0};
    int rc = aoei_hub_roots(root) ? aoei_fail_nomem(err, 0) : list_commits(&commits, root, hub->id, err);
    char *old = rc ? NULL : find_old_copy(root, hub->id);
    const char *also = root[1] ? " and " : "", *second = root[1] ? root[1] : "";
    if (!rc && partial)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: the Hugging Face cache %s%s%s contains only a part of this model; to download the rest: aoe pull %s",
            text, root[0], also, second, text);
    else if (!rc && commits.len)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: the Hugging Face cache %s%s%s contains this model, but not its revision '%s'; name a commit that it "
            "contains: %s, or download the revision: aoe pull %s",
            text, root[0], also, second, hub->revision, commits.data, text);
    else if (!rc && old)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: there is no such directory, and the Hugging Face cache %s%s%s contains this model only as an old "
            "version of sentence-transformers stored it; give the directory %s, or download the model: aoe pull %s",
            text, root[0], also, second, old, text);
    else if (!rc)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: there is no such directory, and the Hugging Face cache %s%s%s does not contain this model%s; to "
            "download it: aoe pull %s",
            text, root[0], also, second,
            *second == '~' ? " (neither aoe nor sentence-transformers expands ~ in SENTENCE_TRANSFORMERS_HOME)" : "",
            text);
    aoei_buffer_free(&commits);
    aoei_free(old);
    aoei_hub_roots_free(root);
    return rc;
}

/* Fails if `path` is a folder of a model in the cache, models--ORG--NAME, or its subfolder snapshots, which are no
 * model directories. */
static int reject_cache_folder(const char *path, aoe_error *err) {
    char **commits = NULL, *full = aoei_full_path(path), *parent = full ? aoei_path_parent(full) : NULL;
    size_t n = 0;
    int rc = full && parent ? 0 : aoei_fail_nomem(err, strlen(path));
    const char *folder = NULL;
    if (!rc && !strncmp(aoei_path_name(full), "models--", 8))
        folder = full;
    else if (!rc && !strcmp(aoei_path_name(full), "snapshots") && !strncmp(aoei_path_name(parent), "models--", 8))
        folder = parent;
    char *config = folder ? aoei_path_join(full, "config.json") : NULL;
    if (folder && !config)
        rc = aoei_fail_nomem(err, strlen(path));
    if (!rc && folder && !aoei_exists(config))
        rc = aoei_hub_commits(&commits, &n, folder, err);
    if (!rc && n)
        rc = aoei_fail(err, AOE_ENOENT,
                       "%s: this folder of the Hugging Face cache contains %zu revision%s of a model; give a revision: "
                       "%s/snapshots/%s",
                       path, n, n == 1 ? "" : "s", folder, commits[0]);
    aoei_list_free(commits, n);
    aoei_free(config);
    aoei_free(parent);
    aoei_free(full);
    return rc;
}

/* Finds the snapshot of a model in the cache. A name without organization that the cache does not contain is completed
 * to sentence-transformers/NAME, as in sentence-transformers. */
static int find_snapshot(char **snapshot, const aoei_hub_name *hub, aoe_error *err) {
    aoei_hub_name full = *hub;
    const int rc = aoei_hub_snapshot(snapshot, hub, err);
    if (rc || *snapshot || strchr(hub->id, '/') ||
        snprintf(full.id, sizeof full.id, DEFAULT_ORGANIZATION "%s", hub->id) > AOEI_HUB_ID_MAX)
        return rc;
    return aoei_hub_snapshot(snapshot, &full, err);
}

/* Fails if the name is that of a folder of the cache, models--ORG--NAME, which is not the name of a model. */
static int reject_folder_name(const char *name, aoe_error *err) {
    static const char prefix[] = "models--";
    const char *org = name + strlen(prefix);
    if (strncmp(name, prefix, strlen(prefix)) != 0 || !*org || strchr(name, '/'))
        return 0;
    const char *separator = strstr(org, "--");
    return aoei_fail(err, AOE_ENOENT,
                     "%s: no such directory; this is the folder of a model in the Hugging Face cache; give the "
                     "name of the model: %.*s%s%s",
                     name, (int)(separator ? (size_t)(separator - org) : strlen(org)), org, separator ? "/" : "",
                     separator ? separator + 2 : "");
}

int aoe_model_find(char *dir, size_t size, const char *name, aoe_error *err) {
    AOEI_CHECK(err, dir, name);
    aoei_hub_name hub;
    char *snapshot = NULL;
    if (aoei_exists(name)) {
        const int rc = reject_cache_folder(name, err);
        return rc ? rc : copy(dir, size, name, err);
    }
    int rc = reject_folder_name(name, err);
    if (rc || !aoei_hub_name_parse(&hub, name))
        return rc ? rc : copy(dir, size, name, err);
    rc = find_snapshot(&snapshot, &hub, err);
    const int partial = snapshot && !aoei_hub_is_complete(snapshot);
    if (!rc && snapshot && !partial)
        rc = copy(dir, size, snapshot, err);
    else if (!rc && (partial || strpbrk(name, "/@")))
        rc = fail_missing(name, &hub, partial, err);
    else if (!rc)
        rc = copy(dir, size, name, err);
    aoei_free(snapshot);
    return rc;
}
