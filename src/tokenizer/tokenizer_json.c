/* SPDX-License-Identifier: MIT
 * Reads tokenizer.json of Hugging Face tokenizers, version 1.0. An error in the section "decoder" is reported when
 * tokens are decoded, because the section is not needed for encoding. The section "truncation" is ignored, because the
 * caller sets the maximum length. The section "padding" is ignored, because texts are never padded. The vocabulary is
 * the largest part of the file and is read without the JSON parser if possible.
 */
#include "tokenizer/tokenizer_json.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "tokenizer/class_tokens.h"
#include "tokenizer/decoder_read.h"
#include "tokenizer/input_names.h"
#include "tokenizer/listed_tokens.h"
#include "tokenizer/pretokenizer_read.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_config.h"
#include "tokenizer/tokenizer_keys.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/vocab_scan.h"

/* Parses a kept file, if it exists, into *root, which must be a JSON object. */
static int parse_kept(json_t **root, const aoei_kept_file *f, const char *path, aoe_error *err) {
    const int rc = f->data ? aoei_json_parse(root, f->data, f->size, path, err) : 0;
    return !rc && *root && !json_is_object(*root)
               ? aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the file again", path)
               : rc;
}

/* Returns 1 if a named special token of `user`, the settings in tokenizer_config.json, is content[len]. */
static int is_named(const void *user, const char *content, size_t len) {
    for (size_t i = 0; i < AOEI_CLASS_TOKENS; i++) {
        const json_t *v = json_object_get(user, aoei_class_token_keys[i]),
                     *s = json_is_object(v) ? json_object_get(v, "content") : v;
        if (json_string_length(s) == len && json_is_string(s) && !memcmp(json_string_value(s), content, len))
            return 1;
    }
    return 0;
}

/* Adds the tokens of added_tokens.json, which transformers reads only if there is no "added_tokens_decoder". */
static int add_listed(aoe_tokenizer *t, const json_t *config, const char *path, aoe_error *err) {
    json_t *added = NULL;
    int rc = parse_kept(&added, &t->file[AOEI_FILE_ADDED_TOKENS], path, err);
    if (!rc && !json_object_get(config, "added_tokens_decoder"))
        rc = aoei_listed_tokens_add_ids(&t->added, aoei_subword_vocab(&t->model), added, is_named, config, path, err);
    json_decref(added);
    return rc;
}

static int read_root(aoe_tokenizer *t, aoei_vocab *scanned, json_t *root, const json_t *config,
                     const aoei_json_paths *paths, aoe_error *err) {
    const char *path = paths->json, *config_path = paths->config;
    const char *version = "1.0";
    int rc;
    if (!json_is_object(root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the file again", path);
    if ((rc = aoei_json_string(root, "version", &version, NULL, path, err)))
        return rc;
    if (strcmp(version, "1.0") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: version \"%s\" is not supported; save the tokenizer as version 1.0", path, version);
    aoei_tokenizer_keys_collect(&t->unknown, root);
    if ((rc = aoei_input_names_read(&t->token_types, config, config_path, err)) ||
        (rc = aoei_tokenizer_config_apply(root, config, config_path, err)) ||
        (rc = aoei_normalizer_read(&t->normalizer, json_object_get(root, "normalizer"), path, err)) ||
        (rc = aoei_pretokenizer_read(&t->pretokenizer, json_object_get(root, "pre_tokenizer"), path, err)) ||
        (rc = aoei_postprocessor_read(&t->post, json_object_get(root, "post_processor"), path, err)) ||
        (rc = aoei_token_decoder_read(&t->decoder, json_object_get(root, "decoder"), path, err)) ||
        (rc = aoei_subword_read(&t->model, scanned, json_object_get(root, "model"), path, err)) ||
        (rc = aoei_added_tokens_read(&t->added, aoei_subword_vocab(&t->model), json_object_get(root, "added_tokens"),
                                     path, err)) ||
        (rc = add_listed(t, config, paths->added_tokens, err)) ||
        (rc = aoei_tokenizer_config_finish(t, root, config, config_path, err)))
        return rc;
    return aoei_tokenizer_finish(t, path, err);
}

/* Parses data[len], the contents of the file, except data[begin, end), which is its vocabulary. If the JSON is invalid,
 * returns 0 and sets *root to NULL. The caller then parses the whole file, so that the message contains the right
 * position. Errors: AOE_ENOMEM. */
static int parse_rest(json_t **root, const char *data, size_t len, size_t begin, size_t end, const char *path,
                      aoe_error *err) {
    aoei_buffer rest = {0};
    int rc = AOE_ENOMEM;
    *root = NULL;
    aoei_buffer_append(&rest, data, begin);
    aoei_buffer_append(&rest, "{}", 2);
    aoei_buffer_append(&rest, data + end, len - end);
    if (rest.failed)
        aoei_fail_nomem(err, len - (end - begin));
    else
        rc = aoei_json_parse(root, rest.data, rest.len, path, err);
    aoei_buffer_free(&rest);
    return rc == AOE_ENOMEM ? rc : 0;
}

/* Returns 1 if the model is static. The libraries of static models read no other file of the tokenizer than
 * tokenizer.json. */
static int is_static(const json_t *model) {
    const char *type = json_string_value(json_object_get(model, "model_type"));
    return type && (!strcmp(type, "model2vec") || !strcmp(type, "static"));
}

/* Returns 1 if data[len] contains the string "ByteLevel". */
static int has_byte_level(const char *data, size_t len) {
    static const char name[] = "\"ByteLevel\"";
    const char *end = data + len;
    for (const char *at = data; (at = memchr(at, '"', (size_t)(end - at))); at++)
        if ((size_t)(end - at) >= sizeof name - 1 && !memcmp(at, name, sizeof name - 1))
            return 1;
    return 0;
}

/* Sets "tokenizer_class" of *config, which may be NULL, to the class that transformers selects. */
static int set_class(json_t **config, const json_t *model, const char *subword, int byte_level, const char *file,
                     aoe_error *err) {
    const char *written = NULL;
    const int rc = aoei_json_string(*config, "tokenizer_class", &written, NULL, file, err);
    if (rc || (!written && !model))
        return rc;
    json_t *class = json_string(aoei_tokenizer_class_select(written, model, subword, byte_level));
    if (!*config)
        *config = json_object();
    return json_object_set_new(*config, "tokenizer_class", class) ? aoei_fail_nomem(err, 0) : 0;
}

/* Sets *config to the settings in tokenizer_config.json, as a new reference. As in transformers,
 * special_tokens_map.json replaces the special tokens if there is no "added_tokens_decoder". NULL: there are no
 * settings. */
static int read_config(json_t **config, const aoe_tokenizer *t, const aoei_json_paths *paths, aoe_error *err) {
    json_t *map = NULL, *value;
    const char *key;
    int rc = parse_kept(config, &t->file[AOEI_FILE_CONFIG], paths->config, err);
    if (!rc)
        rc = parse_kept(&map, &t->file[AOEI_FILE_SPECIAL_MAP], paths->special_map, err);
    if (!rc && map && !*config && !(*config = json_object()))
        rc = aoei_fail_nomem(err, 0);
    if (!rc && !json_object_get(*config, "added_tokens_decoder"))
        json_object_foreach(map, key, value) if (!rc && json_object_set(*config, key, value)) rc =
            aoei_fail_nomem(err, 0);
    json_decref(map);
    return rc;
}

int aoei_tokenizer_read_json(aoe_tokenizer *t, const char *data, size_t len, const json_t *model,
                             const aoei_json_paths *paths, aoe_error *err) {
    const char *path = paths->json;
    json_t *config = NULL;
    aoei_vocab v = {.n_ids = 0};
    json_t *root = NULL;
    size_t begin, end;
    int rc = aoei_vocab_scan(&v, &begin, &end, data, len, err);
    if (rc == 1 && !(rc = parse_rest(&root, data, len, begin, end, path, err)) && !root)
        aoei_vocab_free(&v);
    if (!rc && !root)
        rc = aoei_json_parse(&root, data, len, path, err);
    if (!rc && !is_static(model))
        rc = read_config(&config, t, paths, err);
    if (!rc && !is_static(model))
        rc = set_class(&config, model, json_string_value(json_object_get(json_object_get(root, "model"), "type")),
                       has_byte_level(data, len), paths->config, err);
    if (!rc)
        rc = read_root(t, &v, root, config, paths, err);
    json_decref(config);
    json_decref(root);
    aoei_vocab_free(&v);
    return rc;
}
