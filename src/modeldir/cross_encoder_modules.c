/* SPDX-License-Identifier: MIT
 * Reads modules.json and the configuration of the module LogitScore of a cross-encoder.
 */
#include "modeldir/cross_encoder_modules.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "modeldir/layout.h"

/* Returns the last component of the class name of module i, such as "Pooling", or "" if the module has no class
 * name. */
static const char *class_of(const json_t *modules, size_t i) {
    const char *type = json_string_value(json_object_get(json_array_get(modules, i), "type"));
    const char *dot = type ? strrchr(type, '.') : NULL;
    return dot ? dot + 1 : "";
}

/* Returns 1 if config_sentence_transformers.json describes a cross-encoder. */
static int is_declared(aoei_model_dir dir) {
    json_t *root;
    const int rc = aoei_model_dir_json(&root, NULL, dir, "config_sentence_transformers.json", NULL);
    const char *type = rc ? NULL : json_string_value(json_object_get(root, "model_type"));
    return type && !strcmp(type, "CrossEncoder");
}

/* Reads config.json of the module LogitScore in the folder `at`. */
static int read_logit_score(aoei_logit_score *s, aoei_model_dir dir, const char *at, aoe_error *err) {
    json_t *config = NULL;
    const char *input = NULL, *path;
    if (!at || !aoei_is_plain_folder(at))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the path of the module LogitScore in modules.json must be a subfolder of the model directory",
            dir.path);
    int rc = aoei_model_dir_folder(&dir, dir, at, err);
    if (!rc)
        rc = aoei_model_dir_need_json(&config, &path, dir, "config.json", err);
    *s = (aoei_logit_score){.given = 1, .false_token = AOE_AUTO};
    if (!rc)
        rc = aoei_json_need_size(config, "true_token_id", &s->true_token, path, err);
    if (!rc && !json_is_null(json_object_get(config, "false_token_id")))
        rc = aoei_json_size(config, "false_token_id", &s->false_token, path, err);
    if (!rc)
        rc = aoei_json_string(config, "module_input_name", &input, NULL, path, err);
    if (!rc && input && strcmp(input, "causal_logits") != 0)
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: module_input_name '%s' is not supported (supported: causal_logits)",
                       path, input);
    return rc ? rc : aoei_source_add_keys(dir.cache, "logit_score", config, path, err);
}

int aoei_cross_encoder_modules_read(aoei_module_head *head, aoei_logit_score *score, aoei_model_dir dir,
                                    aoe_error *err) {
    json_t *modules;
    int rc = aoei_model_dir_json(&modules, NULL, dir, "modules.json", err);
    const size_t n = json_array_size(modules);
    *score = (aoei_logit_score){0};
    *head = AOEI_MODULE_HEAD_OTHER;
    if (!rc && (!modules || (n == 1 && !strcmp(class_of(modules, 0), "Transformer"))))
        *head = AOEI_MODULE_HEAD_NONE;
    else if (!rc && n == 2 && !strcmp(class_of(modules, 1), "LogitScore")) {
        *head = AOEI_MODULE_HEAD_LOGITS;
        rc = read_logit_score(score, dir, json_string_value(json_object_get(json_array_get(modules, 1), "path")), err);
    } else if (!rc && n > 2 && !strcmp(class_of(modules, 1), "Pooling") && is_declared(dir))
        *head = AOEI_MODULE_HEAD_POOLED;
    return rc;
}
