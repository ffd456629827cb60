/* SPDX-License-Identifier: MIT
 * Opens the tokenizer of a model directory, and determines the options with which the model tokenizes texts, from its
 * configuration and its settings.
 */
#include "modeldir/model_tokenizer.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/struct_layout.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "modeldir/layout.h"
#include "modeldir/sentence_transformers.h"
#include "modeldir/weight_layout.h"
#include "tokenizer/chat_encode.h"
#include "tokenizer/tokenizer_file_names.h"
#include "tokenizer/tokenizer_files.h"

int aoei_text_settings_read(int *lowercase, json_t **chat, aoei_model_dir dir, aoe_error *err) {
    const char *path;
    json_t *root, *in_modules = NULL;
    int value = AOE_AUTO, of_modules = AOE_AUTO, rc = aoei_model_dir_json(&root, &path, dir, "aoe.json", err);
    *chat = NULL;
    if (!rc && root)
        rc = aoei_json_bool(root, "lowercase", &value, path, err);
    if (!rc)
        rc = aoei_sentence_transformers_text_settings(&of_modules, &in_modules, dir, err);
    json_t *own = json_object_get(root, "chat_template");
    if (!rc)
        *chat = json_incref(json_is_object(own) ? own : in_modules);
    *lowercase = !rc && (value == AOE_AUTO ? of_modules : value) == 1;
    json_decref(in_modules);
    return rc;
}

/* Parses the chat template of the tokenizer in `dir`. */
static int use_chat(aoe_tokenizer *t, const json_t *chat, int pairs, const char *dir, aoe_error *err) {
    static const char folder[] = "additional_chat_templates";
    if (aoei_entry_exists(dir, folder))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: chat templates in the folder %s are not supported; store the template of texts in "
                         "chat_template.jinja, and remove the folder",
                         dir, folder);
    return aoei_tokenizer_use_chat(t, chat, pairs, dir, err);
}

int aoei_model_tokenizer_open(aoe_tokenizer **t, const char **dir, const aoei_model_files *f, const json_t *chat,
                              int pairs, aoe_error *err) {
    const char *dirs[2];
    aoei_tokenizer_dirs(f, dirs);
    int rc = 0;
    *t = NULL;
    for (size_t i = 0; i < 2 && dirs[i] && !*t && !rc; i++) {
        *dir = dirs[i];
        rc = aoei_tokenizer_open_optional(t, aoei_files_dir(f, *dir), err);
    }
    if (!rc && *t && chat && (rc = use_chat(*t, chat, pairs, *dir, err))) {
        aoe_tokenizer_close(*t);
        *t = NULL;
    }
    return rc;
}

int aoe_tokenizer_open(aoe_tokenizer **t, const char *dir, aoe_error *err) {
    if (t)
        *t = NULL;
    AOEI_CHECK(err, t);
    char found[PATH_MAX];
    aoei_model_files f = {0};
    json_t *chat = NULL;
    int lowercase, rc = dir ? 0 : aoe_default_model(found, sizeof found, err);
    dir = dir ? dir : found;
    if (!rc)
        rc = aoei_model_files_find(&f, dir, err);
    if (!rc && aoei_is_dir(dir))
        rc = aoei_text_settings_read(&lowercase, &chat, aoei_settings_dir(&f), err);
    if (!rc)
        rc = aoei_model_tokenizer_open(t, &dir, &f, chat, 0, err);
    if (!rc && !*t)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: no tokenizer found; add tokenizer.json, or vocab.txt with tokenizer_config.json, or vocab.json with "
            "merges.txt",
            dir);
    json_decref(chat);
    aoei_model_files_close(&f);
    return rc;
}

/* Sets the options that differ from the defaults. */
static int read_encode_options(aoe_encode_options *o, const char *dir, aoe_error *err) {
    aoei_model_files f;
    int rc = aoei_model_files_open_config(&f, dir, err);
    const char *type = json_string_value(json_object_get(f.config_json, "model_type"));
    const aoei_arch *arch = !rc && type ? aoei_arch_find(type) : NULL;
    aoei_encoder_config c = {.arch = arch};
    if (arch && f.weights)
        aoei_weight_layout_find(&c, f.weights);
    o->no_special_tokens = c.arch && c.arch->plain_tokens;
    o->drop_unknown = o->no_special_tokens && !c.arch->keeps_unknown;
    if (!rc && aoei_entry_exists(aoei_weights_dir(&f), AOEI_WORDS_FILE)) /* this tokenizer has no unknown token */
        o->drop_unknown = 1;
    json_t *chat = NULL;
    if (!o->no_special_tokens && !rc)
        rc = aoei_text_settings_read(&o->lowercase, &chat, aoei_settings_dir(&f), err);
    o->chat_template = chat != NULL;
    json_decref(chat);
    aoei_model_files_close(&f);
    /* a directory may contain only a tokenizer, or an architecture that aoe does not support */
    return rc == AOE_ENOMEM || rc == AOE_EUNSUPPORTED ? rc : 0;
}

int aoe_encode_options_of(aoe_encode_options *o, const char *dir, aoe_error *err) {
    AOEI_CHECK(err, o);
    char found[PATH_MAX];
    aoe_encode_options full;
    aoe_encode_options_defaults(&full);
    int code = aoei_struct_check(o, &aoei_layout_aoe_encode_options, __func__, err);
    if (!code && !dir)
        code = aoe_default_model(found, sizeof found, err);
    if (!code)
        code = read_encode_options(&full, dir ? dir : found, err);
    aoei_struct_write(o, &full, &aoei_layout_aoe_encode_options);
    return code;
}
