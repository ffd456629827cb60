/* SPDX-License-Identifier: MIT
 * Finds out what a directory without a model contains.
 */
#include "modeldir/not_model.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/model_path.h"
#include "base/path.h"
#include "modeldir/layout.h"

/* Returns 1 if a file may contain the weights of a model, although aoe does not read weights from a file with this
 * name. */
static int is_other_weights(const char *name) {
    return aoei_foreign_format(name) || aoei_name_ends_with(name, ".safetensors") ||
           (aoei_name_ends_with(name, ".bin") && strcmp(name, "training_args.bin") != 0);
}

/* Describes `name` in a message: "NAME (GGUF)" or "NAME". */
static void describe(char *text, size_t size, const char *name) {
    const char *format = aoei_foreign_format(name);
    snprintf(text, size, format ? "%.200s (%s)" : "%.200s", name, format);
}

int aoei_fail_no_weights(const char *dir, aoe_error *err) {
    char **names = NULL, found[256] = "";
    size_t n = 0;
    const int rc = aoei_list_dir(&names, &n, dir, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !*found; i++)
        if (is_other_weights(names[i]))
            describe(found, sizeof found, names[i]);
    if (!*found && aoei_entry_exists(dir, "onnx"))
        snprintf(found, sizeof found, "the folder onnx");
    aoei_list_free(names, n);
    return aoei_fail(
        err, AOE_ENOENT,
        "%s: the directory contains no weights: neither model.safetensors nor pytorch_model.bin, nor an index of "
        "their parts (model.safetensors.index.json, pytorch_model.bin.index.json)%s%s%s; download the weights in "
        "one of these formats",
        dir, *found ? "; it contains " : "", found, *found ? ", which has another name or format" : "");
}

/* Returns 1 if DIR/config.json is the configuration of an encoder, or if DIR contains adapters. The config.json of a
 * module has no model_type. */
static int is_model(const char *dir) {
    json_t *root = NULL;
    const int found =
        !aoei_json_load_optional(&root, NULL, dir, AOEI_CONFIG_FILE, NULL) && json_object_get(root, "model_type");
    json_decref(root);
    return found || aoei_is_adapter_dir(dir);
}

/* Sets *found to the path of the first folder DIR/inside/NAME that contains a model, or to NULL, and *format to the
 * name and the format of a file in DIR/inside that aoe does not read. */
static int look_below(char **found, char *format, size_t size, const char *dir, const char *inside, aoe_error *err) {
    char **names = NULL, *parent = *inside ? aoei_path_join(dir, inside) : aoei_strdup(dir);
    size_t n = 0;
    int rc = parent ? 0 : aoei_fail_nomem(err, strlen(dir));
    *found = NULL;
    if (!rc && aoei_is_dir(parent))
        rc = aoei_list_dir(&names, &n, parent, err);
    for (size_t i = 0; i < n && !rc && !*found; i++) {
        char *folder = aoei_path_join(parent, names[i]);
        if (aoei_foreign_format(names[i]) && !*format)
            describe(format, size, names[i]);
        if (!folder)
            rc = aoei_fail_nomem(err, strlen(parent));
        else if (is_model(folder))
            *found = folder;
        else
            aoei_free(folder);
    }
    aoei_list_free(names, n);
    aoei_free(parent);
    return rc;
}

int aoei_fail_no_config(const char *dir, aoe_error *err) {
    char *checkpoints = aoei_path_join(dir, "checkpoints"), *below = NULL, format[256] = "";
    if (!checkpoints)
        return aoei_fail_nomem(err, strlen(dir));
    const int unfinished = aoei_is_dir(checkpoints);
    int rc = unfinished ? 0 : look_below(&below, format, sizeof format, dir, "", err);
    if (!rc && !unfinished && !below)
        rc = look_below(&below, format, sizeof format, dir, "snapshots", err); /* a folder of the Hugging Face cache */
    if (!rc && unfinished)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "the training run in %s is unfinished; resume it (aoe train, aoe pretrain), or use a checkpoint in %s", dir,
            checkpoints);
    else if (!rc && below)
        rc = aoei_fail(err, AOE_ENOENT, "%s: the directory contains no config.json; the model may be the folder %s",
                       dir, below);
    else if (!rc)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory contains no config.json%s%s%s; give a model directory in the format of Hugging Face",
            dir, *format ? ", but " : "", format, *format ? ", which aoe does not read" : "");
    aoei_free(below);
    aoei_free(checkpoints);
    return rc;
}

/* Returns the class of the module whose folder is `folder` in the list `modules`; NULL if there is none. */
static const char *class_of(const json_t *modules, const char *folder) {
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *module = json_array_get(modules, i);
        const char *path = json_string_value(json_object_get(module, "path")),
                   *type = json_string_value(json_object_get(module, "type")), *dot = type ? strrchr(type, '.') : NULL;
        if (path && !strcmp(path, folder))
            return dot ? dot + 1 : type;
    }
    return NULL;
}

int aoei_reject_module_dir(const char *dir, aoe_error *err) {
    static const char *const models[] = {"Transformer", "StaticEmbedding", "WordEmbeddings"};
    char *full = aoei_full_path(dir), *parent = full ? aoei_path_parent(full) : NULL;
    json_t *modules = NULL;
    aoe_error ignored;
    int rc = parent ? 0 : aoei_fail_nomem(err, strlen(dir));
    if (!rc && aoei_json_load_optional(&modules, NULL, parent, "modules.json", &ignored) == AOE_ENOMEM)
        rc = aoei_fail_nomem(err, strlen(dir));
    const char *name = rc ? NULL : class_of(modules, aoei_path_name(full));
    for (size_t i = 0; i < sizeof models / sizeof *models && name; i++)
        if (!strcmp(name, models[i]))
            name = NULL;
    if (name)
        rc = aoei_fail(err, AOE_EARG,
                       "%s is the folder of the module %s, not a model; give the model directory that contains it, %s",
                       dir, name, parent);
    json_decref(modules);
    aoei_free(parent);
    aoei_free(full);
    return rc;
}
