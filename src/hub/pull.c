/* SPDX-License-Identifier: MIT
 * Implements aoe_hub_pull. The order of the steps keeps a failed download harmless: list of files, configuration, check
 * that aoe supports the model, free space, weights, and at last the reference, which makes the model visible under its
 * name.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "aoe_hub.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/options.h"
#include "base/path.h"
#include "hub/hub_download.h"
#include "hub/hub_files.h"
#include "hub/hub_place.h"
#include "modeldir/layout.h"
#include "modeldir/model_kind.h"
#include "modeldir/peft.h"

#define MAX_MODULES 64 /* maximum number of modules in modules.json */

/* One model that is being downloaded. */
typedef struct job {
    aoei_hub_access *a;
    aoei_hub_name name;
    aoei_hub_files files;
    char *root, *folder, *locks, *snapshot; /* owned */
    aoe_hub_result *result;
    uint64_t done; /* bytes of the files that are in the snapshot */
} job;

AOEI_DEFAULTS(aoe_hub_options) {
    *o = (aoe_hub_options){.struct_size = sizeof *o};
}

/* ------------------------------------------------------------------- steps */

/* Creates the directories of the cache. */
static int make_directories(job *j, aoe_error *err) {
    aoei_buffer locks = {0}, snapshot = {0};
    (void)aoei_buffer_printf(&locks, "%s/.locks/%s", j->root, aoei_path_name(j->folder));
    (void)aoei_buffer_printf(&snapshot, "%s/snapshots/%s", j->folder, j->files.commit);
    j->locks = locks.data;
    j->snapshot = snapshot.data;
    char *blobs = aoei_path_join(j->folder, "blobs");
    int rc = locks.failed || snapshot.failed || !blobs ? aoei_fail_nomem(err, 0) : aoei_make_dir(j->locks, err);
    if (!rc)
        rc = aoei_hub_write_tag(j->root, err);
    if (!rc)
        rc = aoei_make_dir(j->snapshot, err);
    if (!rc)
        rc = aoei_make_dir(blobs, err);
    aoei_free(blobs);
    return rc;
}

/* Downloads all files that are wanted and not yet present. */
static int download_wanted(job *j, aoe_error *err) {
    const aoei_hub_target t = {.id = j->name.id,
                               .commit = j->files.commit,
                               .folder = j->folder,
                               .locks = j->locks,
                               .snapshot = j->snapshot,
                               .downloaded = &j->result->downloaded};
    for (size_t i = 0; i < j->files.n; i++) {
        aoei_hub_file *file = &j->files.file[i];
        uint64_t size = 0;
        if (!file->wanted || file->present)
            continue;
        aoei_hub_target at = t;
        at.base = j->done;
        const int rc = aoei_hub_download(j->a, &at, file->path, &size, err);
        if (rc)
            return rc;
        file->present = 1;
        j->done += size;
        j->result->files++;
        j->result->bytes += size;
    }
    return 0;
}

static char *in_snapshot(const job *j, const char *name) {
    return aoei_path_join(j->snapshot, name);
}

/* Calls visit for the directory of each module in modules.json, and for the root of the repository, which is "". */
static int for_each_directory(job *j, int (*visit)(job *j, const char *dir, int *found, aoe_error *err), int *found,
                              aoe_error *err) {
    json_t *root;
    int rc = visit(j, "", found, err);
    if (rc || (rc = aoei_json_load_optional(&root, NULL, j->snapshot, "modules.json", err)))
        return rc;
    for (size_t i = 0; i < json_array_size(root) && i < MAX_MODULES && !rc; i++) {
        const char *path = json_string_value(json_object_get(json_array_get(root, i), "path"));
        if (!path || !*path)
            continue;
        rc = aoei_hub_safe_path(path)
                 ? visit(j, path, found, err)
                 : aoei_fail(err, AOE_EFORMAT,
                             "%s: modules.json: the path '%s' of a module is not allowed; do not use this model",
                             j->name.id, path);
    }
    json_decref(root);
    return rc;
}

static int want_configuration(job *j, const char *dir, int *found, aoe_error *err) {
    (void)found;
    aoei_hub_want_configuration(&j->files, dir);
    return *dir ? 0 : download_wanted(j, err); /* modules.json must be present before the other directories are
                                                  visited */
}

static int want_weights(job *j, const char *dir, int *found, aoe_error *err) {
    return aoei_hub_want_weights(&j->files, dir, j->snapshot, found, err);
}

/* Checks from the configuration whether aoe supports the model as an embedding model or as a cross-encoder. */
static int check_supported(const job *j, aoe_error *err) {
    aoei_encoder_config c;
    aoei_model_files f;
    aoei_model_kind kind;
    if (aoei_is_adapter_dir(j->snapshot))
        return 0;
    int rc = aoei_model_config_open(&f, &c, j->snapshot, err);
    if (!rc && c.arch)
        rc = aoei_model_kind_check(&kind, &f, &c, err);
    if (rc && rc != AOE_ENOMEM)
        (void)aoei_error_prefix(err, "%s: aoe cannot open this model, so its weights were not downloaded", j->name.id);
    aoei_model_files_close(&f);
    return rc;
}

/* Checks that the disk has space for the missing files, and calls the callback `plan`. */
static int check_space(const job *j, aoe_error *err) {
    uint64_t missing = 0, total = j->done;
    size_t files = 0;
    for (size_t i = 0; i < j->files.n; i++) {
        const aoei_hub_file *file = &j->files.file[i];
        files += file->wanted != 0;
        if (!file->wanted || file->present)
            continue;
        char *path = in_snapshot(j, file->path);
        struct stat st;
        const int cached = path && stat(path, &st) == 0 && (uint64_t)st.st_size == file->size;
        aoei_free(path);
        missing += cached ? 0 : file->size;
        total += file->size;
    }
    j->a->state.total = total;
    if (j->a->o->plan)
        j->a->o->plan(j->a->o->user, j->name.id, files, total, missing);
    const int rc = aoei_check_free_space(j->folder, missing, "the download", "free space, or set HF_HOME", err);
    if (rc)
        aoei_error_prefix(err, "%s", j->name.id);
    return rc;
}

/* Records which optional files the revision does not have. */
static int write_absent(const job *j, aoe_error *err) {
    const char *name;
    int rc = 0;
    for (size_t i = 0; !rc && (name = aoei_hub_optional_file(i)); i++)
        if (!aoei_hub_files_find(&j->files, "", name))
            rc = aoei_hub_write_absent(j->folder, j->files.commit, name, err);
    return rc;
}

static int run_steps(job *j, aoe_error *err) {
    int found = 0;
    j->a->state.model = j->name.id;
    j->a->state.total = 0;
    int rc = aoei_hub_files_request(&j->files, j->a, &j->name, err);
    if (!rc)
        rc = make_directories(j, err);
    if (!rc)
        rc = for_each_directory(j, want_configuration, &found, err);
    if (!rc)
        rc = download_wanted(j, err);
    if (!rc)
        rc = check_supported(j, err);
    if (!rc)
        rc = for_each_directory(j, want_weights, &found, err);
    if (!rc && !found)
        rc = aoei_fail(err, AOE_EUNSUPPORTED,
                       "%s: the repository contains no weights in safetensors or PyTorch format; choose another model",
                       j->name.id);
    if (!rc)
        rc = check_space(j, err);
    if (!rc)
        rc = download_wanted(j, err);
    if (!rc)
        rc = write_absent(j, err);
    if (!rc && strcmp(j->name.revision, j->files.commit) != 0)
        rc = aoei_hub_write_ref(j->folder, j->name.revision, j->files.commit, err);
    return rc;
}

/* ------------------------------------------------------------------- models */

static int pull(aoei_hub_access *a, const aoei_hub_name *name, aoe_hub_result *result, char **snapshot,
                aoe_error *err) {
    job j = {.a = a, .name = *name, .result = result};
    j.root = aoei_hub_root();
    j.folder = j.root ? aoei_hub_folder(j.root, name->id) : NULL;
    const int rc = j.folder ? run_steps(&j, err) : aoei_fail_nomem(err, 0);
    if (!rc)
        memcpy(result->commit, j.files.commit, sizeof j.files.commit);
    *snapshot = rc ? NULL : j.snapshot;
    if (rc)
        aoei_free(j.snapshot);
    aoei_hub_files_free(&j.files);
    aoei_free(j.locks);
    aoei_free(j.folder);
    aoei_free(j.root);
    return rc;
}

/* If the model in `dir` consists of adapters and their base model is a name on the Hub, downloads the base model. */
static int pull_base(aoei_hub_access *a, const char *dir, aoe_hub_result *result, aoe_error *err) {
    aoei_hub_name name;
    json_t *root;
    char *snapshot = NULL, commit[sizeof result->commit];
    int rc = aoei_json_load_optional(&root, NULL, dir, AOEI_PEFT_CONFIG, err);
    const char *base = json_string_value(json_object_get(root, "base_model_name_or_path"));
    memcpy(commit, result->commit, sizeof commit);
    if (!rc && base && !aoei_exists(base) && aoei_peft_hub_base(&name, root))
        rc = pull(a, &name, result, &snapshot, err);
    memcpy(result->commit, commit, sizeof commit);
    json_decref(root);
    aoei_free(snapshot);
    return rc;
}

/* Returns the model in the cache, because the environment forbids requests. */
static int find_offline(const aoei_hub_name *name, aoe_hub_result *result, char **snapshot, aoe_error *err) {
    const int rc = aoei_hub_snapshot(snapshot, name, err);
    if (rc)
        return rc;
    if (!*snapshot || !aoei_hub_has_weights(*snapshot))
        return aoei_fail(
            err, AOE_ENOENT,
            "%s: the model is not in the cache, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids downloads; unset "
            "these variables",
            name->id);
    (void)snprintf(result->commit, sizeof result->commit, "%s", aoei_path_name(*snapshot));
    return 0;
}

int aoe_hub_pull(const char *name, const aoe_hub_options *o, aoe_hub_result *result, aoe_error *err) {
    AOEI_CHECK(err, name, result);
    AOEI_RESULT(aoe_hub_result, result, err);
    AOEI_OPTIONS(aoe_hub_options, o, err);
    aoei_hub_name hub;
    aoei_hub_access a = {0};
    char *snapshot = NULL;
    if (!aoei_hub_name_parse(&hub, name))
        return aoei_fail(err, AOE_EARG, "'%s' is not the name of a model; write ORG/NAME or ORG/NAME@REVISION", name);
    int rc = 0;
    if (aoei_hub_is_offline()) {
        rc = find_offline(&hub, result, &snapshot, err);
    } else {
        rc = aoei_hub_access_open(&a, o, err);
        if (!rc)
            rc = pull(&a, &hub, result, &snapshot, err);
        if (!rc)
            rc = pull_base(&a, snapshot, result, err);
        aoei_hub_access_close(&a);
    }
    if (!rc && strlen(snapshot) >= sizeof result->dir)
        rc = aoei_fail(err, AOE_EARG, "%s: the path is too long; set HF_HOME to a shorter path", snapshot);
    if (!rc)
        memcpy(result->dir, snapshot, strlen(snapshot) + 1);
    aoei_free(snapshot);
    return rc;
}
