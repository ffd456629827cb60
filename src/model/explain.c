/* SPDX-License-Identifier: MIT
 * Lists the settings of an open model with their sources. The list contains every value that aoe writes when it saves
 * the model, so that no setting is missing. The readers of the files recorded the sources (base/file_cache.h), except
 * those of the encoder: which keys of config.json an architecture reads is found by trial, with changed values.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "aoe.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/file_cache.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "model/describe.h"
#include "model/model.h"
#include "modeldir/layout.h"
#include "modeldir/pooled_modules.h"
#include "modeldir/settings_json.h"
#include "tokenizer/tokenizer_parts.h"

typedef struct explanation {
    const aoe_model *m;
    aoe_model_setting_fn fn;
    void *user;
    char *config_path; /* path of config.json, owned */
    aoe_error *err;
} explanation;

/* Calls e->fn. value: NULL: an allocation failed. */
static int emit(const explanation *e, const char *name, const json_t *value, const char *file, const char *key,
                const char *reason) {
    char *text = value ? aoei_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (!text)
        return aoei_fail_nomem(e->err, 0);
    const aoe_model_setting s = {
        .struct_size = sizeof s, .name = name, .value = text, .file = file, .key = key, .reason = file ? NULL : reason};
    e->fn(e->user, &s);
    aoei_free(text);
    return 0;
}

/* Like emit, for a new reference, which is released. */
static int emit_new(const explanation *e, const char *name, json_t *value, const char *file, const char *key,
                    const char *reason) {
    const int rc = emit(e, name, value, file, key, reason);
    json_decref(value);
    return rc;
}

/* Calls e->fn with the recorded source of the setting; without one, the value is the default. */
static int emit_recorded(const explanation *e, const char *name, const json_t *value) {
    const json_t *source = json_object_get(aoei_sources(e->m->files.cache), name);
    const char *file = json_string_value(json_object_get(source, "file"));
    return emit(e, name, value, file, file ? json_string_value(json_object_get(source, "key")) : NULL,
                source ? "option" : "default");
}

/* Returns 1 if `key` is in the NULL-terminated list `keys`. */
static int is_on(const char *const *keys, const char *key) {
    while (*keys && strcmp(*keys, key) != 0)
        keys++;
    return *keys != NULL;
}

/* Calls e->fn for all elements of `values`, which is released, as settings PREFIX.KEY, and then for the other recorded
 * settings with this prefix. others: keys of these settings, NULL-terminated; NULL: all keys. */
static int emit_group(const explanation *e, const char *prefix, json_t *values, const char *const *others) {
    const char *key;
    const json_t *v;
    char name[512];
    const size_t len = strlen(prefix);
    int rc = values ? 0 : aoei_fail_nomem(e->err, 0);
    json_object_foreach(values, key, v) {
        (void)snprintf(name, sizeof name, "%s.%s", prefix, key);
        rc = rc ? rc : emit_recorded(e, name, v);
    }
    json_object_foreach((json_t *)(uintptr_t)aoei_sources(e->m->files.cache), key, v) {
        if (!rc && !strncmp(key, prefix, len) && key[len] == '.' && !json_object_get(values, key + len + 1) &&
            (!others || is_on(others, key + len + 1)))
            rc = emit_recorded(e, key, json_object_get(v, "value"));
    }
    json_decref(values);
    return rc;
}

/* ---------------------------------------------------------------- encoder */

/* Sets *out to the keys that aoe writes for a model with the key `key` of `config` replaced by `value`, or removed if
 * value is NULL. If such a config.json is not accepted, *out is NULL. The function releases `value`. */
static int resolve(const explanation *e, json_t **out, const json_t *config, const char *key, json_t *value) {
    aoei_encoder_config c = {0};
    json_t *changed = aoei_json_copy(config);
    aoe_error rejected;
    *out = NULL;
    int rc = !changed ? AOE_ENOMEM : 0;
    if (!rc && key && value)
        rc = json_object_set(changed, key, value) ? AOE_ENOMEM : 0;
    else if (!rc && key)
        (void)json_object_del(changed, key);
    if (!rc)
        rc = aoei_config_read(&c, changed, AOEI_CONFIG_FILE, &rejected);
    if (!rc)
        rc = !(*out = json_object()) || c.arch->write(&c, *out) ? AOE_ENOMEM : 0;
    json_decref(changed);
    json_decref(value);
    if (rc) {
        json_decref(*out);
        *out = NULL;
    }
    return rc == AOE_ENOMEM ? aoei_fail_nomem(e->err, 0) : 0;
}

/* Sets *is_read to 1 if the architecture reads the key: another value is then not accepted, or changes the result. */
static int check_read(const explanation *e, int *is_read, const json_t *config, const char *key, const json_t *base) {
    json_t *changed, *invalid = json_string("?");
    const int rc = invalid ? resolve(e, &changed, config, key, invalid) : aoei_fail_nomem(e->err, 0);
    *is_read = !rc && !json_equal(changed, base);
    if (!rc)
        json_decref(changed);
    return rc;
}

/* Sets *from to the key of `config` that determines the value of `key`, which config.json does not contain, or to
 * NULL. */
static int find_origin(const explanation *e, const char **from, const json_t *config, const char *key,
                       const json_t *base) {
    const char *other;
    json_t *v;
    int rc = 0;
    *from = NULL;
    json_object_foreach((json_t *)(uintptr_t)config, other, v) {
        json_t *without = NULL;
        if (!rc && !*from && !json_is_null(v))
            rc = resolve(e, &without, config, other, NULL);
        if (without && !json_equal(json_object_get(without, key), json_object_get(base, key)))
            *from = other;
        json_decref(without);
    }
    return rc;
}

static int emit_key(const explanation *e, const json_t *config, const char *key, const json_t *base) {
    const json_t *given = json_object_get(config, key), *value = json_object_get(base, key);
    const char *from = key;
    char name[256];
    int is_read, rc = check_read(e, &is_read, config, key, base);
    (void)snprintf(name, sizeof name, "encoder.%s", key);
    if (rc || !is_read)
        return rc;
    if (json_object_get(aoei_sources(e->m->files.cache), name))
        return emit_recorded(e, name, value ? value : given);
    if (!given && strstr(key, "rope_") && json_is_object(json_object_get(config, "rope_parameters")))
        from = "rope_parameters"; /* contains the values of the older keys, also if they are the defaults */
    else if (value && (!given || (json_is_null(given) && !json_is_null(value))))
        rc = find_origin(e, &from, config, key, base);
    return rc ? rc : emit(e, name, value ? value : given, from ? e->config_path : NULL, from, "default");
}

static int explain_encoder(const explanation *e) {
    const json_t *config = e->m->files.config_json, *layers;
    const char *key;
    json_t *base, *v;
    int rc = resolve(e, &base, config, NULL, NULL);
    json_object_foreach((json_t *)(uintptr_t)config, key, v) rc = rc ? rc : emit_key(e, config, key, base);
    json_object_foreach(base, key, v) {
        if (!rc && !json_object_get(config, key))
            rc = emit_key(e, config, key, base);
    }
    layers = json_object_get(base, "num_hidden_layers");
    if (!rc && layers && (size_t)json_integer_value(layers) != e->m->config.layers)
        rc = emit_new(e, "layers", json_integer((json_int_t)e->m->config.layers), NULL, NULL, "option");
    json_decref(base);
    return rc;
}

/* --------------------------------------------------------------- adapters */

static int explain_adapters(const explanation *e) {
    static const char *const others[] = {"rank_pattern",        "alpha_pattern",  "bias", "modules_to_save",
                                         "layers_to_transform", "layers_pattern", NULL};
    const aoei_lora *l = &e->m->lora;
    if (!e->m->files.base_dir)
        return 0;
    return emit_group(e, "adapters",
                      json_pack("{s:o, s:I, s:f, s:f, s:b, s:b, s:s}", "base_model_name_or_path",
                                aoei_name_json(e->m->files.base_dir), "r", (json_int_t)l->r, "lora_alpha", l->alpha,
                                "lora_dropout", l->dropout, "use_rslora", l->rank_stabilized, "use_dora", l->magnitudes,
                                "target_modules", e->m->lora_targets ? e->m->lora_targets : ""),
                      others);
}

/* --------------------------------------------------------------- settings */

/* Returns the settings and their values as a new reference, or NULL if out of memory. */
static json_t *settings_json(const aoe_model *m) {
    const aoei_settings *s = &m->settings;
    json_t *all = aoei_settings_to_json(s, NULL), *v,
           *defaults = json_pack("{s:b, s:b, s:b, s:n, s:s, s:n, s:[]}", "lowercase", 0, "include_prompt", 1,
                                 "subtract_empty_prompt", 0, "truncate_dim", "similarity", "cosine", "chat_template",
                                 "modules");
    const char *key;
    int failed = !all || !defaults || json_object_set_new(all, "prompt", json_string(s->prompt)) ||
                 (s->modules && json_object_set(all, "modules", s->modules)) ||
                 (s->prompts && json_object_set(all, "prompts", s->prompts));
    json_object_foreach(defaults, key, v) failed =
        failed || (!json_object_get(all, key) && json_object_set(all, key, v));
    json_decref(defaults);
    if (!failed)
        return all;
    json_decref(all);
    return NULL;
}

/* Calls e->fn with the pooling, whose source is config.json if an architecture has a key for it. */
static int emit_pooling(const explanation *e, const json_t *value) {
    static const char *const keys[] = {"cell_pooling", "emb_pooler"};
    if (strcmp(e->m->settings.pooling_from, AOEI_CONFIG_FILE) != 0)
        return emit_recorded(e, "pooling", value);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(e->m->files.config_json, keys[i]))
            return emit(e, "pooling", value, e->config_path, keys[i], NULL);
    return emit_recorded(e, "pooling", value);
}

/* The settings of a cross-encoder include neither the pooling nor other settings of embeddings, unless its head
 * consists of modules after the pooling. */
static int explain_settings(const explanation *e) {
    static const char *const hidden[] = {"format_version", "dense", NULL};
    static const char *const of_embeddings[] = {"pooling",      "normalize",  "modules", "include_prompt",
                                                "truncate_dim", "similarity", NULL};
    const aoe_model *m = e->m;
    const int no_pooling = m->config.modules.classes && !m->config.modules.head_in_modules;
    json_t *all = settings_json(m), *v;
    const char *key;
    int rc = all ? 0 : aoei_fail_nomem(e->err, 0);
    json_object_foreach(all, key, v) {
        if (rc || is_on(hidden, key) || (no_pooling && is_on(of_embeddings, key)))
            continue;
        rc = strcmp(key, "pooling") ? emit_recorded(e, key, v) : emit_pooling(e, v);
    }
    json_decref(all);
    if (rc)
        return rc;
    if (!m->config.modules.classes) {
        const json_t *option = m->dims ? json_object_get(aoei_sources(m->files.cache), "dims") : NULL;
        return emit_new(e, "dims", json_integer((json_int_t)aoe_model_dims(m)), NULL, NULL,
                        option ? "option" : "size of the vectors after the last module and truncate_dim");
    }
    json_t *name = json_string(aoe_score_activation_name(m->settings.activation));
    rc = name ? emit_recorded(e, "activation", name) : aoei_fail_nomem(e->err, 0);
    json_decref(name);
    if (!rc && m->settings.reranker_template)
        rc = emit_new(e, "reranker_template", json_true(), NULL, NULL, "causal language model without modules.json");
    if (!rc && m->files.logit_score.given)
        rc = emit_group(e, "logit_score", json_object(), NULL);
    return rc ? rc
              : emit_new(e, "outputs", json_integer((json_int_t)m->config.modules.classes), NULL, NULL,
                         "size of the classification head");
}

/* Calls e->fn with the configurations of the modules before and after the pooling. */
static int explain_modules(const explanation *e) {
    const aoei_settings *s = &e->m->settings;
    int rc = s->layer_pooling ? emit_group(e, s->layer_pooling, json_object(), NULL) : 0;
    if (!rc && s->token_module_folder)
        rc = emit_group(e, s->token_module_folder, json_object(), NULL);
    for (size_t i = 0; i < json_array_size(s->modules) && i < e->m->config.modules.n && !rc; i++)
        rc = emit_group(e, json_string_value(json_object_get(json_array_get(s->modules, i), "path")),
                        aoei_module_config_json(&e->m->config.modules.list[i]), NULL);
    return rc;
}

/* -------------------------------------------------------------- tokenizer */

/* Returns the path of a file of the tokenizer. */
static const char *tokenizer_path(const explanation *e, int which) {
    const json_t *source = json_object_get(aoei_sources(e->m->files.cache), aoei_tokenizer_file_name(which));
    return json_string_value(json_object_get(source, "file"));
}

/* Calls e->fn with keys of a file of the tokenizer. keys: [n] names. */
static int emit_file(const explanation *e, int which, const char *const *keys, size_t n) {
    const aoei_kept_file *f = &e->m->tokenizer->file[which];
    json_t *root = NULL;
    int rc = f->data ? aoei_json_parse(&root, f->data, f->size, aoei_tokenizer_file_name(which), e->err) : 0;
    for (size_t i = 0; i < n && !rc; i++) {
        const json_t *v = json_object_get(root, keys[i]);
        char setting[128];
        (void)snprintf(setting, sizeof setting, "tokenizer.%s", keys[i]);
        if (v && !json_is_null(v))
            rc = emit(e, setting, v, tokenizer_path(e, which), keys[i], NULL);
    }
    json_decref(root);
    return rc;
}

/* Calls e->fn with the chat template, if texts are rendered with it. */
static int emit_template(const explanation *e) {
    static const char *const key[] = {"chat_template"};
    const aoei_kept_file *f = &e->m->tokenizer->file[AOEI_FILE_CHAT_TEMPLATE];
    if (!e->m->settings.chat)
        return 0;
    return f->data ? emit_new(e, "tokenizer.chat_template", json_stringn(f->data, f->size),
                              tokenizer_path(e, AOEI_FILE_CHAT_TEMPLATE), NULL, NULL)
                   : emit_file(e, AOEI_FILE_CONFIG, key, 1);
}

static int explain_tokenizer(const explanation *e) {
    static const int vocabularies[] = {AOEI_FILE_TOKENIZER_JSON, AOEI_FILE_VOCAB_TXT, AOEI_FILE_VOCAB_JSON,
                                       AOEI_FILE_WORDS};
    static const char *const sections[] = {"normalizer", "pre_tokenizer", "post_processor"};
    static const char *const keys[] = {
        "tokenizer_class", "do_lower_case",   "strip_accents",     "tokenize_chinese_chars",
        "split_by_punct",  "keep_accents",    "add_prefix_space",  "add_bos_token",
        "add_eos_token",   "truncation_side", "model_input_names", "bos_token",
        "eos_token",       "unk_token",       "sep_token",         "pad_token",
        "cls_token",       "mask_token"};
    const aoe_tokenizer *t = e->m->tokenizer;
    size_t i = 0;
    if (!t)
        return 0;
    while (i < 3 && !t->file[vocabularies[i]].data)
        i++;
    int rc = emit_new(e, "tokenizer", json_string(aoe_tokenizer_kind(t)), tokenizer_path(e, vocabularies[i]),
                      i ? NULL : "model", "default");
    if (!rc && !i)
        rc = emit_file(e, AOEI_FILE_TOKENIZER_JSON, sections, sizeof sections / sizeof *sections);
    if (!rc)
        rc = emit_file(e, AOEI_FILE_CONFIG, keys, sizeof keys / sizeof *keys);
    return rc ? rc : emit_template(e);
}

/* ---------------------------------------------------------------- weights */

static int explain_weights(const explanation *e) {
    const aoe_model *m = e->m;
    const aoei_safetensors *w = m->files.weights;
    const char *file = w && aoei_safetensors_count(w) ? aoei_safetensors_path(w, aoei_safetensors_at(w, 0)) : NULL;
    const int rc = emit_new(e, "storage", json_string(m->files.storage), file, NULL, "default");
    return rc ? rc
              : emit_new(e, "dtype", json_string(aoei_model_computed(m)), NULL, NULL,
                         m->dtype == AOE_DTYPE_AUTO ? "default" : "option");
}

int aoe_model_explain(const aoe_model *m, aoe_model_setting_fn fn, void *user, aoe_error *err) {
    AOEI_CHECK(err, m, fn);
    explanation e = {m, fn, user, aoei_path_join(aoei_weights_dir(&m->files), AOEI_CONFIG_FILE), err};
    int rc = e.config_path ? explain_encoder(&e) : aoei_fail_nomem(err, 0);
    if (!rc)
        rc = explain_adapters(&e);
    if (!rc)
        rc = explain_settings(&e);
    if (!rc)
        rc = explain_modules(&e);
    if (!rc)
        rc = explain_tokenizer(&e);
    if (!rc)
        rc = explain_weights(&e);
    aoei_free(e.config_path);
    return rc;
}
