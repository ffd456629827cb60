/* SPDX-License-Identifier: MIT
 * The table of classes contains the defaults of the constructors of the classes in transformers 5.
 */
#include "tokenizer/class_tokens.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/listed_tokens.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_parts.h"

/* How a class determines the unknown token of its model. */
typedef enum unknown_rule {
    KEEP,        /* as in tokenizer.json */
    WORDPIECE,   /* unk_token */
    NO_TOKEN,    /* BPE without an unknown token */
    LLAMA,       /* BPE without an unknown token, with the tokens of bytes */
    GEMMA,       /* BPE with the tokens of bytes: unk_token */
    FIXED,       /* Unigram: unknown_id */
    FIRST_NAMED, /* Unigram: first token that equals unk_token, otherwise unknown_id */
    FIRST_ZERO   /* Unigram: the same, if the score of the token is 0 */
} unknown_rule;

/* The named special tokens, in the order in which transformers adds them, and their defaults in a group of classes. */
enum { BOS, EOS, UNK, SEP, PAD, CLS, MASK };
const char *const aoei_class_token_keys[AOEI_CLASS_TOKENS] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                              "pad_token", "cls_token", "mask_token"};
typedef const char *const defaults[AOEI_CLASS_TOKENS];
static defaults bert = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
static defaults mpnet = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"};
static defaults roberta = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
static defaults albert = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
static defaults deberta = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
static defaults gpt2 = {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, NULL, NULL, NULL};
static defaults llama = {"<s>", "</s>", "<unk>", NULL, NULL, NULL, NULL};
static defaults gemma = {"<bos>", "<eos>", "<unk>", NULL, "<pad>", NULL, "<mask>"};
static defaults qwen2 = {NULL, "<|endoftext|>", "<|endoftext|>", NULL, "<|endoftext|>", NULL, NULL};

typedef struct class_rule {
    const char *name;
    const char *const *tokens; /* [AOEI_CLASS_TOKENS] defaults of the special tokens, in the order of
                                  aoei_class_token_keys */
    int first, last;           /* indices of the tokens at the start and at the end of the template; -1: no template */
    int roberta;               /* 1: pairs have the template of RoBERTa, 0: that of BERT */
    unknown_rule rule;
    int32_t unknown_id;
} class_rule;

static const class_rule rules[] = {
    {"BertTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"DistilBertTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"ElectraTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"MobileBertTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"SqueezeBertTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"ConvBertTokenizer", bert, CLS, SEP, 0, KEEP, -1},
    {"LayoutLMTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"LxmertTokenizer", bert, CLS, SEP, 0, WORDPIECE, -1},
    {"MPNetTokenizer", mpnet, CLS, SEP, 1, WORDPIECE, -1},
    {"RobertaTokenizer", roberta, CLS, SEP, 1, NO_TOKEN, -1},
    {"LongformerTokenizer", roberta, CLS, SEP, 1, NO_TOKEN, -1},
    {"BartTokenizer", roberta, CLS, SEP, 1, NO_TOKEN, -1},
    {"LEDTokenizer", roberta, CLS, SEP, 1, NO_TOKEN, -1},
    {"XLMRobertaTokenizer", roberta, BOS, EOS, 1, FIXED, 3},
    {"CamembertTokenizer", roberta, BOS, EOS, 1, FIRST_NAMED, 0},
    {"AlbertTokenizer", albert, CLS, SEP, 0, FIXED, 1},
    {"DebertaV2Tokenizer", deberta, CLS, SEP, 0, FIRST_ZERO, 1},
    {"GPT2Tokenizer", gpt2, -1, -1, 0, NO_TOKEN, -1},
    {"Qwen2Tokenizer", qwen2, -1, -1, 0, NO_TOKEN, -1},
    {"LlamaTokenizer", llama, -1, -1, 0, LLAMA, -1},
    {"GemmaTokenizer", gemma, -1, -1, 0, GEMMA, -1},
};

static const class_rule *find_rule(const json_t *config) {
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (aoei_tokenizer_class_is(class, rules[i].name))
            return &rules[i];
    return NULL;
}

int aoei_class_tokens_known(const json_t *config) {
    return find_rule(config) != NULL;
}

const char *aoei_class_tokens_default(const json_t *config, size_t which) {
    const class_rule *c = find_rule(config);
    return c ? c->tokens[which] : NULL;
}

aoei_added_flags aoei_class_tokens_flags(const json_t *config, size_t which) {
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    const int mask = which == MASK && (aoei_tokenizer_class_is(class, "MPNetTokenizer") ||
                                       aoei_tokenizer_class_is(class, "CamembertTokenizer"));
    return (aoei_added_flags){.special = 1, .lstrip = mask != 0};
}

/* Reads the special token with the given index in aoei_class_token_keys. */
static int read_token(aoei_listed_token *s, const json_t *config, const class_rule *c, int which, const char *file,
                      aoe_error *err) {
    const char *key = aoei_class_token_keys[which], *missing = c->tokens[which];
    const json_t *value = json_object_get(config, key);
    *s = (aoei_listed_token){.content = missing,
                             .len = missing ? strlen(missing) : 0,
                             .flags = aoei_class_tokens_flags(config, (size_t)which)};
    if (json_is_null(value))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: \"%s\" is null, but tokenizer_class \"%s\" needs it; set it to a token", file, key,
                         c->name);
    const int rc = value ? aoei_listed_token_read_special(s, value, s->flags, key, file, err) : 0;
    if (!rc && value && !s->len && which != UNK)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: \"%s\" is empty, but tokenizer_class \"%s\" needs it; set it to a token", file, key,
                         c->name);
    return rc;
}

/* Sets the settings of a BPE model, whose keys are all optional. */
static int set_bpe(json_t *model, const class_rule *c, const aoei_listed_token *unknown) {
    static const char *const keys[] = {
        "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges",
        "dropout"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        (void)json_object_del(model, keys[i]);
    if (c->rule == GEMMA && json_object_set_new(model, "unk_token", json_stringn(unknown->content, unknown->len)))
        return AOE_ENOMEM;
    return c->rule != NO_TOKEN && (json_object_set_new(model, "fuse_unk", json_true()) ||
                                   json_object_set_new(model, "byte_fallback", json_true()))
               ? AOE_ENOMEM
               : 0;
}

static int set_wordpiece(json_t *model, const aoei_listed_token *unknown) {
    return json_object_set_new(model, "unk_token", json_stringn(unknown->content, unknown->len)) ||
                   json_object_set_new(model, "continuing_subword_prefix", json_string("##")) ||
                   json_object_set_new(model, "max_input_chars_per_word", json_integer(100))
               ? AOE_ENOMEM
               : 0;
}

int aoei_class_tokens_set_model(json_t *root, const json_t *config, const char *file, aoe_error *err) {
    const class_rule *c = find_rule(config);
    json_t *model = json_object_get(root, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    aoei_listed_token unknown = {.content = NULL};
    int rc = 0;
    if (!c || !type || c->rule == KEEP)
        return 0;
    if ((c->rule == WORDPIECE || c->rule == GEMMA) && (rc = read_token(&unknown, config, c, UNK, file, err)))
        return rc;
    if (c->rule == WORDPIECE)
        rc = strcmp(type, "WordPiece") ? 0 : set_wordpiece(model, &unknown);
    else if (c->rule >= FIXED)
        (void)json_object_del(model, "byte_fallback");
    else if (!strcmp(type, "BPE"))
        rc = set_bpe(model, c, &unknown);
    return rc ? aoei_fail_nomem(err, 0) : 0;
}

/* Sets *id to the id of the token s. If there is no such token and `add` is 1, adds it; otherwise *id is then -1. */
static int find_id(int32_t *id, aoe_tokenizer *t, aoei_listed_token *s, int add, const char *file, aoe_error *err) {
    int rc = 0;
    *id = aoei_tokenizer_id(t, s->content, s->len);
    if (*id < 0 && add && !(rc = aoei_listed_tokens_add(&t->added, aoei_subword_vocab(&t->model), s, 1, file, err)))
        *id = aoei_tokenizer_id(t, s->content, s->len);
    return rc;
}

static int set_template(aoe_tokenizer *t, const class_rule *c, const json_t *config, const char *file, aoe_error *err) {
    const int given = json_object_get(config, aoei_class_token_keys[c->first]) ||
                      json_object_get(config, aoei_class_token_keys[c->last]);
    aoei_listed_token first, last;
    int32_t first_id = -1, last_id = -1;
    int rc;
    if ((rc = read_token(&first, config, c, c->first, file, err)) ||
        (rc = read_token(&last, config, c, c->last, file, err)) ||
        (rc = find_id(&first_id, t, &first, given, file, err)) ||
        (rc = find_id(&last_id, t, &last, given, file, err)) || first_id < 0 || last_id < 0)
        return rc;
    aoei_postprocessor_free(&t->post);
    if ((rc = aoei_postprocessor_add(&t->post, 0, first_id, err)) ||
        (rc = aoei_postprocessor_add(&t->post, 1, last_id, err)))
        return rc;
    return aoei_postprocessor_add_usual_pair(&t->post, first_id, last_id, c->roberta, err);
}

/* Sets *id to the id of unk_token if the vocabulary contains it and, for the rule FIRST_ZERO, its score is 0.
 * Otherwise, *id is unchanged or, for the rule FIRST_ZERO, "unk_id". */
static int find_unknown(size_t *id, const aoei_unigram *u, const class_rule *c, const json_t *config, const char *file,
                        aoe_error *err) {
    aoei_listed_token named;
    const int rc = read_token(&named, config, c, UNK, file, err);
    const int32_t found = rc ? -1 : aoei_vocab_id(&u->vocab, named.content, named.len);
    if (found >= 0 && (c->rule == FIRST_NAMED || u->score[found] == 0))
        *id = (size_t)found;
    else if (!rc && c->rule == FIRST_ZERO)
        return aoei_json_size(config, "unk_id", id, file, err);
    return rc;
}

/* Sets the unknown token of a Unigram model. */
static int set_unknown(aoei_unigram *u, const class_rule *c, const json_t *config, const char *file, aoe_error *err) {
    size_t id = (size_t)c->unknown_id;
    const int rc = c->rule == FIXED ? 0 : find_unknown(&id, u, c, config, file, err);
    if (rc)
        return rc;
    if (id >= u->vocab.n_ids)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the vocabulary has no id %zu, the unknown token of tokenizer_class \"%s\"", file, id,
                         c->name);
    u->unk = (int32_t)id;
    return 0;
}

/* Returns 1 if the class uses its own template: AlbertTokenizer uses it only if tokenizer.json has none. */
static int has_template(const class_rule *c, const json_t *root) {
    const json_t *written = json_object_get(root, "post_processor");
    return c->first >= 0 && (c->tokens != albert || !written || json_is_null(written));
}

int aoei_class_tokens_finish(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file,
                             aoe_error *err) {
    const class_rule *c = find_rule(config);
    int rc = 0;
    if (!c)
        return 0;
    if (t->model.type == AOEI_SUBWORD_UNIGRAM && c->rule >= FIXED)
        rc = set_unknown(&t->model.unigram, c, config, file, err);
    return rc || !has_template(c, root) ? rc : set_template(t, c, config, file, err);
}
