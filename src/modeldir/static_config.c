/* SPDX-License-Identifier: MIT
 * Recognizes static models and word embeddings by the names and shapes of their tensors, and adds missing keys to the
 * contents of config.json.
 */
#include "modeldir/static_config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_registry.h"
#include "encoder/arch_static.h"
#include "encoder/arch_words.h"
#include "modeldir/layout.h"

#define UPDATE "update_embeddings"

int aoei_may_be_static(const json_t *config) {
    const json_t *type = json_object_get(config, "model_type");
    if (!config || (json_is_object(config) && (!type || json_is_null(type))))
        return 1;
    return json_is_string(type) && aoei_arch_find(json_string_value(type)) == &aoei_arch_static;
}

/* Returns the first tensor in the file that is neither `table` nor its scales, or NULL if there is no such tensor. */
static const aoei_st_tensor *unknown_tensor(const aoei_safetensors *f, const aoei_st_tensor *table) {
    const aoei_st_tensor *scale = table ? aoei_safetensors_scale(f, table) : NULL;
    for (size_t i = 0; i < aoei_safetensors_count(f); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f, i);
        if (t != table && t != scale)
            return t;
    }
    return NULL;
}

/* Returns 1 if the key is missing in `config` or its value is null. */
static int is_missing(const json_t *config, const char *key) {
    const json_t *v = json_object_get(config, key);
    return !v || json_is_null(v);
}

static int set_missing_size(json_t *config, const char *key, size_t value) {
    return is_missing(config, key) && json_object_set_new(config, key, json_integer((json_int_t)value));
}

/* Copies the key update_embeddings of wordembedding_config.json, if the file and the key exist, to config. */
static int copy_update(json_t *config, aoei_model_dir dir, aoe_error *err) {
    json_t *words;
    const char *path;
    int update = 0, rc = aoei_model_dir_json(&words, &path, dir, AOEI_WORDS_CONFIG, err);
    if (!rc && words && !(rc = aoei_json_bool(words, UPDATE, &update, path, err)) && is_missing(config, UPDATE) &&
        json_object_set_new(config, UPDATE, json_boolean(update)))
        rc = aoei_fail_nomem(err, strlen(dir.path));
    return rc;
}

int aoei_static_complete(json_t **config, const aoei_safetensors *file, aoei_model_dir dir, aoe_error *err) {
    const aoei_st_tensor *own = aoei_safetensors_find(file, AOEI_STATIC_TENSOR);
    const aoei_st_tensor *words = aoei_safetensors_find(file, AOEI_WORDS_TENSOR);
    const aoei_st_tensor *t = own ? own : words ? words : aoei_safetensors_find(file, AOEI_SENTENCE_TENSOR);
    const aoei_st_tensor *other = unknown_tensor(file, t);
    const char *type = t && t == words ? aoei_arch_words.model_type : aoei_arch_static.other_type;
    const int is_declared = json_is_string(json_object_get(*config, "model_type")), is_matrix = t && t->n_dims == 2;
    if (!is_declared && (!is_matrix || (other && t == words)))
        return 0; /* the model is not static; the caller reports the missing config.json or model_type */
    if (!is_matrix)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' is missing or does not have the shape [tokens, dimensions] of a static model; download "
            "the model again",
            dir.path, AOEI_STATIC_TENSOR);
    if (other)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: tensor '%s' in addition to '%s' is not supported in a static model; export the model without "
            "vocabulary quantization",
            aoei_safetensors_path(file, other), other->name, t->name);
    if (t->dtype == AOEI_ST_U8 && is_missing(*config, "hidden_size"))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' is U8, but hidden_size is missing in config.json; copy the config.json that belongs to "
            "the model, or convert the model again",
            aoei_safetensors_path(file, t), t->name);
    json_t *complete = *config ? aoei_json_copy(*config) : json_object(); /* the contents of the file are shared */
    json_decref(*config);
    *config = complete;
    static const char *const keys[] = {"model_type", "hidden_size", "vocab_size"};
    for (size_t i = 0; i < 3 && *config; i++)
        if (is_missing(*config, keys[i])) {
            char setting[32];
            (void)snprintf(setting, sizeof setting, "encoder.%s", keys[i]);
            const int rc = aoei_source_add(dir.cache, setting, NULL, aoei_safetensors_path(file, t), t->name, err);
            if (rc)
                return rc;
        }
    if (!*config || (!is_declared && json_object_set_new(*config, "model_type", json_string(type))) ||
        set_missing_size(*config, "hidden_size", t->shape[1]) || set_missing_size(*config, "vocab_size", t->shape[0]))
        return aoei_fail_nomem(err, strlen(dir.path));
    return words && t == words ? copy_update(*config, dir, err) : 0;
}
