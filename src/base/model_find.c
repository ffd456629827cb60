/* SPDX-License-Identifier: MIT
 * Finds a model by its path or by its name on the Hugging Face Hub (aoe_model_find). Nothing is downloaded.
 */
#include "aoe.h"
#include "base/alloc.h"
#include "base/check.h"
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

/* Fails because the cache does not contain the model, or contains only a part of it. */
static int fail_missing(const char *text, int partial, aoe_error *err) {
    char *root = aoei_hub_root();
    if (!root)
        return aoei_fail_nomem(err, 0);
    const int rc = partial
                       ? aoei_fail(err, AOE_ENOENT,
                                   "%s: the Hugging Face cache %s contains only a part of this model; to download the rest: "
                                   "aoe pull %s",
                                   text, root, text)
                       : aoei_fail(err, AOE_ENOENT,
                                   "%s: there is no such directory, and the Hugging Face cache %s does not contain this "
                                   "model; to download it: aoe pull %s",
                                   text, root, text);
    aoei_free(root);
    return rc;
}

/* Finds the snapshot of a model in the cache. A name without organization that the cache does not contain is completed to
 * sentence-transformers/NAME, as in sentence-transformers. */
static int find_snapshot(char **snapshot, const aoei_hub_name *hub, aoe_error *err) {
    aoei_hub_name full = *hub;
    const int rc = aoei_hub_snapshot(snapshot, hub, err);
    if (rc || *snapshot || strchr(hub->id, '/') || strlen(hub->id) + strlen(DEFAULT_ORGANIZATION) > AOEI_HUB_ID_MAX)
        return rc;
    snprintf(full.id, sizeof full.id, DEFAULT_ORGANIZATION "%s", hub->id);
    return aoei_hub_snapshot(snapshot, &full, err);
}

int aoe_model_find(char *dir, size_t size, const char *name, aoe_error *err) {
    AOEI_CHECK(err, dir, name);
    aoei_hub_name hub;
    char *snapshot = NULL;
    if (aoei_exists(name) || !aoei_hub_name_parse(&hub, name))
        return copy(dir, size, name, err);
    int rc = find_snapshot(&snapshot, &hub, err);
    const int partial = snapshot && !aoei_hub_has_weights(snapshot);
    if (!rc && snapshot && !partial)
        rc = copy(dir, size, snapshot, err);
    else if (!rc && (partial || strpbrk(name, "/@")))
        rc = fail_missing(name, partial, err);
    else if (!rc)
        rc = copy(dir, size, name, err);
    aoei_free(snapshot);
    return rc;
}
