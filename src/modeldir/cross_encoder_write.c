/* SPDX-License-Identifier: MIT
 * Writes the description of a cross-encoder.
 */
#include "modeldir/cross_encoder_write.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "modeldir/cross_encoder.h"
#include "modeldir/sentence_transformers_write.h"
#include "modeldir/transformer_module.h"
#include "tokenizer/input_names.h"
#include "tokenizer/padding.h"

#define TRANSFORMER_MODULE "sentence_transformers.base.modules.transformer.Transformer"
#define TOKENIZER_CONFIG   "tokenizer_config.json"

/* Returns the value of `key` if it is neither missing nor null, otherwise NULL. */
static const json_t *given(const json_t *root, const char *key) {
    const json_t *v = json_object_get(root, key);
    return v && !json_is_null(v) ? v : NULL;
}

/* Returns the padding token of a cross-encoder, or -1 if it needs none. In transformers, a causal model reads the last
 * token that is not the padding token, and cannot score several pairs at a time without one. */
static int32_t padding_of(const aoei_encoder_config *c, const aoe_tokenizer *t) {
    return t && c->pooling == AOE_POOLING_LAST_TOKEN ? aoei_tokenizer_padding(t) : -1;
}

/* ---------------------------------------------------------------- config.json */

int aoei_cross_encoder_describe(json_t *config, const aoei_encoder_config *c, const aoei_settings *s,
                                const aoe_tokenizer *t) {
    char name[64], number[32], label[48];
    aoei_score_activation_name(name, sizeof name, s->activation);
    int bad = json_object_set_new(config, "architectures", json_pack("[s]", c->arch->head->class_name));
    bad |= json_object_set_new(config, "sentence_transformers", json_pack("{s:s}", "activation_fn", name));
    json_object_del(config, "sbert_ce_default_activation_function");
    const int32_t padding = padding_of(c, t);
    if (padding >= 0)
        bad |= json_object_set_new(config, "pad_token_id", json_integer(padding));
    if (aoei_head_classes(config) == c->modules.classes && given(config, "id2label"))
        return bad;
    json_t *names = json_object(), *ids = json_object();
    for (size_t k = 0; k < c->modules.classes; k++) {
        snprintf(number, sizeof number, "%zu", k);
        snprintf(label, sizeof label, "LABEL_%zu", k);
        bad |= json_object_set_new(names, number, json_string(label));
        bad |= json_object_set_new(ids, label, json_integer((json_int_t)k));
    }
    bad |= json_object_set_new(config, "id2label", names);
    bad |= json_object_set_new(config, "label2id", ids);
    json_object_del(config, "num_labels");
    return bad;
}

/* -------------------------------------------------------- sentence-transformers */

/* Writes v to DIR/name and releases v. If v is NULL, returns AOE_ENOMEM, because an allocation failed. */
static int save_json(json_t *v, const char *dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir, name);
    const int rc = v && path ? aoei_json_save(v, path, err) : aoei_fail_nomem(err, strlen(dir));
    aoei_free(path);
    json_decref(v);
    return rc;
}

/* Returns the keys that replace those of config.json. An adapter directory uses the config.json of the base model. */
static json_t *config_keys(const aoei_encoder_config *c, const aoe_tokenizer *t) {
    const int32_t padding = padding_of(c, t);
    json_t *keys = json_pack("{s:I}", "num_labels", (json_int_t)c->modules.classes);
    if (keys && padding >= 0 && json_object_set_new(keys, "pad_token_id", json_integer(padding))) {
        json_decref(keys);
        return NULL;
    }
    return keys;
}

/* Returns the contents of sentence_bert_config.json, or NULL if an allocation fails. */
static json_t *transformer_json(const aoei_encoder_config *c, const aoei_settings *s, const aoe_tokenizer *t) {
    json_t *root = json_pack("{s:I, s:b, s:o}", "max_seq_length", (json_int_t)s->max_length, "do_lower_case",
                             s->lowercase, "config_kwargs", config_keys(c, t));
    if (root && !aoei_transformer_module_describe(root, s->chat, "sequence-classification", "logits", "scores"))
        return root;
    json_decref(root);
    return NULL;
}

static int write_modules(const aoei_encoder_config *c, const aoei_settings *s, const aoe_tokenizer *t, const char *dir,
                         aoe_error *err) {
    char name[64];
    aoei_score_activation_name(name, sizeof name, s->activation);
    int rc =
        save_json(json_pack("[{s:i, s:s, s:s, s:s}]", "idx", 0, "name", "0", "path", "", "type", TRANSFORMER_MODULE),
                  dir, "modules.json", err);
    if (!rc)
        rc = save_json(transformer_json(c, s, t), dir, "sentence_bert_config.json", err);
    json_t *prompts = rc ? NULL : aoei_prompts_json(s);
    if (prompts && (json_object_set_new(prompts, "model_type", json_string("CrossEncoder")) ||
                    json_object_set_new(prompts, "activation_fn", json_string(name)))) {
        json_decref(prompts);
        prompts = NULL;
    }
    return rc ? rc : save_json(prompts, dir, "config_sentence_transformers.json", err);
}

/* ------------------------------------------------------- tokenizer_config.json */

/* Returns the list of the inputs of the model. Token types are listed only if aoe passes them to the model. */
static json_t *input_names(const aoei_encoder_config *c, const aoe_tokenizer *t, const json_t *config_json) {
    if (c->token_types > 1 && aoei_tokenizer_passes_types(t, config_json))
        return json_pack("[s, s, s]", "input_ids", "token_type_ids", "attention_mask");
    return json_pack("[s, s]", "input_ids", "attention_mask");
}

/* Sets the keys of `root`, the contents of tokenizer_config.json. */
static int set_tokenizer_keys(json_t *root, const aoei_encoder_config *c, const aoei_settings *s,
                              const aoe_tokenizer *t, const json_t *config_json) {
    int bad = json_object_set_new(root, "model_max_length", json_integer((json_int_t)s->max_length));
    bad |= json_object_set_new(root, "model_input_names", input_names(c, t, config_json));
    const int32_t padding = padding_of(c, t);
    if (padding >= 0) {
        const aoe_text token = aoe_tokenizer_token(t, padding);
        bad |= json_object_set_new(root, "pad_token", json_stringn(token.data, token.len));
    }
    return bad;
}

static int write_tokenizer_config(const aoei_encoder_config *c, const aoei_settings *s, const aoe_tokenizer *t,
                                  const json_t *config_json, const char *dir, aoe_error *err) {
    json_t *root;
    char *path;
    int rc = aoei_json_load_optional(&root, &path, dir, TOKENIZER_CONFIG, err);
    if (!rc && !root)
        root = json_object();
    if (!rc)
        rc = root && !set_tokenizer_keys(root, c, s, t, config_json) ? aoei_json_save(root, path, err)
                                                                     : aoei_fail_nomem(err, strlen(dir));
    json_decref(root);
    aoei_free(path);
    return rc;
}

int aoei_cross_encoder_write(const aoei_encoder_config *c, const aoei_settings *s, const aoe_tokenizer *t,
                             const json_t *config_json, const char *dir, aoe_error *err) {
    const int rc = write_modules(c, s, t, dir, err);
    return rc || !t ? rc : write_tokenizer_config(c, s, t, config_json, dir, err);
}
