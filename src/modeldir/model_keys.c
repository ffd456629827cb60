/* SPDX-License-Identifier: MIT
 * Finds the JSON files of a model and checks their keys.
 */
#include "modeldir/model_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "base/json_keys.h"
#include "modeldir/layout.h"
#include "modeldir/token_module.h"
#include "modeldir/transformer_module.h"

/* Checks that the file `name` in `dir`, if it exists, contains an object, and checks its keys. subject: see
 * aoei_json_keys_check. */
static int check_file(aoei_model_dir dir, const char *name, aoei_key_file kind, const char *subject,
                      const aoei_log *log, aoe_error *err) {
    json_t *root;
    const char *path;
    int rc = aoei_model_dir_json(&root, &path, dir, name, err);
    if (!rc && root && !json_is_object(root))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the file again", path);
    if (!rc && root)
        rc = aoei_json_keys_check(root, kind, subject, path, log, err);
    return rc;
}

/* Checks the configuration of the Transformer module in `dir`, which is the first of these files that exists. */
static int check_transformer(aoei_model_dir dir, const aoei_log *log, aoe_error *err) {
    for (size_t i = 0; aoei_transformer_files[i]; i++)
        if (aoei_entry_exists(dir.path, aoei_transformer_files[i]))
            return check_file(dir, aoei_transformer_files[i], AOEI_KEYS_TRANSFORMER, NULL, log, err);
    return 0;
}

/* Returns an error if transformer_task in the configuration of the Transformer module in `dir` does not let the module
 * compute token embeddings, which a Pooling module needs. */
static int check_task(aoei_model_dir dir, aoe_error *err) {
    json_t *root = NULL;
    const char *path = NULL;
    int rc = 0;
    for (size_t i = 0; aoei_transformer_files[i] && !path && !rc; i++)
        if (aoei_entry_exists(dir.path, aoei_transformer_files[i]))
            rc = aoei_model_dir_json(&root, &path, dir, aoei_transformer_files[i], err);
    const char *task = json_string_value(json_object_get(root, "transformer_task"));
    if (!rc && task && strcmp(task, "feature-extraction") != 0)
        rc = aoei_fail(err, AOE_EUNSUPPORTED,
                       "%s: transformer_task '%s' gives no token embeddings, which the module Pooling needs; set it to "
                       "feature-extraction",
                       path, task);
    return rc;
}

/* Returns 1 if the list of modules contains the module Pooling. */
static int has_pooling(const json_t *modules) {
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const char *type = json_string_value(json_object_get(json_array_get(modules, i), "type"));
        const char *dot = type ? strrchr(type, '.') : NULL;
        if (dot && !strcmp(dot + 1, "Pooling"))
            return 1;
    }
    return 0;
}

/* Checks the configuration of a module. module: element of modules.json; pooled: 1 if the list contains the module
 * Pooling. */
static int check_module(aoei_model_dir dir, const json_t *module, int pooled, const aoei_log *log, aoe_error *err) {
    const char *type = json_string_value(json_object_get(module, "type")),
               *folder = json_string_value(json_object_get(module, "path"));
    const char *dot = type ? strrchr(type, '.') : NULL;
    if (!dot || !folder || (*folder && !aoei_is_plain_folder(folder)))
        return 0; /* the reader of modules.json rejects this element */
    int rc = aoei_model_dir_folder(&dir, dir, folder, err);
    if (rc)
        return rc;
    if (!strcmp(dot + 1, "Transformer"))
        return (rc = check_transformer(dir, log, err)) || !pooled ? rc : check_task(dir, err);
    if (!strcmp(dot + 1, "WordEmbeddings"))
        return check_file(dir, AOEI_WORDS_CONFIG, AOEI_KEYS_MODULE, dot + 1, log, err);
    if (aoei_token_module_find(dot + 1))
        return check_file(dir, aoei_token_module_file(aoei_token_module_find(dot + 1)), AOEI_KEYS_MODULE, dot + 1, log,
                          err);
    return *folder ? check_file(dir, AOEI_CONFIG_FILE, AOEI_KEYS_MODULE, dot + 1, log, err) : 0;
}

/* Appends DIR/name to the list of names in `list` if the file exists. */
static void add_name(char *list, size_t size, size_t *n, const char *dir, const char *name) {
    const size_t at = strlen(list);
    if (aoei_entry_exists(dir, name) && ++*n)
        snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
}

/* Warns about files of sentence-transformers in a directory without modules.json and aoe.json: aoe uses them, but
 * sentence-transformers ignores them there. */
static void warn_without_modules(const char *dir, const aoei_log *log) {
    char names[256] = "";
    size_t n = 0;
    add_name(names, sizeof names, &n, dir, "1_Pooling/config.json");
    for (size_t i = 0; aoei_transformer_files[i]; i++)
        add_name(names, sizeof names, &n, dir, aoei_transformer_files[i]);
    add_name(names, sizeof names, &n, dir, "config_sentence_transformers.json");
    aoei_hub_name hub; /* a part of a model in the cache: src/model/open.c warns */
    if (n && !aoei_entry_exists(dir, "aoe.json") && !aoei_hub_name_of(&hub, dir) && !*hub.id)
        aoei_log_write(
            log, AOE_LOG_WARNING,
            "%s: the directory contains %s but no modules.json; aoe uses %s, and sentence-transformers ignores %s, so "
            "that the embeddings can differ",
            dir, names, n > 1 ? "these files" : "this file", n > 1 ? "them" : "it");
}

/* Checks the files of sentence-transformers in `dir`. */
static int check_modules(aoei_model_dir dir, const aoei_log *log, aoe_error *err) {
    json_t *root;
    const char *path;
    int rc = aoei_model_dir_json(&root, &path, dir, "modules.json", err);
    for (size_t i = 0; i < json_array_size(root) && !rc; i++) {
        rc = aoei_json_keys_check(json_array_get(root, i), AOEI_KEYS_MODULE_LIST, NULL, path, log, err);
        if (!rc)
            rc = check_module(dir, json_array_get(root, i), has_pooling(root), log, err);
    }
    if (!rc && !root) {
        warn_without_modules(dir.path, log);
        rc = check_transformer(dir, log, err);
    }
    if (!rc && !root)
        rc = check_file(dir, "1_Pooling/config.json", AOEI_KEYS_MODULE, "Pooling", log, err);
    return rc ? rc
              : check_file(dir, "config_sentence_transformers.json", AOEI_KEYS_SENTENCE_TRANSFORMERS, NULL, log, err);
}

/* Returns the name of the file in `dir` that contains a chat template, or NULL if there is none. Sets *rc to the error
 * of reading tokenizer_config.json. chat_template.json is ignored: only multimodal processors of transformers read
 * it. */
static const char *find_chat_template(aoei_model_dir dir, int *rc, aoe_error *err) {
    static const char *const files[] = {"chat_template.jinja", "additional_chat_templates"};
    json_t *root;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (aoei_entry_exists(dir.path, files[i]))
            return files[i];
    *rc = aoei_model_dir_json(&root, NULL, dir, "tokenizer_config.json", err);
    const json_t *inside = json_object_get(root, "chat_template");
    return json_string_length(inside) || json_array_size(inside) || json_object_size(inside) ? "tokenizer_config.json"
                                                                                             : NULL;
}

/* Warns if the directory has a chat template but neither modules.json nor aoe.json: sentence-transformers then renders
 * every text with the template. A language model that is a reranker is an exception, because its template is checked
 * elsewhere. settings: directory of the settings; dir: directory of the tokenizer. */
static int warn_chat_template(const aoei_model_files *f, const char *settings, aoei_model_dir dir, const aoei_log *log,
                              aoe_error *err) {
    int rc = 0;
    if (f->decoder != AOEI_DECODER_NONE || aoei_entry_exists(settings, "modules.json") ||
        aoei_entry_exists(settings, "aoe.json"))
        return 0;
    const char *file = find_chat_template(dir, &rc, err);
    if (!rc && file)
        aoei_log_write(
            log, AOE_LOG_WARNING,
            "%s: the directory has a chat template (%s) and no modules.json, so sentence-transformers renders every "
            "text with the template; aoe embeds the texts without it, and the embeddings differ; to render the texts, "
            "save the model with sentence-transformers 5.4 or later",
            settings, file);
    return rc;
}

/* Checks model_type in config_sentence_transformers.json. If it names another class, sentence-transformers does not use
 * the modules of the directory, such as those after the Transformer of a cross-encoder. */
static int check_model_type(aoei_model_dir dir, const aoei_encoder_config *c, aoe_error *err) {
    json_t *root = NULL, *modules;
    const char *path = NULL;
    int rc = aoei_model_dir_json(&modules, NULL, dir, "modules.json", err);
    if (!rc && modules)
        rc = aoei_model_dir_json(&root, &path, dir, "config_sentence_transformers.json", err);
    const json_t *type = json_object_get(root, "model_type");
    const char *name = json_string_value(type);
    if (!rc && type && (!name || !*name))
        rc = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: model_type has a value that is not supported (supported: SentenceTransformer, CrossEncoder)", path);
    else if (!rc && name && !strcmp(name, "CrossEncoder") && !c->modules.classes && json_array_size(modules) > 1)
        rc = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: model_type is CrossEncoder, so the modules of this model compute scores; score pairs with it (aoe "
            "rerank)",
            path);
    return rc;
}

/* Warns if use_bidirectional_attention makes the attention of a causal model bidirectional, because transformers uses
 * the key only in Gemma 3 models. transformers and aoe use is_causal false in all causal models. */
static void warn_direction(const json_t *config, const char *type, const char *path, const aoei_log *log) {
    static const char *const types[] = {"llama", "mistral", "ministral", "qwen2", "qwen3"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i]) && json_is_true(json_object_get(config, "use_bidirectional_attention")) &&
            !json_is_false(json_object_get(config, "is_causal")))
            aoei_log_write(
                log, AOE_LOG_WARNING,
                "%s: use_bidirectional_attention is true, so the attention is bidirectional; transformers ignores this "
                "key of %s models, and its attention is causal; set \"is_causal\" to false for bidirectional attention "
                "in both, or remove use_bidirectional_attention for causal attention",
                path, type);
}

/* Warns about adapter_config.json next to config.json if there are no weights of adapters: transformers cannot open
 * such a directory. With weights, opening the model fails. */
static void warn_adapters(const char *dir, const aoei_log *log) {
    if (aoei_entry_exists(dir, AOEI_PEFT_CONFIG) && aoei_entry_exists(dir, AOEI_CONFIG_FILE))
        aoei_log_write(log, AOE_LOG_WARNING,
                       "%s: the directory contains " AOEI_PEFT_CONFIG
                       " but no weights of adapters; the model is used without "
                       "adapters, and transformers cannot open it; remove " AOEI_PEFT_CONFIG
                       " if the adapters were merged into the model",
                       dir);
}

int aoei_model_keys_check(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_log *log,
                          aoe_error *err) {
    static const char tokenizer[] = "tokenizer_config.json";
    const char *dirs[2];
    aoei_tokenizer_dirs(f, dirs);
    const aoei_model_dir dir = aoei_files_dir(f, dirs[1] && !aoei_entry_exists(dirs[0], tokenizer) ? dirs[1] : dirs[0]);
    const aoei_model_dir settings = aoei_settings_dir(f);
    char *path = aoei_path_join(aoei_weights_dir(f), AOEI_CONFIG_FILE);
    int rc = path ? aoei_json_keys_check(f->config_json, AOEI_KEYS_CONFIG, c->arch->model_type, path, log, err)
                  : aoei_fail_nomem(err, strlen(f->dir));
    if (!rc)
        warn_adapters(aoei_weights_dir(f), log);
    if (!rc)
        warn_direction(f->config_json, c->arch->model_type, path, log);
    if (!rc && f->base_dir)
        rc = check_file(aoei_files_dir(f, f->dir), AOEI_PEFT_CONFIG, AOEI_KEYS_ADAPTERS, NULL, log, err);
    if (!rc)
        rc = check_file(settings, "aoe.json", AOEI_KEYS_AOE, NULL, log, err);
    if (!rc)
        rc = check_modules(settings, log, err);
    if (!rc)
        rc = check_model_type(settings, c, err);
    if (!rc)
        rc = check_file(dir, tokenizer, AOEI_KEYS_TOKENIZER, NULL, log, err);
    if (!rc)
        rc = check_file(dir, "special_tokens_map.json", AOEI_KEYS_SPECIAL_TOKENS, NULL, log, err);
    if (!rc)
        rc = warn_chat_template(f, settings.path, dir, log, err);
    aoei_free(path);
    return rc;
}
