/* SPDX-License-Identifier: MIT
 * Applies the settings of tokenizer_config.json. The class of the tokenizer determines which settings have an effect.
 * The class PreTrainedTokenizerFast (also TokenizersBackend) uses the components of tokenizer.json unchanged.
 */
#include "tokenizer/tokenizer_config.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/class_parts.h"
#include "tokenizer/class_tokens.h"
#include "tokenizer/listed_tokens.h"
#include "tokenizer/tokenizer_parts.h"

/* Removes the added tokens of tokenizer.json if added_tokens_decoder is an empty object, which replaces them. The
 * classes that build their components then add only the named special tokens. */
static int apply_empty_decoder(json_t *root, const char *class, const json_t *config, aoe_error *err) {
    const json_t *decoder = json_object_get(config, "added_tokens_decoder");
    if (!aoei_class_parts_known(class) || !json_is_object(decoder) || json_object_size(decoder) ||
        !json_object_get(root, "added_tokens"))
        return 0;
    return json_object_set_new(root, "added_tokens", json_array()) ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_tokenizer_config_apply(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    int rc = apply_empty_decoder(root, class, config, err);
    if (!rc)
        rc = aoei_class_parts_set(root, class, config, file, err);
    return rc ? rc : aoei_class_tokens_set_model(root, config, file, err);
}

/* Adds the special token s unless it was added before. If `known` is 1, it is added only if the vocabulary contains
 * it. */
static int add_special(aoe_tokenizer *t, aoei_listed_token *s, int known, const char *file, aoe_error *err) {
    const aoei_vocab *v = aoei_subword_vocab(&t->model);
    if (!s->len || aoei_added_tokens_find(&t->added, s->content, s->len) != (size_t)-1 ||
        (known && aoei_vocab_id(v, s->content, s->len) < 0))
        return 0;
    return aoei_listed_tokens_add(&t->added, v, s, 1, file, err);
}

/* Adds the special token `value`, the value of `key` or an element of it. */
static int add_value(aoe_tokenizer *t, const json_t *value, const char *key, aoei_added_flags flags, const char *file,
                     aoe_error *err) {
    aoei_listed_token s;
    const int rc = aoei_listed_token_read_special(&s, value, flags, key, file, err);
    return rc ? rc : add_special(t, &s, 0, file, err);
}

/* Adds the named special tokens. The defaults of the class are added only if the vocabulary contains them. */
static int add_named(aoe_tokenizer *t, const json_t *config, const char *file, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < AOEI_CLASS_TOKENS && !rc; i++) {
        const json_t *value = json_object_get(config, aoei_class_token_keys[i]);
        const char *missing = value ? NULL : aoei_class_tokens_default(config, i);
        aoei_listed_token s = {.content = missing, .len = missing ? strlen(missing) : 0};
        s.flags = aoei_class_tokens_flags(config, i);
        if (value && !json_is_null(value))
            rc = add_value(t, value, aoei_class_token_keys[i], s.flags, file, err);
        else if (s.content)
            rc = add_special(t, &s, 1, file, err);
    }
    return rc;
}

/* Adds the special tokens under the keys that contain several of them: lists of tokens, and objects whose values are
 * tokens. */
static int add_lists(aoe_tokenizer *t, const json_t *config, const char *file, aoe_error *err) {
    static const struct {
        const char *key;
        int may_be_list;
    } keys[] = {{"additional_special_tokens", 1}, {"extra_special_tokens", 1}, {"model_specific_special_tokens", 0}};
    static const aoei_added_flags special = {.special = 1};
    int rc = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !rc; i++) {
        json_t *list = json_object_get(config, keys[i].key), *v;
        const char *name;
        if (list && !json_is_null(list) && !json_is_object(list) && !(json_is_array(list) && keys[i].may_be_list))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: \"%s\" is not %s an object whose values are tokens; correct or remove it", file,
                             keys[i].key, keys[i].may_be_list ? "a list of tokens or" : "null or");
        for (size_t k = 0; k < json_array_size(list) && !rc; k++)
            rc = add_value(t, json_array_get(list, k), keys[i].key, special, file, err);
        json_object_foreach(list, name, v) rc = rc ? rc : add_value(t, v, keys[i].key, special, file, err);
    }
    return rc;
}

/* Adds the named special tokens, the lists of special tokens, and the special tokens of models of several
 * modalities. */
static int add_specials(aoe_tokenizer *t, const json_t *config, const char *file, aoe_error *err) {
    static const char *const others[] = {"image_token", "boi_token", "eoi_token",  "audio_token",
                                         "boa_token",   "eoa_token", "video_token"};
    static const aoei_added_flags special = {.special = 1};
    int rc = add_named(t, config, file, err);
    if (!rc)
        rc = add_lists(t, config, file, err);
    for (size_t i = 0; i < sizeof others / sizeof *others && !rc; i++) {
        const json_t *v = json_object_get(config, others[i]);
        if (json_is_string(v) || json_is_object(v))
            rc = add_value(t, v, others[i], special, file, err);
    }
    return rc;
}

int aoei_tokenizer_config_truncation(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file,
                                     aoe_error *err) {
    const char *direction = json_string_value(json_object_get(json_object_get(root, "truncation"), "direction"));
    const char *side = direction && !strcasecmp(direction, "left") ? "left" : "right";
    const int rc = aoei_json_string(config, "truncation_side", &side, NULL, file, err);
    if (rc)
        return rc;
    t->truncate_left = !strcmp(side, "left");
    return t->truncate_left || !strcmp(side, "right")
               ? 0
               : aoei_fail(err, AOE_EUNSUPPORTED,
                           "%s: truncation_side \"%s\" is not supported (supported: left, right)", file, side);
}

int aoei_tokenizer_config_finish(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file,
                                 aoe_error *err) {
    int rc = aoei_tokenizer_config_truncation(t, root, config, file, err);
    if (!rc)
        rc = aoei_listed_tokens_add_decoder(&t->added, aoei_subword_vocab(&t->model),
                                            json_object_get(config, "added_tokens_decoder"), file, err);
    if (!rc)
        rc = add_specials(t, config, file, err);
    return rc ? rc : aoei_class_tokens_finish(t, root, config, file, err);
}
