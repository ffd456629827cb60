/* SPDX-License-Identifier: MIT
 * Reads and writes aoe.json. Settings that an option of the caller has already set are not replaced by the values in
 * aoe.json.
 */
#include "modeldir/settings_json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "modeldir/layer_pooling.h"
#include "modeldir/layout.h"
#include "modeldir/token_module.h"
#include "modeldir/transformer_module.h"
#include "tokenizer/prompt.h"

/* largest supported value of "format_version"; version 2 added the key "dense", version 3 the key "modules" and the
 * poolings mean-sqrt-len, weighted-mean and concatenations, version 4 the keys "truncate_dim",
 * "include_prompt" and "layer_pooling", version 5 the poolings last-two-avg, layer1-last-avg and mask,
 * version 6 the key "cnn", version 7 the module Flow, version 8 the key "lstm", version 9 the key
 * "subtract_empty_prompt", and version 10 the key "chat_template" */
#define MAX_FORMAT_VERSION 10

/* Reads "prompts", a JSON object of named prompt templates. The template with the name "default" is the prompt of the
 * model. */
static int read_prompts(aoei_partial_settings *s, json_t *root, const char *file, aoe_error *err) {
    json_t *prompts = json_object_get(root, "prompts"), *v;
    const char *name;
    if (!prompts)
        return 0;
    if (!json_is_object(prompts))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"prompts\" is not an object of templates; correct the value", file);
    json_object_foreach(prompts, name, v) {
        const char *text = json_string_value(v);
        char what[128];
        if (!text || strlen(text) != json_string_length(v))
            return aoei_fail(err, AOE_EFORMAT, "%s: prompt \"%s\" is not a template with {text}; correct the value",
                             file, name);
        snprintf(what, sizeof what, "the prompt '%.80s'", name);
        if (*text && aoei_template_check(what, text, err)) {
            aoei_error_prefix(err, "%s", file);
            if (err)
                err->code = AOE_EFORMAT;
            return AOE_EFORMAT;
        }
    }
    s->prompts = json_incref(prompts);
    if (s->prompt)
        return 0;
    const char *selected = json_string_value(json_object_get(prompts, "default"));
    return aoei_partial_settings_set_prompt(s, selected ? selected : "", err);
}

static int read_pooling(aoei_partial_settings *s, json_t *root, const char *file, aoe_error *err) {
    const char *name = NULL;
    int rc = aoei_json_string(root, "pooling", &name, NULL, file, err);
    if (rc || !name || s->pooling != AOE_POOLING_AUTO)
        return rc;
    if (aoe_pooling_parse(&s->pooling, name, err)) {
        aoei_error_prefix(err, "%s", file);
        if (err)
            err->code = AOE_EFORMAT;
        return AOE_EFORMAT;
    }
    s->pooling_from = "aoe.json";
    return 0;
}

static int read_max_length(aoei_partial_settings *s, json_t *root, const aoei_encoder_config *c, const char *file,
                           aoe_error *err) {
    size_t n = SIZE_MAX, max = c->arch->max_length(c);
    int rc = aoei_json_size(root, "max_length", &n, file, err);
    if (rc || s->max_length != AOE_AUTO || n == SIZE_MAX)
        return rc;
    if (n < 1 || n > max)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"max_length\" is %zu, but must be from 1 to %zu, the number of positions of the model; correct "
            "the value",
            file, n, max);
    s->max_length = n;
    s->max_length_from = "aoe.json";
    return 0;
}

/* Reads "bidirectional_from", the index of the first layer of a causal model that uses bidirectional attention. */
static int read_bidirectional_from(aoei_partial_settings *s, json_t *root, const aoei_encoder_config *c,
                                   const char *file, aoe_error *err) {
    size_t from = SIZE_MAX;
    const int rc = aoei_json_size(root, "bidirectional_from", &from, file, err);
    if (rc || from == SIZE_MAX)
        return rc;
    if (!c->causal || from > c->layers)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"bidirectional_from\" is %zu; only causal models support it, and it must be at most %zu, the number "
            "of layers; correct or remove the value",
            file, from, c->layers);
    if (s->bidirectional_from == AOE_AUTO)
        s->bidirectional_from = from;
    return 0;
}

/* Returns an error if `name`, a value under the key `key`, is not the name of a folder. */
static int check_folder(const char *key, const char *name, const char *file, aoe_error *err) {
    if (aoei_is_plain_folder(name))
        return 0;
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: \"%s\" is '%s', which is not the name of a folder in the model directory; correct the value",
                     file, key, name);
}

/* Reads the name of the folder of a module into *folder, unless it is already set. key: key of the name, which may be
 * missing.
 */
static int read_folder(char **folder, json_t *root, const char *key, const char *file, aoe_error *err) {
    const char *name = NULL;
    int rc = aoei_json_string(root, key, &name, NULL, file, err);
    if (rc || !name || (rc = check_folder(key, name, file, err)) || *folder)
        return rc;
    *folder = aoei_strdup(name);
    return *folder ? 0 : aoei_fail_nomem(err, strlen(name));
}

/* Reads "cnn" or "lstm", the folder of the module that computes the token vectors that are pooled. */
static int read_token_module(aoei_partial_settings *s, json_t *root, const char *file, aoe_error *err) {
    const int is_cnn = json_object_get(root, "cnn") != NULL, is_lstm = json_object_get(root, "lstm") != NULL;
    if (is_cnn && is_lstm)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"cnn\" and \"lstm\" are both given; correct the value", file);
    if ((!is_cnn && !is_lstm) || s->token_module_folder)
        return 0;
    s->token_module = is_cnn ? AOEI_TOKEN_MODULE_CNN : AOEI_TOKEN_MODULE_LSTM;
    return read_folder(&s->token_module_folder, root, is_cnn ? "cnn" : "lstm", file, err);
}

/* Reads the modules after the pooling: "dense", the folder of a single dense layer, or "modules", a list of modules.
 * Also reads "layer_pooling", "cnn" and "lstm", the folders of the modules before the pooling. */
static int read_modules(aoei_partial_settings *s, json_t *root, const char *file, aoe_error *err) {
    const char *name = NULL;
    json_t *list = json_object_get(root, "modules"), *v;
    size_t i;
    int rc = aoei_json_string(root, "dense", &name, NULL, file, err);
    if (!rc && name && !(rc = check_folder("dense", name, file, err)))
        rc = aoei_module_list_append(&s->modules, "Dense", name, err);
    if (!rc && !(rc = read_folder(&s->layer_pooling, root, "layer_pooling", file, err)))
        rc = read_token_module(s, root, file, err);
    if (!rc && list && (name || !json_is_array(list)))
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: \"modules\" is not a list of modules, or \"dense\" is also given; correct the value", file);
    json_array_foreach(list, i, v) {
        const char *type = json_string_value(json_object_get(v, "type")),
                   *at = json_string_value(json_object_get(v, "path"));
        if (rc)
            return rc;
        if (!type || !at)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: element %zu of \"modules\" has no type or no path; correct the value", file, i);
        if (!(rc = check_folder("path", at, file, err)))
            rc = aoei_module_list_append(&s->modules, type, at, err);
    }
    return rc;
}

/* Reads "chat_template": an object with the keys "format" and "options". */
static int read_chat(aoei_partial_settings *s, json_t *root, const char *file, aoe_error *err) {
    json_t *chat = json_object_get(root, "chat_template"), *options = json_object_get(chat, "options");
    if (!chat)
        return 0;
    if (!json_is_object(chat) || (options && !json_is_object(options)))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"chat_template\" is not an object with \"format\" and \"options\"; correct it", file);
    json_t *checked = NULL;
    const int rc = aoei_chat_options_read(&checked, options, file, err);
    json_decref(checked);
    if (!rc && !s->chat)
        s->chat = json_incref(chat);
    return rc;
}

/* Reads all fields of aoe.json. */
static int read_fields(aoei_partial_settings *s, json_t **record, json_t *root, const aoei_encoder_config *c,
                       const char *file, aoe_error *err) {
    size_t version = 0;
    int rc, normalize = AOE_AUTO, lowercase = AOE_AUTO;
    json_t *training = json_object_get(root, "training");
    if (!json_is_object(root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; correct or remove the file", file);
    if ((rc = aoei_json_need_size(root, "format_version", &version, file, err)))
        return rc;
    if (version > MAX_FORMAT_VERSION)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: format_version is %zu, but this version of aoe supports at most %d; update aoe", file,
                         version, MAX_FORMAT_VERSION);
    if ((rc = read_pooling(s, root, file, err)) || (rc = read_max_length(s, root, c, file, err)) ||
        (rc = read_bidirectional_from(s, root, c, file, err)) || (rc = read_prompts(s, root, file, err)) ||
        (rc = read_modules(s, root, file, err)) || (rc = aoei_json_bool(root, "normalize", &normalize, file, err)) ||
        (rc = aoei_json_bool(root, "lowercase", &lowercase, file, err)) ||
        (rc = aoei_json_bool(root, "include_prompt", &s->include_prompt, file, err)) ||
        (rc = aoei_json_bool(root, "subtract_empty_prompt", &s->subtract_empty_prompt, file, err)) ||
        (rc = aoei_partial_settings_read_output(s, root, "similarity", file, err)) ||
        (rc = read_chat(s, root, file, err)))
        return rc;
    if (training && !json_is_object(training))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"training\" is not an object; remove it", file);
    s->skip_modules = json_is_string(json_object_get(root, "pooling")) && normalize != AOE_AUTO;
    if (s->normalize == AOE_AUTO)
        s->normalize = normalize;
    s->lowercase = lowercase;
    *record = json_incref(training);
    return 0;
}

/* Records the sources of the settings in aoe.json. */
static int add_sources(aoei_file_cache *cache, json_t *root, const char *path, aoe_error *err) {
    static const char *const keys[] = {
        "pooling",      "max_length",     "bidirectional_from",    "prompts",    "modules",
        "cnn",          "lstm",           "layer_pooling",         "normalize",  "dense",
        "lowercase",    "include_prompt", "subtract_empty_prompt", "similarity", "truncate_dim",
        "chat_template"};
    int rc = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !rc; i++)
        if (json_object_get(root, keys[i]) && !json_is_null(json_object_get(root, keys[i])))
            rc = aoei_source_add(cache, keys[i], root, path, keys[i], err);
    if (!rc && json_object_get(root, "dense"))
        rc = aoei_source_add(cache, "modules", NULL, path, "dense", err);
    return rc || !json_object_get(root, "prompts") ? rc : aoei_source_add(cache, "prompt", NULL, path, "prompts", err);
}

int aoei_settings_json_read(aoei_partial_settings *s, json_t **record, aoei_model_dir dir, const aoei_encoder_config *c,
                            aoe_error *err) {
    json_t *root;
    const char *path;
    int rc = aoei_model_dir_json(&root, &path, dir, "aoe.json", err);
    if (!rc && root && !(rc = read_fields(s, record, root, c, path, err)))
        rc = add_sources(dir.cache, root, path, err);
    return rc;
}

/* Returns 1 if the only module is a dense layer. */
static int is_single_dense(const aoei_settings *s) {
    const char *type = json_string_value(json_object_get(json_array_get(s->modules, 0), "type"));
    return aoei_settings_module_count(s) == 1 && !strcmp(type, "Dense");
}

/* Returns the value of "format_version": the first version in which all settings of the model exist, so that older
 * versions of aoe open as many models as possible. */
static int format_version(const aoei_settings *s) {
    const size_t n = aoei_settings_module_count(s);
    const aoe_pooling p = s->pooling;
    if (s->chat)
        return 10;
    if (s->subtract_empty_prompt)
        return 9;
    if (s->token_module == AOEI_TOKEN_MODULE_LSTM)
        return 8;
    if (aoei_settings_has_flow(s))
        return 7;
    if (s->token_module == AOEI_TOKEN_MODULE_CNN)
        return 6;
    if (p > AOE_POOLING_CELL_MAX && p < AOE_POOLING_COUNT)
        return 5;
    if (s->truncate_dim || s->exclude_prompt || s->layer_pooling)
        return 4;
    if (p == AOE_POOLING_MEAN_SQRT_LEN || p == AOE_POOLING_WEIGHTED_MEAN || p >= AOE_POOLING_CONCAT)
        return 3;
    return is_single_dense(s) ? 2 : n ? 3 : 1;
}

/* Adds the modules to aoe.json with the folders to which they are written. Returns 0 or -1. */
static int add_modules(json_t *root, const aoei_settings *s) {
    char name[AOEI_MODULE_FOLDER_SIZE];
    json_t *list = NULL, *v;
    size_t i;
    if (is_single_dense(s))
        return json_object_set_new(root, "dense", json_string(aoei_settings_module_folder(s, 0, name)));
    json_array_foreach(s->modules, i, v) {
        if (aoei_module_list_append(&list, json_string_value(json_object_get(v, "type")),
                                    aoei_settings_module_folder(s, i, name), NULL)) {
            json_decref(list);
            return -1;
        }
    }
    return list ? json_object_set_new(root, "modules", list) : 0;
}

/* Adds the settings that most models do not have. Returns 0 or -1. */
static int add_optional(json_t *root, const aoei_settings *s) {
    return (s->token_module != AOEI_TOKEN_MODULE_NONE &&
            json_object_set_new(root, s->token_module == AOEI_TOKEN_MODULE_CNN ? "cnn" : "lstm",
                                json_string(aoei_token_module_folder(s->token_module)))) ||
                   (s->layer_pooling &&
                    json_object_set_new(root, "layer_pooling", json_string(AOEI_LAYER_POOLING_FOLDER))) ||
                   (s->lowercase && json_object_set_new(root, "lowercase", json_true())) ||
                   (s->exclude_prompt && json_object_set_new(root, "include_prompt", json_false())) ||
                   (s->subtract_empty_prompt && json_object_set_new(root, "subtract_empty_prompt", json_true())) ||
                   (s->truncate_dim &&
                    json_object_set_new(root, "truncate_dim", json_integer((json_int_t)s->truncate_dim))) ||
                   (s->similarity != AOE_SIMILARITY_COSINE &&
                    json_object_set_new(root, "similarity", json_string(aoei_similarity_name(s->similarity)))) ||
                   (s->chat && json_object_set(root, "chat_template", s->chat)) ||
                   (s->bidirectional &&
                    json_object_set_new(root, "bidirectional_from", json_integer((json_int_t)s->bidirectional_from)))
               ? -1
               : 0;
}

json_t *aoei_settings_to_json(const aoei_settings *s, json_t *record) {
    json_t *prompts = s->prompts ? aoei_json_copy(s->prompts) : json_object();
    if (*s->prompt && json_object_set_new(prompts, "default", json_string(s->prompt))) {
        json_decref(prompts);
        return NULL;
    }
    if (!*s->prompt)
        json_object_del(prompts, "default"); /* if the key does not exist, json_object_del fails, which is not an error
                                                here */
    json_t *root = json_pack("{s:i, s:s, s:o, s:I, s:b}", "format_version", format_version(s), "pooling",
                             aoe_pooling_name(s->pooling), "prompts", prompts, "max_length", (json_int_t)s->max_length,
                             "normalize", s->normalize);
    if (root &&
        (add_modules(root, s) || add_optional(root, s) || (record && json_object_set(root, "training", record)))) {
        json_decref(root);
        return NULL;
    }
    return root;
}
