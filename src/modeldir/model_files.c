/* SPDX-License-Identifier: MIT
 * Opens config.json, the weights and the adapters of a model. weight_tensors.c then finds the tensor of each weight.
 */
#include "modeldir/model_files.h"

#include <string.h>

#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "modeldir/static_config.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/model_path.h"
#include "base/path.h"
#include "modeldir/layout.h"
#include "modeldir/not_model.h"
#include "modeldir/peft.h"
#include "modeldir/publish.h"
#include "modeldir/weight_layout.h"

/* Completes f->config_json for a static model, whose only weights are the token embeddings. A static model may have no
 * config.json, or a config.json without hidden_size and vocab_size. These sizes are read from the shape of the token
 * embeddings. */
static int complete_static(aoei_model_files *f, aoe_error *err) {
    if (!aoei_may_be_static(f->config_json))
        return 0;
    int rc = aoei_safetensors_open_dir(&f->weights, aoei_weights_dir(f), err);
    if (!rc)
        rc = aoei_static_complete(&f->config_json, f->weights, aoei_files_dir(f, aoei_weights_dir(f)), err);
    return rc == AOE_ENOENT ? 0 : rc; /* missing weights are reported later, when the weights are opened */
}

/* Returns an error if the architecture has no masked-LM head, or if the decoder of the head does not use the token
 * embeddings as its weight. Other decoders are not supported. */
static int check_mlm(const aoei_model_files *f, const aoei_encoder_config *c, const char *path, aoe_error *err) {
    int tied = 1;
    if (!c->arch->mlm_class_name)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the masked-LM head of %s models is not supported; pretrain a model of another architecture, "
            "such as bert, roberta, mpnet, modernbert or ran",
            aoei_weights_dir(f), c->arch->model_type);
    const int rc = aoei_json_bool(f->config_json, "tie_word_embeddings", &tied, path, err);
    if (!rc && !tied)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: tie_word_embeddings is false, which is not supported: the decoder of the masked-LM head must "
            "share the weights of the token embeddings",
            path);
    return rc;
}

/* Sets *folder to the folder that modules.json in `dir` names for the module Transformer, StaticEmbedding or
 * WordEmbeddings, or to NULL if the module is stored in `dir` itself. If the first module is another module that is
 * stored in a folder, returns an error that names it. */
static int find_folder(char **folder, aoei_model_dir dir, aoe_error *err) {
    *folder = NULL;
    if (!aoei_entry_exists(dir.path, "modules.json"))
        return 0;
    json_t *root;
    const char *path;
    const int rc = aoei_model_dir_need_json(&root, &path, dir, "modules.json", err);
    if (!rc && !json_is_array(root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a list of modules; download the model again", path);
    const json_t *first = json_array_get(root, 0);
    const char *type = json_string_value(json_object_get(first, "type")),
               *at = json_string_value(json_object_get(first, "path"));
    const char *dot = type ? strrchr(type, '.') : NULL;
    if (rc || !dot || !at || !*at || !strcmp(at, "."))
        return rc;
    if (strcmp(dot + 1, "Transformer") != 0 && strcmp(dot + 1, "StaticEmbedding") != 0 &&
        strcmp(dot + 1, "WordEmbeddings") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the first module, '%s', is not supported (supported: Transformer, StaticEmbedding, "
                         "WordEmbeddings)",
                         path, dot + 1);
    if (aoei_is_plain_folder(at) && !(*folder = aoei_path_join(dir.path, at)))
        return aoei_fail_nomem(err, strlen(dir.path));
    return 0;
}

/* Sets f->transformer_dir to the folder of the transformer, if it has one. The base model of adapters is then replaced
 * by this folder, which contains its config.json. *is_folder receives 1 if there is a folder, otherwise 0. */
static int find_transformer_dir(aoei_model_files *f, int *is_folder, aoe_error *err) {
    char *folder = NULL;
    *is_folder = 0;
    if (f->base_dir && aoei_entry_exists(f->base_dir, AOEI_CONFIG_FILE))
        return 0;
    const int rc = find_folder(&folder, aoei_files_dir(f, f->base_dir ? f->base_dir : f->dir), err);
    if (rc || !folder)
        return rc;
    *is_folder = 1;
    if (f->base_dir) {
        aoei_free(f->base_dir);
        f->base_dir = folder;
    } else {
        f->transformer_dir = folder;
    }
    return 0;
}

/* Parses config.json, if it exists, into f->config_json, and sets *path to its path. */
static int load_config(aoei_model_files *f, const char **path, aoe_error *err) {
    json_t *root;
    const int rc = aoei_model_dir_json(&root, path, aoei_files_dir(f, aoei_weights_dir(f)), AOEI_CONFIG_FILE, err);
    f->config_json = json_incref(root);
    return rc;
}

/* Reads config.json into f->config_json and c. If `mlm` is 1, the configuration includes the masked-LM head. is_folder:
 * see find_transformer_dir. */
static int read_config(aoei_model_files *f, aoei_encoder_config *c, int is_folder, int mlm, aoe_error *err) {
    const char *dir = aoei_weights_dir(f), *path;
    int rc = aoei_check_model_dir(dir, err);
    if (!rc && !is_folder)
        rc = aoei_reject_module_dir(dir, err);
    if (!rc)
        rc = load_config(f, &path, err);
    if (!rc)
        rc = complete_static(f, err);
    if (!rc && !f->config_json)
        rc = aoei_fail_no_config(dir, err);
    if (!rc)
        rc = aoei_config_read(c, f->config_json, path, err);
    if (!rc && mlm)
        rc = check_mlm(f, c, path, err);
    c->mlm_head = mlm;
    return rc;
}

/* If f->dir contains adapters, sets f->base_dir to `base` or, if `base` is NULL, to the directory in
 * adapter_config.json. */
static int find_base(aoei_model_files *f, const char *base, int mlm, aoe_error *err) {
    const int adapters = aoei_is_adapter_dir(f->dir);
    if (base && !adapters)
        return aoei_fail(err, AOE_EARG,
                         "%s: the directory contains no adapters; omit options.base, the base model of adapters",
                         f->dir);
    if (adapters && mlm)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the directory contains adapters, which cannot be pretrained; merge them into the base model first "
            "(aoe merge)",
            f->dir);
    return adapters ? aoei_peft_base(&f->base_dir, aoei_files_dir(f, f->dir), base, err) : 0;
}

/* Fails if the directory of a model also contains adapters, which transformers applies to the model. dir: directory
 * that contains config.json. */
static int reject_adapters(const char *dir, aoe_error *err) {
    if (!aoei_entry_exists(dir, AOEI_CONFIG_FILE) || !aoei_entry_exists(dir, AOEI_PEFT_CONFIG) ||
        (!aoei_entry_exists(dir, AOEI_PEFT_WEIGHTS) && !aoei_entry_exists(dir, AOEI_PEFT_TORCH)))
        return 0;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: the directory contains a model and adapters (" AOEI_PEFT_CONFIG
        "), which transformers applies to the model; move the adapters to a directory of their own and open it with "
        "this directory as options.base, or remove them",
        dir);
}

/* Reads the configuration of the adapters and opens their weights. */
static int open_adapters(aoei_model_files *f, aoei_encoder_config *c, aoe_error *err) {
    const int torch = !aoei_entry_exists(f->dir, AOEI_PEFT_WEIGHTS) && aoei_entry_exists(f->dir, AOEI_PEFT_TORCH);
    char *path = aoei_path_join(f->dir, torch ? AOEI_PEFT_TORCH : AOEI_PEFT_WEIGHTS);
    int rc = path ? aoei_safetensors_open(&f->adapters, path, err) : aoei_fail_nomem(err, strlen(f->dir));
    if (!rc)
        rc = aoei_peft_read(&c->lora, &f->lora_layers, aoei_files_dir(f, f->dir), f->adapters, c, err);
    aoei_free(path);
    return rc;
}

/* If a file is missing because saving a model was interrupted, replaces the error message by a message that says so. */
static void explain_missing(const aoei_model_files *f, aoe_error *err) {
    char *previous = NULL;
    if (!aoei_find_previous_model(&previous, f->dir, NULL) && previous)
        aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory contains no model, because saving a model was interrupted; the previous model is in %s: "
            "move its files back",
            f->dir, previous);
    aoei_free(previous);
}

/* Reads aoei_license_files[i] from f->dir or, if this directory has no such file, from f->base_dir. If the file cannot
 * be read, the error is reported when the model is saved. */
static int read_license(aoei_model_files *f, size_t i, aoe_error *err) {
    const char *name = aoei_license_files[i], *from = aoei_entry_exists(f->dir, name) ? f->dir : f->base_dir;
    if (!from || !aoei_entry_exists(from, name))
        return 0;
    aoe_error ignored;
    char *path = aoei_path_join(from, name);
    const int rc = path ? aoei_read_regular(&f->license[i], &f->license_size[i], path, 0, &ignored) : AOE_ENOMEM;
    aoei_free(path);
    return rc == AOE_ENOMEM ? aoei_fail_nomem(err, strlen(from)) : 0;
}

/* Sets *f to the files of `dir`, of which none is open. */
static int begin(aoei_model_files *f, const char *dir, aoe_error *err) {
    *f = (aoei_model_files){.dir = aoei_strdup(dir), .cache = aoei_file_cache_create()};
    return f->dir && f->cache ? 0 : aoei_fail_nomem(err, strlen(dir));
}

int aoei_model_files_open(aoei_model_files *f, aoei_encoder_config *c, const char *dir, const char *base, int mlm,
                          aoe_error *err) {
    int is_folder, rc = begin(f, dir, err);
    if (rc || (rc = find_base(f, base, mlm, err)))
        return rc;
    rc = find_transformer_dir(f, &is_folder, err);
    if (!rc)
        rc = reject_adapters(aoei_weights_dir(f), err);
    if (!rc)
        rc = read_config(f, c, is_folder, mlm, err);
    if (!rc && !f->weights)
        rc = aoei_safetensors_open_dir(&f->weights, aoei_weights_dir(f), err);
    if (!rc)
        aoei_weight_layout_find(c, f->weights);
    if (!rc && f->base_dir)
        rc = open_adapters(f, c, err);
    if (rc == AOE_ENOENT)
        explain_missing(f, err);
    for (size_t i = 0; i < AOEI_LICENSE_FILES && !rc; i++)
        rc = read_license(f, i, err);
    return rc;
}

int aoei_model_config_open(aoei_model_files *f, aoei_encoder_config *c, const char *dir, aoe_error *err) {
    const char *path = NULL;
    int is_folder, rc = begin(f, dir, err);
    *c = (aoei_encoder_config){0};
    if (!rc)
        rc = find_transformer_dir(f, &is_folder, err);
    if (!rc && aoei_entry_exists(aoei_weights_dir(f), AOEI_CONFIG_FILE))
        rc = load_config(f, &path, err);
    return rc || aoei_may_be_static(f->config_json) ? rc : aoei_config_read(c, f->config_json, path, err);
}

void aoei_model_files_close(aoei_model_files *f) {
    json_decref(f->config_json);
    json_decref(f->record);
    aoei_safetensors_close(f->weights);
    aoei_safetensors_close(f->adapters);
    for (size_t i = 0; i < AOEI_POOLED_TOKEN_MODULE; i++)
        aoei_safetensors_close(f->modules[i]);
    aoei_free(f->tensors);
    aoei_free(f->parts);
    aoei_free(f->int5);
    for (size_t i = 0; i < AOEI_LICENSE_FILES; i++)
        aoei_free(f->license[i]);
    aoei_free(f->lora_layers);
    aoei_free(f->base_dir);
    aoei_free(f->transformer_dir);
    aoei_free(f->dir);
    aoei_file_cache_destroy(f->cache);
    *f = (aoei_model_files){0};
}

const char *aoei_weights_dir(const aoei_model_files *f) {
    return f->base_dir ? f->base_dir : f->transformer_dir ? f->transformer_dir : f->dir;
}

void aoei_tokenizer_dirs(const aoei_model_files *f, const char *dirs[2]) {
    dirs[0] = f->transformer_dir ? f->transformer_dir : f->dir;
    dirs[1] = f->transformer_dir ? f->dir : f->base_dir;
}

aoei_model_dir aoei_settings_dir(const aoei_model_files *f) {
    const int own = aoei_entry_exists(f->dir, "aoe.json") || aoei_entry_exists(f->dir, "modules.json");
    return aoei_files_dir(f, own ? f->dir : aoei_weights_dir(f));
}

int aoei_model_files_find(aoei_model_files *f, const char *dir, aoe_error *err) {
    aoe_error ignored; /* without the base model, the files in `dir` are used */
    int is_folder, rc = begin(f, dir, err);
    if (!rc && aoei_is_adapter_dir(dir) &&
        aoei_peft_base(&f->base_dir, aoei_files_dir(f, f->dir), NULL, &ignored) == AOE_ENOMEM)
        rc = aoei_fail_nomem(err, strlen(dir));
    return rc ? rc : find_transformer_dir(f, &is_folder, err);
}

int aoei_model_files_open_config(aoei_model_files *f, const char *dir, aoe_error *err) {
    const char *path;
    int rc = aoei_model_files_find(f, dir, err);
    if (!rc && aoei_entry_exists(aoei_weights_dir(f), AOEI_CONFIG_FILE))
        rc = load_config(f, &path, err);
    return rc ? rc : complete_static(f, err);
}
