/* SPDX-License-Identifier: MIT
 * Reads modules.json, the configuration of the module LogitScore, and the chat template of a cross-encoder.
 */
#include "modeldir/cross_encoder_modules.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "modeldir/layout.h"

enum { MAX_TEMPLATE = 1 << 20 /* maximum size of a chat template in bytes */ };

/* Returns the last component of the class name of module i, such as "Pooling", or "" if the module has no class name. */
static const char *class_of(const json_t *modules, size_t i) {
    const char *type = json_string_value(json_object_get(json_array_get(modules, i), "type"));
    const char *dot = type ? strrchr(type, '.') : NULL;
    return dot ? dot + 1 : "";
}

/* Returns 1 if config_sentence_transformers.json describes a cross-encoder. */
static int is_declared(const char *dir) {
    json_t *root;
    const int rc = aoei_json_load_optional(&root, NULL, dir, "config_sentence_transformers.json", NULL);
    const char *type = rc ? NULL : json_string_value(json_object_get(root, "model_type"));
    const int is = type && !strcmp(type, "CrossEncoder");
    json_decref(root);
    return is;
}

/* Reads config.json of the module LogitScore in the folder `at`. */
static int read_logit_score(aoei_logit_score *s, const char *dir, const char *at, aoe_error *err) {
    json_t *config = NULL;
    const char *input = NULL;
    char *folder = at && aoei_is_plain_folder(at) ? aoei_path_join(dir, at) : NULL,
         *path = folder ? aoei_path_join(folder, "config.json") : NULL;
    int rc =
        !at || !aoei_is_plain_folder(at)
            ? aoei_fail(err, AOE_EUNSUPPORTED,
                        "%s: the path of the module LogitScore in modules.json must be a subfolder of the model directory", dir)
        : path ? aoei_json_load(&config, path, err)
               : aoei_fail_nomem(err, strlen(dir));
    *s = (aoei_logit_score){.given = 1, .false_token = AOE_AUTO};
    if (!rc)
        rc = aoei_json_need_size(config, "true_token_id", &s->true_token, path, err);
    if (!rc && !json_is_null(json_object_get(config, "false_token_id")))
        rc = aoei_json_size(config, "false_token_id", &s->false_token, path, err);
    if (!rc)
        rc = aoei_json_string(config, "module_input_name", &input, NULL, path, err);
    if (!rc && input && strcmp(input, "causal_logits") != 0)
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: module_input_name '%s' is not supported (supported: causal_logits)", path,
                       input);
    json_decref(config);
    aoei_free(path);
    aoei_free(folder);
    return rc;
}

int aoei_cross_encoder_modules_read(aoei_module_head *head, aoei_logit_score *score, const char *dir, aoe_error *err) {
    json_t *modules;
    int rc = aoei_json_load_optional(&modules, NULL, dir, "modules.json", err);
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
    json_decref(modules);
    return rc;
}

/* ---------------------------------------------------------- chat template */

/* Sets *text to the chat template of the tokenizer in `dir`, or to NULL if it has none. The caller frees *text. */
static int load_template(char **text, const char *dir, aoe_error *err) {
    json_t *config = NULL;
    size_t size = 0;
    char *path = aoei_path_join(dir, "chat_template.jinja");
    *text = NULL;
    int rc = path ? 0 : aoei_fail_nomem(err, strlen(dir));
    if (!rc && aoei_exists(path))
        rc = aoei_read_file(text, &size, path, MAX_TEMPLATE, err);
    else if (!rc && !(rc = aoei_json_load_optional(&config, NULL, dir, "tokenizer_config.json", err))) {
        const char *inside = json_string_value(json_object_get(config, "chat_template"));
        *text = inside ? aoei_strdup(inside) : NULL;
        rc = inside && !*text ? aoei_fail_nomem(err, strlen(inside)) : 0;
    }
    json_decref(config);
    aoei_free(path);
    return rc;
}

/* Returns the first character after `part` in `text`, or NULL if `text` does not contain `part`. White space, backslashes, and
 * the letter n after a backslash are ignored in both strings, because a template may contain a line break or its escape
 * sequence. */
static const char *find_part(const char *text, const char *part) {
    for (; *text; text++) {
        const char *t = text, *p = part;
        while (*p && *t) {
            if (strchr(" \n\r\t", *p))
                p++;
            else if (strchr(" \n\r\t", *t))
                t++;
            else if (*t == '\\')
                t += t[1] == 'n' ? 2 : 1;
            else if (*t == *p)
                t++, p++;
            else
                break;
        }
        while (*p && strchr(" \n\r\t", *p))
            p++;
        if (!*p)
            return t;
    }
    return NULL;
}

int aoei_chat_template_read(int *formats, const char *dir, aoe_error *err) {
    static const char *const parts[] = {
        "<|im_start|>system",
        "Judge whether the Document meets the requirements based on the Query and the Instruct provided.",
        "Note that the answer can only be \"yes\" or \"no\".",
        "<|im_end|>",
        "<|im_start|>user",
        "<Instruct>:",
        "<Query>:",
        "<Document>:",
        "<|im_end|>",
        "<|im_start|>assistant",
        "<think>",
        "</think>"};
    char *text;
    int rc = load_template(&text, dir, err);
    const char *at = text;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && at; i++)
        at = find_part(at, parts[i]);
    *formats = at != NULL;
    if (!rc && text && !at)
        rc = aoei_fail(err, AOE_EUNSUPPORTED,
                       "%s: the chat template of this reranker is not supported; aoe supports the template of Qwen3-Reranker, "
                       "and rerankers without a chat template",
                       dir);
    aoei_free(text);
    return rc;
}
