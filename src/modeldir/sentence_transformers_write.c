/* SPDX-License-Identifier: MIT
 * Writes configuration files of sentence-transformers in the format before version 5.4, which every version can read,
 * except for models that render texts with a chat template: versions before 5.4 do not have this setting and ignore it.
 * Settings for which this format has no key are omitted; aoei_settings_limits names them.
 */
#include "modeldir/sentence_transformers_write.h"

#include <stdio.h>
#include <string.h>

#include "base/dir.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "modeldir/layer_pooling.h"
#include "modeldir/layout.h"
#include "modeldir/safetensors_writer.h"
#include "modeldir/token_module.h"
#include "modeldir/transformer_module.h"
#include "tokenizer/tokenizer_file_names.h"
#include "encoder/token_pooling.h"

/* class of the tokenizers of transformers in the module WordEmbeddings */
#define TOKENIZER_CLASSES "sentence_transformers.models.tokenizer."

/* Writes v to DIR/name and releases v. If v is NULL, returns AOE_ENOMEM, because an allocation failed. */
static int save_json(json_t *v, const char *dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir, name);
    int rc = v && path ? aoei_json_save(v, path, err) : aoei_fail_nomem(err, strlen(dir));
    aoei_free(path);
    json_decref(v);
    return rc;
}

/* Returns the entry of modules.json for one module. */
static json_t *module_json(int idx, const char *path, const char *type) {
    char name[16], full[64];
    snprintf(name, sizeof name, "%d", idx);
    snprintf(full, sizeof full, "sentence_transformers.models.%s", type);
    return json_pack("{s:i, s:s, s:s, s:s}", "idx", idx, "name", name, "path", path, "type", full);
}

/* Writes modules.json. first: type of the first module. is_static: 1 for a static model, which has no pooling.
 * averaged: 1 for cls-last-avg pooling, for which a Dense module that computes the mean follows the pooling.
 * normalize_folder: folder of the Normalize module, or NULL. */
static int write_modules(const aoei_settings *s, const char *first, int is_static, int averaged,
                         const char *normalize_folder, const char *dir, aoe_error *err) {
    char name[AOEI_MODULE_FOLDER_SIZE];
    json_t *list = json_array(), *v;
    size_t i;
    int idx = 0, failed = json_array_append_new(list, module_json(idx, "", first ? first : "Transformer"));
    idx++;
    if (s->layer_pooling || aoei_pooling_averages_layers(s->pooling))
        failed |= json_array_append_new(list, module_json(idx++, AOEI_LAYER_POOLING_FOLDER, "WeightedLayerPooling"));
    if (s->token_module != AOEI_TOKEN_MODULE_NONE)
        failed |= json_array_append_new(list, module_json(idx++, aoei_token_module_folder(s->token_module),
                                                          aoei_token_module_name(s->token_module)));
    if (!is_static)
        failed |= json_array_append_new(list, module_json(idx++, "1_Pooling", "Pooling"));
    if (averaged)
        failed |= json_array_append_new(list, module_json(idx++, "2_Dense", "Dense"));
    json_array_foreach(s->modules, i, v) {
        failed |= json_array_append_new(list, module_json(idx++, aoei_settings_module_folder(s, i, name),
                                                          json_string_value(json_object_get(v, "type"))));
    }
    if (normalize_folder)
        failed |= json_array_append_new(list, module_json(idx++, normalize_folder, "Normalize"));
    if (failed) {
        json_decref(list);
        list = NULL;
    }
    return save_json(list, dir, "modules.json", err);
}

/* Writes the file config.json of the Pooling module. */
static int fill_pooling(const aoei_settings *s, size_t hidden, const char *folder, aoe_error *err) {
    const int cls_and_mean = s->pooling == AOE_POOLING_CLS_LAST_AVG;
    int used[AOE_POOLING_COUNT] = {0};
    for (size_t i = 0; i < aoei_pooling_parts(s->pooling); i++)
        used[aoei_pooling_part(s->pooling, i)] = 1;
    return save_json(
        json_pack("{s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "word_embedding_dimension", (json_int_t)hidden,
                  "pooling_mode_cls_token", cls_and_mean || used[AOE_POOLING_CLS], "pooling_mode_mean_tokens",
                  cls_and_mean || used[AOE_POOLING_LAST_AVG] || aoei_pooling_averages_layers(s->pooling),
                  "pooling_mode_max_tokens", used[AOE_POOLING_LAST_MAX], "pooling_mode_mean_sqrt_len_tokens",
                  used[AOE_POOLING_MEAN_SQRT_LEN], "pooling_mode_weightedmean_tokens", used[AOE_POOLING_WEIGHTED_MEAN],
                  "pooling_mode_lasttoken", used[AOE_POOLING_LAST_TOKEN], "include_prompt", !s->exclude_prompt),
        folder, "config.json", err);
}

/* Writes the Dense module for cls-last-avg pooling. The Pooling module returns the concatenation of the [CLS] vector
 * and the mean vector. The Dense module computes the mean of these two vectors: its weight is [I/2 I/2], where I is the
 * identity matrix. */
static int fill_averaging_dense(const aoei_settings *s, size_t hidden, const char *folder, aoe_error *err) {
    (void)s;
    const aoei_st_entry entry = {"linear.weight", AOEI_ST_F32, 2, {hidden, 2 * hidden}};
    aoei_st_writer *w = NULL;
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_calloc(2 * hidden, sizeof *row);
    int rc = path && row ? save_json(json_pack("{s:I, s:I, s:b, s:s}", "in_features", (json_int_t)(2 * hidden),
                                               "out_features", (json_int_t)hidden, "bias", 0, "activation_function",
                                               "torch.nn.modules.linear.Identity"),
                                     folder, "config.json", err)
                         : aoei_fail_nomem(err, 2 * hidden * sizeof *row);
    if (!rc)
        rc = aoei_st_writer_open(&w, path, &entry, 1, err);
    for (size_t i = 0; i < hidden && !rc; i++) {
        row[i] = row[hidden + i] = 0.5f;
        rc = aoei_st_writer_write(w, row, 2 * hidden * sizeof *row, err);
        row[i] = row[hidden + i] = 0;
    }
    if (!rc) {
        rc = aoei_st_writer_commit(w, err);
        w = NULL;
    }
    aoei_st_writer_abort(w);
    aoei_free(row);
    aoei_free(path);
    return rc;
}

/* Adds the prompt template `text` under the name `name`, if the template has the form "PREFIX{text}". Returns -1 if an
 * allocation fails, and 0 otherwise. */
static int add_prefix(json_t *prompts, const char *name, const char *text) {
    size_t len;
    return aoei_prompt_is_prefix(text, &len) ? json_object_set_new(prompts, name, json_stringn(text, len)) : 0;
}

json_t *aoei_prompts_json(const aoei_settings *s) {
    json_t *prompts = json_object(), *v;
    const char *name;
    size_t len;
    int has_default = *s->prompt && aoei_prompt_is_prefix(s->prompt, &len), failed = !prompts;
    json_object_foreach(s->prompts, name, v) {
        failed |= strcmp(name, "default") != 0 && add_prefix(prompts, name, json_string_value(v));
    }
    failed |= add_prefix(prompts, "default", s->prompt);
    if (!failed)
        return json_pack("{s:o, s:s?}", "prompts", prompts, "default_prompt_name", has_default ? "default" : NULL);
    json_decref(prompts);
    return NULL;
}

/* Writes config_sentence_transformers.json: the prompts, the similarity and truncate_dim. */
static int write_model_config(const aoei_settings *s, const char *dir, aoe_error *err) {
    json_t *root = aoei_prompts_json(s);
    if (root && json_object_set_new(root, "similarity_fn_name", json_string(aoei_similarity_name(s->similarity)))) {
        json_decref(root);
        root = NULL;
    }
    if (root && s->truncate_dim &&
        json_object_set_new(root, "truncate_dim", json_integer((json_int_t)s->truncate_dim))) {
        json_decref(root);
        root = NULL;
    }
    return save_json(root, dir, "config_sentence_transformers.json", err);
}

/* A function that writes the files of a module to its folder. */
typedef int fill_fn(const aoei_settings *s, size_t hidden, const char *folder, aoe_error *err);

/* Creates the folder DIR/name and calls `fill` to write its files. If `fill` is NULL, the folder remains empty. */
static int write_folder(const char *dir, const char *name, fill_fn *fill, const aoei_settings *s, size_t hidden,
                        aoe_error *err) {
    char *folder = aoei_path_join(dir, name);
    int rc = folder ? aoei_make_dir(folder, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc && fill)
        rc = fill(s, hidden, folder, err);
    aoei_free(folder);
    return rc;
}

/* Writes a modules.json with a single module, which sentence-transformers rejects. Without the file,
 * sentence-transformers would open the transformer with mean pooling and compute different embeddings; of int8 weights,
 * it would use the integers without their scales. aoe reads the settings from aoe.json instead.
 * module: name of a module that sentence-transformers does not have. */
static int write_unsupported(const char *module, const char *dir, aoe_error *err) {
    return save_json(json_pack("[o]", module_json(0, "", module)), dir, "modules.json", err);
}

/* Returns the contents of sentence_bert_config.json, or NULL if an allocation fails. The modality "message" exists
 * since version 5.4. */
static json_t *transformer_json(const aoei_settings *s) {
    json_t *root = json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)s->max_length, "do_lower_case", s->lowercase);
    if (root && s->chat &&
        aoei_transformer_module_describe(root, s->chat, "feature-extraction", "last_hidden_state",
                                         "token_embeddings")) {
        json_decref(root);
        return NULL;
    }
    return root;
}

int aoei_sentence_transformers_write(const aoei_settings *s, const aoei_encoder_config *c, aoe_storage storage,
                                     const char *dir, aoe_error *err) {
    int rc;
    const size_t hidden = aoei_token_width(c);
    const int is_static = c->arch->library != AOEI_LIBRARY_SENTENCE_TRANSFORMERS;
    const int averaged = s->pooling == AOE_POOLING_CLS_LAST_AVG;
    char normalize[AOEI_MODULE_FOLDER_SIZE];
    snprintf(normalize, sizeof normalize, "%zu_Normalize", 2 + (size_t)averaged + aoei_settings_module_count(s));
    const char *unsupported = storage == AOE_STORAGE_INT8 ? "AoeInt8"
                              : c->bigrams                ? "AoeBigrams"
                                                          : aoei_settings_unsupported(s);
    if (unsupported)
        return write_unsupported(unsupported, dir, err);
    if (is_static && !aoei_entry_exists(dir, "tokenizer.json"))
        return 0;
    if ((rc =
             write_modules(s, c->arch->first_module, is_static, averaged, s->normalize ? normalize : NULL, dir, err)) ||
        (!is_static && (rc = write_folder(dir, "1_Pooling", fill_pooling, s, hidden, err))) ||
        (averaged && (rc = write_folder(dir, "2_Dense", fill_averaging_dense, s, hidden, err))) ||
        (s->normalize && (rc = write_folder(dir, normalize, NULL, s, hidden, err))))
        return rc;
    if (is_static)
        return write_model_config(s, dir, err);
    if (c->arch->first_module) /* WordEmbeddings */
        rc = save_json(json_pack("{s:s, s:b, s:I}", "tokenizer_class",
                                 aoei_entry_exists(dir, AOEI_WORDS_FILE) ? TOKENIZER_CLASSES "WhitespaceTokenizer"
                                                                         : TOKENIZER_CLASSES
                                     "TransformersTokenizerWrapper",
                                 "update_embeddings", !c->frozen_words, "max_seq_length", (json_int_t)s->max_length),
                       dir, AOEI_WORDS_CONFIG, err);
    else
        rc = save_json(transformer_json(s), dir, "sentence_bert_config.json", err);
    return rc ? rc : write_model_config(s, dir, err);
}
