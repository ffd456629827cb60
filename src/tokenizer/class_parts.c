/* SPDX-License-Identifier: MIT
 * Each function builds the components of a group of classes, as the constructors of these classes in transformers 5 do.
 * The components are JSON values with the same form as in tokenizer.json, and the readers of tokenizer.json read them.
 */
#include "tokenizer/class_parts.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/tokenizer_class.h"

/* The input and the result of a function that builds components. */
typedef struct parts {
    const json_t *config;   /* settings in tokenizer_config.json */
    const char *file;       /* path of tokenizer_config.json for messages */
    const json_t *charsmap; /* normalizer Precompiled of tokenizer.json, borrowed; NULL: none */
    json_t *normalizer;     /* owned; JSON null: none */
    json_t *pretokenizer;   /* owned */
    aoe_error *err;
} parts;

/* Reads a boolean setting. `null` is the value of JSON null. */
static int read_flag(int *value, const parts *p, const char *key, int null) {
    if (json_is_null(json_object_get(p->config, key)))
        *value = null;
    return aoei_json_bool(p->config, key, value, p->file, p->err);
}

static json_t *typed(const char *type) {
    return json_pack("{s:s}", "type", type);
}

static json_t *sequence(const char *parts_key, json_t *list) {
    return json_pack("{s:s, s:o}", "type", "Sequence", parts_key, list);
}

static json_t *metaspace(const char *scheme, int split) {
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", "\xe2\x96\x81", "prepend_scheme",
                     scheme, "split", split);
}

static json_t *byte_level(int prefix, int use_regex) {
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", prefix, "trim_offsets", 1,
                     "use_regex", use_regex);
}

/* Returns a normalizer Replace. kind: type of the pattern, String or Regex. */
static json_t *replace(const char *kind, const char *pattern, const char *content) {
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", kind, pattern, "content", content);
}

/* Returns a pre-tokenizer Split. kind: as above. */
static json_t *split(const char *kind, const char *pattern, const char *behavior) {
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", kind, pattern, "behavior", behavior,
                     "invert", 0);
}

/* BERT and its variants */
static int build_bert(parts *p) {
    int lowercase = 1, accents = -1, chinese = 1, rc;
    if ((rc = read_flag(&lowercase, p, "do_lower_case", 1)) || (rc = read_flag(&accents, p, "strip_accents", -1)) ||
        (rc = read_flag(&chinese, p, "tokenize_chinese_chars", 1)))
        return rc;
    json_t *strip = accents < 0 ? json_null() : json_boolean(accents);
    p->normalizer = json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text", 1,
                              "handle_chinese_chars", chinese, "strip_accents", strip, "lowercase", lowercase);
    p->pretokenizer = typed("BertPreTokenizer");
    return 0;
}

/* RoBERTa, GPT-2 */
static int build_byte_level(parts *p) {
    int prefix = 0;
    const int rc = read_flag(&prefix, p, "add_prefix_space", 0);
    p->normalizer = json_null();
    p->pretokenizer = byte_level(prefix, 1);
    return rc;
}

static int build_qwen2(parts *p) {
    static const char pattern[] =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"
        "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    int prefix = 0;
    const int rc = read_flag(&prefix, p, "add_prefix_space", 0);
    p->normalizer = typed("NFC");
    p->pretokenizer =
        sequence("pretokenizers", json_pack("[o, o]", split("Regex", pattern, "Isolated"), byte_level(prefix, 0)));
    return rc;
}

/* The classes of LLaMA have no normalizer. "legacy" determines whether a space is added after added tokens too. */
static int build_llama(parts *p) {
    int prefix = 1, legacy = 0, rc;
    if ((rc = read_flag(&prefix, p, "add_prefix_space", 1)) || (rc = read_flag(&legacy, p, "legacy", 0)))
        return rc;
    p->normalizer = json_null();
    p->pretokenizer = metaspace(!prefix ? "never" : legacy ? "always" : "first", 0);
    return 0;
}

static int build_gemma(parts *p) {
    p->normalizer = replace("String", " ", "\xe2\x96\x81");
    p->pretokenizer = split("String", " ", "MergedWithPrevious");
    return 0;
}

/* The pre-tokenizer of most classes whose vocabulary SentencePiece trained */
static int build_words(parts *p) {
    int prefix = 1;
    const int rc = read_flag(&prefix, p, "add_prefix_space", 0);
    p->pretokenizer = sequence(
        "pretokenizers", json_pack("[o, o]", typed("WhitespaceSplit"), metaspace(prefix ? "always" : "never", 1)));
    return rc;
}

/* XLM-RoBERTa, CamemBERT */
static int build_xlm_roberta(parts *p) {
    p->normalizer = p->charsmap ? json_deep_copy(p->charsmap) : json_null();
    return build_words(p);
}

static int build_albert(parts *p) {
    int lowercase = 1, keep = 0, rc;
    if ((rc = read_flag(&lowercase, p, "do_lower_case", 0)) || (rc = read_flag(&keep, p, "keep_accents", 0)))
        return rc;
    json_t *list = json_pack("[o, o]", replace("String", "``", "\""), replace("String", "''", "\""));
    int failed = !list;
    if (!keep)
        failed |= json_array_append_new(list, typed("NFKD")) || json_array_append_new(list, typed("StripAccents"));
    if (lowercase)
        failed |= json_array_append_new(list, typed("Lowercase"));
    if (p->charsmap)
        failed |= json_array_append_new(list, json_deep_copy(p->charsmap));
    p->normalizer = sequence("normalizers", list);
    rc = build_words(p);
    return failed ? aoei_fail_nomem(p->err, 0) : rc;
}

static int build_deberta(parts *p) {
    int lowercase = 0, punctuation = 0, prefix = 1, rc;
    if ((rc = read_flag(&lowercase, p, "do_lower_case", 0)) || (rc = read_flag(&punctuation, p, "split_by_punct", 0)) ||
        (rc = read_flag(&prefix, p, "add_prefix_space", 0)))
        return rc;
    json_t *list = json_pack("[o, o, {s:s, s:b, s:b}]", replace("Regex", "\\s{2,}|[\\n\\r\\t]", " "), typed("NFC"),
                             "type", "Strip", "strip_left", 0, "strip_right", 1);
    if (lowercase && json_array_insert_new(list, 0, typed("Lowercase")))
        rc = AOE_ENOMEM;
    p->normalizer = sequence("normalizers", list);
    json_t *words = json_pack("[o]", metaspace(prefix ? "always" : "first", 1));
    if (punctuation &&
        json_array_insert_new(words, 0, json_pack("{s:s, s:s}", "type", "Punctuation", "behavior", "Isolated")))
        rc = AOE_ENOMEM;
    p->pretokenizer = sequence("pretokenizers", words);
    return rc ? aoei_fail_nomem(p->err, 0) : 0;
}

/* The classes, the types of their models, and the functions that build their components. */
static const struct class_parts {
    const char *name, *model;
    int (*build)(parts *p);
} classes[] = {{"BertTokenizer", "WordPiece", build_bert},
               {"DistilBertTokenizer", "WordPiece", build_bert},
               {"ElectraTokenizer", "WordPiece", build_bert},
               {"MPNetTokenizer", "WordPiece", build_bert},
               {"MobileBertTokenizer", "WordPiece", build_bert},
               {"SqueezeBertTokenizer", "WordPiece", build_bert},
               {"LayoutLMTokenizer", "WordPiece", build_bert},
               {"LxmertTokenizer", "WordPiece", build_bert},
               {"RobertaTokenizer", "BPE", build_byte_level},
               {"LongformerTokenizer", "BPE", build_byte_level},
               {"BartTokenizer", "BPE", build_byte_level},
               {"LEDTokenizer", "BPE", build_byte_level},
               {"GPT2Tokenizer", "BPE", build_byte_level},
               {"Qwen2Tokenizer", "BPE", build_qwen2},
               {"LlamaTokenizer", "BPE", build_llama},
               {"GemmaTokenizer", "BPE", build_gemma},
               {"XLMRobertaTokenizer", "Unigram", build_xlm_roberta},
               {"CamembertTokenizer", "Unigram", build_xlm_roberta},
               {"AlbertTokenizer", "Unigram", build_albert},
               {"DebertaV2Tokenizer", "Unigram", build_deberta}};

static const struct class_parts *find(const char *name) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (aoei_tokenizer_class_is(name, classes[i].name))
            return &classes[i];
    return NULL;
}

int aoei_class_parts_known(const char *name) {
    return find(name) != NULL;
}

/* Returns the normalizer Precompiled of `root`, or NULL. As in transformers, a Sequence inside a Sequence is not
 * searched. */
static const json_t *find_charsmap(const json_t *root) {
    const json_t *normalizer = json_object_get(root, "normalizer"), *list = json_object_get(normalizer, "normalizers");
    for (size_t i = 0; i < (list ? json_array_size(list) : 1); i++) {
        const json_t *part = list ? json_array_get(list, i) : normalizer;
        const char *type = json_string_value(json_object_get(part, "type"));
        if (type && !strcmp(type, "Precompiled") && json_object_get(part, "precompiled_charsmap"))
            return part;
    }
    return NULL;
}

/* Checks that the model in tokenizer.json has the type of the class. The library transformers cannot read another type,
 * or reads its vocabulary as the vocabulary of the other type. */
static int check_model(const json_t *root, const struct class_parts *c, const char *file, aoe_error *err) {
    const char *type = json_string_value(json_object_get(json_object_get(root, "model"), "type"));
    return !type || !strcmp(type, c->model)
               ? 0
               : aoei_fail(err, AOE_EUNSUPPORTED,
                           "%s: the tokenizer class is %s, which needs a model of the type %s, but tokenizer.json has "
                           "%s; set \"tokenizer_class\" to the class of this model",
                           file, c->name, c->model, type);
}

int aoei_class_parts_set(json_t *root, const char *name, const json_t *config, const char *file, aoe_error *err) {
    const struct class_parts *c = find(name);
    if (!c)
        return 0;
    parts p = {.config = config, .file = file, .charsmap = find_charsmap(root), .err = err};
    int rc = check_model(root, c, file, err);
    if (!rc)
        rc = c->build(&p);
    if (!rc && (!p.normalizer || !p.pretokenizer || json_object_set(root, "pre_tokenizer", p.pretokenizer) ||
                json_object_set(root, "normalizer", p.normalizer)))
        rc = aoei_fail_nomem(err, 0);
    json_decref(p.normalizer);
    json_decref(p.pretokenizer);
    return rc;
}
