/* SPDX-License-Identifier: MIT
 * Applies the settings of tokenizer_config.json. The class of the tokenizer determines which settings have an effect. The class
 * PreTrainedTokenizerFast (also TokenizersBackend) uses the components of tokenizer.json unchanged.
 */
#include "tokenizer/tokenizer_config.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/class_tokens.h"
#include "tokenizer/listed_tokens.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_parts.h"

/* Families of tokenizer classes. The classes of a family obey the same settings and have the same defaults. */
typedef enum family { OTHER, BERT, BYTE_LEVEL, LLAMA, METASPACE, ALBERT, DEBERTA } family;
static const struct {
    const char *name;
    family family;
} classes[] = {{"BertTokenizer", BERT},           {"DistilBertTokenizer", BERT},    {"ElectraTokenizer", BERT},
               {"MPNetTokenizer", BERT},          {"MobileBertTokenizer", BERT},    {"SqueezeBertTokenizer", BERT},
               {"LayoutLMTokenizer", BERT},       {"RobertaTokenizer", BYTE_LEVEL}, {"LongformerTokenizer", BYTE_LEVEL},
               {"BartTokenizer", BYTE_LEVEL},     {"LEDTokenizer", BYTE_LEVEL},     {"GPT2Tokenizer", BYTE_LEVEL},
               {"Qwen2Tokenizer", BYTE_LEVEL},    {"LlamaTokenizer", LLAMA},        {"XLMRobertaTokenizer", METASPACE},
               {"CamembertTokenizer", METASPACE}, {"AlbertTokenizer", ALBERT},      {"DebertaV2Tokenizer", DEBERTA},
               {"LxmertTokenizer", BERT}};

/* Sets "add_prefix_space" of the pre-tokenizers ByteLevel, or the "prepend_scheme" of the pre-tokenizers Metaspace. A Metaspace
 * whose scheme already adds a prefix is unchanged if `prefix` is 1. */
static int set_prefix(json_t *section, const char *type, int prefix) {
    json_t *list = json_object_get(section, "pretokenizers");
    const char *found = json_string_value(json_object_get(section, "type"));
    int rc = 0;
    for (size_t i = 0; i < json_array_size(list) && !rc; i++)
        rc = set_prefix(json_array_get(list, i), type, prefix);
    if (rc || !found || strcmp(found, type) != 0)
        return rc;
    const char *scheme = json_string_value(json_object_get(section, "prepend_scheme"));
    const int metaspace = !strcmp(type, "Metaspace");
    if (json_object_set_new(section, "add_prefix_space", json_boolean(prefix)))
        return AOE_ENOMEM;
    if (metaspace && (!prefix || (scheme && !strcmp(scheme, "never"))) &&
        json_object_set_new(section, "prepend_scheme", json_string(prefix ? "always" : "never")))
        return AOE_ENOMEM;
    return 0;
}

/* Removes the parts of the type `type` from the section `name`, in which a Sequence has the array `parts`. */
static void remove_parts(json_t *root, const char *name, const char *parts, const char *type) {
    json_t *section = json_object_get(root, name), *list = json_object_get(section, parts);
    const char *own = json_string_value(json_object_get(section, "type"));
    if (own && !strcmp(own, type))
        (void)json_object_del(root, name);
    for (size_t i = json_array_size(list); i-- > 0;) {
        const char *part = json_string_value(json_object_get(json_array_get(list, i), "type"));
        if (part && !strcmp(part, type))
            (void)json_array_remove(list, i);
    }
}

static void remove_normalizer(json_t *root, const char *type) {
    remove_parts(root, "normalizer", "normalizers", type);
}

/* Returns 1 if the section `name`, in which a Sequence has the array `parts`, has a part of the type `type`. */
static int has_part(const json_t *root, const char *name, const char *parts, const char *type) {
    const json_t *section = json_object_get(root, name), *list = json_object_get(section, parts);
    const char *own = json_string_value(json_object_get(section, "type"));
    int found = own && !strcmp(own, type);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *part = json_string_value(json_object_get(json_array_get(list, i), "type"));
        found |= part && !strcmp(part, type);
    }
    return found;
}

static int has_normalizer(const json_t *root, const char *type) {
    return has_part(root, "normalizer", "normalizers", type);
}

/* Inserts a part of the type `type` into the normalizer, which must be a Sequence: before the part Precompiled (last = 1) or as
 * the first part (last = 0). */
static int insert_normalizer(json_t *root, const char *type, int last) {
    json_t *list = json_object_get(json_object_get(root, "normalizer"), "normalizers");
    size_t at = last ? json_array_size(list) : 0;
    if (!json_is_array(list) || has_normalizer(root, type))
        return 0;
    if (last && at) {
        const char *end = json_string_value(json_object_get(json_array_get(list, at - 1), "type"));
        at -= end && !strcmp(end, "Precompiled");
    }
    json_t *part = json_pack("{s:s}", "type", type);
    return !part || json_array_insert_new(list, at, part) ? AOE_ENOMEM : 0;
}

/* Replaces the normalizer and the pre-tokenizer of `root` by those of BertTokenizer and MPNetTokenizer, which ignore the ones
 * in tokenizer.json. */
static int apply_bert(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    int lowercase = 1, accents = -1, chinese = 1, rc;
    if ((rc = aoei_json_bool(config, "do_lower_case", &lowercase, file, err)) ||
        (rc = aoei_json_bool(config, "strip_accents", &accents, file, err)) ||
        (rc = aoei_json_bool(config, "tokenize_chinese_chars", &chinese, file, err)))
        return rc;
    json_t *strip = accents < 0 ? json_null() : json_boolean(accents);
    return json_object_set_new(root, "normalizer",
                               json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text", 1,
                                         "handle_chinese_chars", chinese, "strip_accents", strip, "lowercase", lowercase)) ||
                   json_object_set_new(root, "pre_tokenizer", json_pack("{s:s}", "type", "BertPreTokenizer"))
               ? aoei_fail_nomem(err, 0)
               : 0;
}

/* Applies add_prefix_space. `missing` is the value of the class if the key is missing; -1: the components are unchanged. */
static int apply_prefix(json_t *root, const json_t *config, const char *type, int missing, const char *file, aoe_error *err) {
    int prefix = json_is_null(json_object_get(config, "add_prefix_space")) && missing < 0 ? 0 : missing;
    const int rc = aoei_json_bool(config, "add_prefix_space", &prefix, file, err);
    if (rc || prefix < 0)
        return rc;
    return set_prefix(json_object_get(root, "pre_tokenizer"), type, prefix) ? aoei_fail_nomem(err, 0) : 0;
}

/* Replaces the normalizer and the pre-tokenizer of `root` by those of the classes with a byte-level BPE, which ignore the ones
 * in tokenizer.json. Qwen2Tokenizer divides texts with a pattern of its own. */
static int apply_byte_level(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    static const char pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"
                                  "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    const int qwen = aoei_tokenizer_class_is(json_string_value(json_object_get(config, "tokenizer_class")), "Qwen2Tokenizer");
    int prefix = 0, rc = aoei_json_bool(config, "add_prefix_space", &prefix, file, err);
    if (rc)
        return rc;
    json_t *bytes = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", prefix, "trim_offsets", 1,
                              "use_regex", !qwen);
    json_t *parts = qwen ? json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers", "type",
                                     "Split", "pattern", "Regex", pattern, "behavior", "Isolated", "invert", 0, bytes)
                         : bytes;
    return json_object_set_new(root, "normalizer", qwen ? json_pack("{s:s}", "type", "NFC") : json_null()) ||
                   json_object_set_new(root, "pre_tokenizer", parts)
               ? aoei_fail_nomem(err, 0)
               : 0;
}

/* Applies the settings of LlamaTokenizer. If add_prefix_space is false, nothing is added in front of the text. */
static int apply_llama(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    int prefix = 1, rc = aoei_json_bool(config, "add_prefix_space", &prefix, file, err);
    if (rc || prefix)
        return rc;
    remove_normalizer(root, "Prepend");
    return apply_prefix(root, config, "Metaspace", 0, file, err);
}

/* Applies split_by_punct of DebertaV2Tokenizer. If it is false, texts are not split at punctuation characters. */
static int apply_punctuation(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    int split = 0, rc = aoei_json_bool(config, "split_by_punct", &split, file, err);
    if (!rc && !split)
        remove_parts(root, "pre_tokenizer", "pretokenizers", "Punctuation");
    return rc;
}

/* Applies do_lower_case and, for ALBERT, keep_accents. */
static int apply_lowercase(json_t *root, const json_t *config, int albert, const char *file, aoe_error *err) {
    int lowercase = albert, keep = 0, rc;
    if ((rc = aoei_json_bool(config, "do_lower_case", &lowercase, file, err)) ||
        (rc = aoei_json_bool(config, "keep_accents", &keep, file, err)))
        return rc;
    if (!lowercase)
        remove_normalizer(root, "Lowercase");
    else
        rc = insert_normalizer(root, "Lowercase", albert);
    if (albert && keep) {
        remove_normalizer(root, "NFKD");
        remove_normalizer(root, "StripAccents");
    }
    return rc ? aoei_fail_nomem(err, 0) : 0;
}

/* Returns the family of the class in tokenizer_config.json. If there is no class, a BertNormalizer shows that it is BERT. */
static int find_family(family *f, const json_t *root, const json_t *config, const char *file, aoe_error *err) {
    const char *name = NULL;
    const int rc = aoei_json_string(config, "tokenizer_class", &name, NULL, file, err);
    *f = !name && json_object_get(config, "do_lower_case") && has_normalizer(root, "BertNormalizer") ? BERT : OTHER;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && !rc; i++)
        if (aoei_tokenizer_class_is(name, classes[i].name))
            *f = classes[i].family;
    return rc;
}

/* Checks that the model in tokenizer.json has the type of the class, which otherwise ignores a part of tokenizer.json. (Classes
 * with a Unigram model cannot read another model.) GemmaTokenizer ignores a pre-tokenizer ByteLevel. */
static int check_model(family f, const json_t *root, const json_t *config, const char *file, aoe_error *err) {
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    const int gemma = aoei_tokenizer_class_is(class, "GemmaTokenizer"), bpe = f == BYTE_LEVEL || f == LLAMA || gemma;
    const char *required = f == BERT ? "WordPiece"
                           : bpe     ? "BPE"
                                     : NULL,
               *type = json_string_value(json_object_get(json_object_get(root, "model"), "type"));
    if (gemma && has_part(root, "pre_tokenizer", "pretokenizers", "ByteLevel"))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: tokenizer_class \"%s\" does not use the pre_tokenizer ByteLevel of tokenizer.json; correct the class", file,
            class);
    if (!required || !type || !strcmp(type, required))
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: tokenizer_class \"%s\" needs a model of the type %s, but tokenizer.json has %s; correct the class",
                     file, class ? class : "BertTokenizer", required, type);
}

/* Removes the added tokens of tokenizer.json if added_tokens_decoder is an empty object, which replaces them. The classes of a
 * family then add only the named special tokens. */
static int apply_empty_decoder(family f, json_t *root, const json_t *config, aoe_error *err) {
    const json_t *decoder = json_object_get(config, "added_tokens_decoder");
    if (f == OTHER || !json_is_object(decoder) || json_object_size(decoder) || !json_object_get(root, "added_tokens"))
        return 0;
    return json_object_set_new(root, "added_tokens", json_array()) ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_tokenizer_config_apply(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    family f;
    int rc = find_family(&f, root, config, file, err);
    if (!rc)
        rc = apply_empty_decoder(f, root, config, err);
    if (rc || (rc = check_model(f, root, config, file, err)) || (rc = aoei_class_tokens_set_model(root, config, file, err)))
        return rc;
    switch (f) {
    case BERT:
        return apply_bert(root, config, file, err);
    case BYTE_LEVEL:
        return apply_byte_level(root, config, file, err);
    case LLAMA:
        return apply_llama(root, config, file, err);
    case METASPACE:
        return apply_prefix(root, config, "Metaspace", -1, file, err);
    case ALBERT:
    case DEBERTA:
        rc = apply_lowercase(root, config, f == ALBERT, file, err);
        if (!rc && f == DEBERTA)
            rc = apply_punctuation(root, config, file, err);
        return rc ? rc : apply_prefix(root, config, "Metaspace", -1, file, err);
    default:
        return 0;
    }
}

/* Adds the special token s unless it was added before. If `known` is 1, it is added only if the vocabulary contains it. */
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

/* Adds the special tokens under the keys that contain several of them: lists of tokens, and objects whose values are tokens. */
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
            return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not %s an object whose values are tokens; correct or remove it",
                             file, keys[i].key, keys[i].may_be_list ? "a list of tokens or" : "null or");
        for (size_t k = 0; k < json_array_size(list) && !rc; k++)
            rc = add_value(t, json_array_get(list, k), keys[i].key, special, file, err);
        json_object_foreach(list, name, v) rc = rc ? rc : add_value(t, v, keys[i].key, special, file, err);
    }
    return rc;
}

/* Adds the named special tokens, the lists of special tokens, and the special tokens of models of several modalities. */
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
               : aoei_fail(err, AOE_EUNSUPPORTED, "%s: truncation_side \"%s\" is not supported (supported: left, right)", file,
                           side);
}

int aoei_tokenizer_config_finish(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file, aoe_error *err) {
    int rc = aoei_tokenizer_config_truncation(t, root, config, file, err);
    if (!rc)
        rc = aoei_listed_tokens_add_decoder(&t->added, aoei_subword_vocab(&t->model),
                                            json_object_get(config, "added_tokens_decoder"), file, err);
    if (!rc)
        rc = add_specials(t, config, file, err);
    return rc ? rc : aoei_class_tokens_finish(t, config, file, err);
}
