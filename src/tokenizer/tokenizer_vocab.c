/* SPDX-License-Identifier: MIT
 * Reads the tokenizer of a directory without tokenizer.json. The vocabulary is in vocab.txt (WordPiece), or in
 * vocab.json and merges.txt (byte-level BPE). The optional files tokenizer_config.json, special_tokens_map.json and
 * added_tokens.json change default settings. The files are combined as in the fast tokenizers of the library
 * transformers.
 */
#include "tokenizer/tokenizer_vocab.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"
#include "tokenizer/bpe_read.h"
#include "tokenizer/decoder_read.h"
#include "tokenizer/input_names.h"
#include "tokenizer/listed_tokens.h"
#include "tokenizer/pretokenizer_read.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_config.h"
#include "tokenizer/tokenizer_parts.h"

/* Special tokens in the order in which transformers adds them. */
enum { BOS, EOS, UNK, SEP, PAD, CLS, MASK, N_SPECIALS };
static const char *const special_keys[N_SPECIALS] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                     "pad_token", "cls_token", "mask_token"};

/* Families of tokenizer classes of the library transformers. All classes of a family have the same default settings. */
typedef enum family { BERT, ROBERTA, GPT2, QWEN2, N_FAMILIES } family;
static const char *const special_defaults[N_FAMILIES][N_SPECIALS] = {
    [BERT] = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
    [ROBERTA] = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
    [GPT2] = {"<|endoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, NULL, NULL, NULL},
    [QWEN2] = {NULL, "<|endoftext|>", "<|endoftext|>", NULL, "<|endoftext|>", NULL, NULL}};
static const struct {
    const char *name;
    family family;
} classes[] = {{"BertTokenizer", BERT},       {"DistilBertTokenizer", BERT},  {"ElectraTokenizer", BERT},
               {"MobileBertTokenizer", BERT}, {"SqueezeBertTokenizer", BERT}, {"ConvBertTokenizer", BERT},
               {"LayoutLMTokenizer", BERT},   {"RobertaTokenizer", ROBERTA},  {"LongformerTokenizer", ROBERTA},
               {"BartTokenizer", ROBERTA},    {"LEDTokenizer", ROBERTA},      {"GPT2Tokenizer", GPT2},
               {"Qwen2Tokenizer", QWEN2}};

/* The regular expression with which Qwen2 splits text into words. */
static const char qwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

typedef struct reader {
    aoe_tokenizer *t;
    const char *dir;
    /* Parsed contents of tokenizer_config.json (config), special_tokens_map.json (map) and added_tokens.json (added);
     * owned. NULL if the file does not exist. */
    json_t *config, *map, *added;
    char *config_path, *map_path, *added_path; /* paths of these three files, for messages; owned */
    char *vocab_path, *merges_path;            /* paths of the vocabulary and the merges, for messages; owned */
    family family;
    aoei_listed_token special[N_SPECIALS]; /* special tokens; `content` is NULL if there is no such token */
    aoe_error *err;
} reader;

/* Sets *path to the path of the file with index `which`. If the file exists and root is not NULL, parses `text`, the
 * contents of the file, into *root. */
static int load(json_t **root, char **path, const reader *r, int which, aoe_text text) {
    *path = aoei_path_join(r->dir, aoei_tokenizer_file_name(which));
    if (!*path)
        return aoei_fail_nomem(r->err, strlen(r->dir));
    if (!text.data || !root)
        return 0;
    int rc = aoei_json_parse(root, text.data, text.len, *path, r->err);
    if (rc == 0 && !json_is_object(*root))
        return aoei_fail(r->err, AOE_EFORMAT, "%s: not a JSON object; download the file again", *path);
    return rc;
}

/* Sets r->family from the class name in tokenizer_config.json. Without a class name, the family is BERT if the
 * vocabulary is vocab.txt. If the vocabulary is vocab.json, its tokens show whether the family is RoBERTa or GPT-2. */
static int find_family(reader *r, int from_txt) {
    const aoei_vocab *v = aoei_subword_vocab(&r->t->model);
    const char *class = NULL;
    int rc = aoei_json_string(r->config, "tokenizer_class", &class, NULL, r->config_path, r->err);
    r->family = from_txt                                                                ? BERT
                : aoei_vocab_id(v, "<s>", 3) >= 0 && aoei_vocab_id(v, "<mask>", 6) >= 0 ? ROBERTA
                                                                                        : GPT2;
    if (rc || !class)
        return rc;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if ((classes[i].family == BERT) == from_txt && aoei_tokenizer_class_is(class, classes[i].name)) {
            r->family = classes[i].family;
            return 0;
        }
    return aoei_fail(
        r->err, AOE_EUNSUPPORTED,
        "%s: tokenizer_class \"%s\" is not supported with %s (only %s); save the tokenizer as tokenizer.json",
        r->config_path, class, from_txt ? "vocab.txt" : "vocab.json and merges.txt",
        from_txt ? "BertTokenizer" : "RobertaTokenizer, GPT2Tokenizer and Qwen2Tokenizer");
}

/* Builds the normalizer, the pre-tokenizer and the decoder of BERT. */
static int read_bert(const reader *r) {
    int lowercase = 1, strip_accents = -1, chinese = 1, rc;
    if ((rc = aoei_json_bool(r->config, "do_lower_case", &lowercase, r->config_path, r->err)) ||
        (rc = aoei_json_bool(r->config, "strip_accents", &strip_accents, r->config_path, r->err)) ||
        (rc = aoei_json_bool(r->config, "tokenize_chinese_chars", &chinese, r->config_path, r->err)) ||
        (rc = aoei_normalizer_add_bert(&r->t->normalizer, 1, chinese, strip_accents, lowercase, r->err)))
        return rc;
    rc = aoei_token_decoder_add_wordpiece(&r->t->decoder, r->err);
    return rc ? rc : aoei_pretokenizer_add_bert(&r->t->pretokenizer, r->err);
}

/* Builds the normalizer, the pre-tokenizer and the decoder of a byte-level BPE tokenizer. */
static int read_byte_level(const reader *r) {
    int prefix = 0, rc;
    if ((rc = aoei_json_bool(r->config, "add_prefix_space", &prefix, r->config_path, r->err)) ||
        (rc = aoei_token_decoder_add_byte_level(&r->t->decoder, r->err)))
        return rc;
    if (r->family != QWEN2)
        return aoei_pretokenizer_add_byte_level(&r->t->pretokenizer, prefix, 1, r->err);
    if ((rc = aoei_normalizer_add_nfc(&r->t->normalizer, r->err)) ||
        (rc = aoei_pretokenizer_add_regex(&r->t->pretokenizer, qwen2, r->err)))
        return rc;
    return aoei_pretokenizer_add_byte_level(&r->t->pretokenizer, prefix, 0, r->err);
}

/* Reads the special tokens. Each token is read from special_tokens_map.json. If the token is not in this file, it is
 * read from tokenizer_config.json; otherwise the default of the family is used. special_tokens_map.json is ignored if
 * tokenizer_config.json has "added_tokens_decoder", which newer versions of transformers write. */
static int read_specials(reader *r) {
    int newer = json_object_get(r->config, "added_tokens_decoder") != NULL;
    for (int i = 0; i < N_SPECIALS; i++) {
        const json_t *from_config = json_object_get(r->config, special_keys[i]);
        const json_t *from_map = newer ? NULL : json_object_get(r->map, special_keys[i]);
        const char *text = special_defaults[r->family][i];
        const aoei_added_flags flags = {.special = 1, .lstrip = r->family == ROBERTA && i == MASK};
        int rc = 0;
        r->special[i] = (aoei_listed_token){.content = text, .len = text ? strlen(text) : 0, .flags = flags};
        if (from_map && !json_is_null(from_map))
            rc = aoei_listed_token_read_special(&r->special[i], from_map, flags, special_keys[i], r->map_path, r->err);
        else if (from_config && !json_is_null(from_config))
            rc = aoei_listed_token_read_special(&r->special[i], from_config, flags, special_keys[i], r->config_path,
                                                r->err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Reads vocab.txt, one token per line, and completes the WordPiece model. */
static int read_lines(const reader *r, aoe_text text) {
    aoei_vocab *v = &r->t->model.wordpiece.vocab;
    size_t bad = aoei_utf8_valid(text.data, text.len);
    if (bad < text.len)
        return aoei_fail(r->err, AOE_EFORMAT, "%s: invalid UTF-8 at byte %zu; write the file as UTF-8", r->vocab_path,
                         bad);
    if (!text.data || text.len == 0)
        return aoei_fail(r->err, AOE_EFORMAT, "%s: the vocabulary is empty; download the file again", r->vocab_path);
    int64_t id = 0;
    for (size_t start = 0; start < text.len; id++) {
        const char *newline = memchr(text.data + start, '\n', text.len - start);
        size_t end = newline ? (size_t)(newline - text.data) : text.len, next = end + 1;
        if (newline && end > start && text.data[end - 1] == '\r')
            end--;
        int rc = aoei_vocab_add(v, text.data + start, end - start, id, r->err);
        if (rc) {
            aoei_error_prefix(r->err, "%s:%lld", r->vocab_path, (long long)id + 1);
            return rc;
        }
        start = next;
    }
    const aoei_listed_token *unk = &r->special[UNK];
    return aoei_wordpiece_finish(&r->t->model.wordpiece, unk->content, unk->len, "##", 2, 100, r->err);
}

static int add(const reader *r, const char *content, size_t len, aoei_added_flags flags, const char *path) {
    int rc = aoei_added_tokens_add(&r->t->added, aoei_subword_vocab(&r->t->model), content, len, flags, r->err);
    if (rc)
        aoei_error_prefix(r->err, "%s", path);
    return rc;
}

static int is_special(const void *user, const char *content, size_t len) {
    const reader *r = user;
    for (int i = 0; i < N_SPECIALS; i++)
        if (r->special[i].content && r->special[i].len == len && memcmp(r->special[i].content, content, len) == 0)
            return 1;
    return 0;
}

/* Adds the tokens of added_tokens_decoder, or of added_tokens.json if there is no added_tokens_decoder. */
static int add_listed(const reader *r) {
    json_t *decoder = json_object_get(r->config, "added_tokens_decoder");
    const aoei_vocab *v = aoei_subword_vocab(&r->t->model);
    return decoder ? aoei_listed_tokens_add_decoder(&r->t->added, v, decoder, r->config_path, r->err)
                   : aoei_listed_tokens_add_ids(&r->t->added, v, r->added, is_special, r, r->added_path, r->err);
}

/* Adds the special tokens that are in the vocabulary and were not added by add_listed. Then adds the tokens in
 * "additional_special_tokens". */
static int add_specials(const reader *r) {
    const aoei_vocab *v = aoei_subword_vocab(&r->t->model);
    int rc;
    for (int i = 0; i < N_SPECIALS; i++) {
        const aoei_listed_token *s = &r->special[i];
        if (!s->content || aoei_added_tokens_find(&r->t->added, s->content, s->len) != (size_t)-1 ||
            aoei_vocab_id(v, s->content, s->len) < 0)
            continue;
        if ((rc = add(r, s->content, s->len, s->flags, r->config_path)))
            return rc;
    }
    const json_t *more = json_object_get(r->config, "additional_special_tokens");
    const char *path = r->config_path;
    if (!json_is_array(more)) {
        more = json_object_get(r->map, "additional_special_tokens");
        path = r->map_path;
    }
    for (size_t i = 0; i < json_array_size(more); i++) {
        aoei_listed_token s;
        if ((rc = aoei_listed_token_read_special(&s, json_array_get(more, i), (aoei_added_flags){.special = 1},
                                                 "additional_special_tokens", path, r->err)))
            return rc;
        if (aoei_added_tokens_find(&r->t->added, s.content, s.len) == (size_t)-1 &&
            (rc = add(r, s.content, s.len, s.flags, path)))
            return rc;
    }
    return 0;
}

static int32_t special_id(const reader *r, int which) {
    const aoei_listed_token *s = &r->special[which];
    return s->content ? aoei_tokenizer_id(r->t, s->content, s->len) : -1;
}

/* Adds [CLS] before and [SEP] after each text. Adds nothing if the vocabulary contains neither token, as in static
 * models. */
static int add_bert_template(const reader *r) {
    const aoei_listed_token *cls = &r->special[CLS], *sep = &r->special[SEP];
    const int32_t cls_id = special_id(r, CLS), sep_id = special_id(r, SEP);
    if (cls_id < 0 && sep_id < 0)
        return 0;
    if (cls_id < 0 || sep_id < 0)
        return aoei_fail(r->err, AOE_EFORMAT,
                         "%s: the vocabulary has no token \"%.80s\"; add it, or set another token in %s", r->vocab_path,
                         cls_id < 0 ? cls->content : sep->content, r->config_path);
    int rc;
    if ((rc = aoei_postprocessor_add(&r->t->post, 0, cls_id, r->err)) ||
        (rc = aoei_postprocessor_add(&r->t->post, 1, sep_id, r->err)))
        return rc;
    return aoei_postprocessor_add_usual_pair(&r->t->post, cls_id, sep_id, r->family == ROBERTA, r->err);
}

/* Sets the special tokens before and after each text. Qwen2 tokenizers add no special tokens. GPT-2 tokenizers add only
 * the BOS token, and only if the configuration requests it. */
static int add_template(const reader *r) {
    int bos = 0;
    if (r->family == BERT || r->family == ROBERTA)
        return add_bert_template(r);
    int rc = aoei_json_bool(r->config, "add_bos_token", &bos, r->config_path, r->err);
    if (rc || !bos || r->family == QWEN2)
        return rc;
    const int32_t id = special_id(r, BOS);
    return id < 0 ? aoei_fail(r->err, AOE_EFORMAT,
                              "%s: \"add_bos_token\" is true, but \"bos_token\" is not in the vocabulary; correct it",
                              r->config_path)
                  : aoei_postprocessor_add(&r->t->post, 0, id, r->err);
}

static int read_bpe(const reader *r, const aoei_vocab_files *files) {
    json_t *vocab = NULL;
    int rc;
    if (!files->merges.data)
        return aoei_fail(r->err, AOE_ENOENT,
                         "%s: file not found, but vocab.json needs it; add merges.txt or a tokenizer.json",
                         r->merges_path);
    r->t->model.type = AOEI_SUBWORD_BPE;
    rc = aoei_json_parse(&vocab, files->vocab_json.data, files->vocab_json.len, r->vocab_path, r->err);
    if (!rc)
        rc = aoei_bpe_read_files(&r->t->model.bpe, vocab, r->vocab_path, files->merges, r->merges_path, r->err);
    json_decref(vocab);
    return rc;
}

/* Reads the model, the normalizer, the pre-tokenizer and the special tokens. */
static int read_parts(reader *r, const aoei_vocab_files *files) {
    const int from_txt = files->vocab.data || !files->vocab_json.data;
    int rc;
    if (!from_txt && (rc = read_bpe(r, files)))
        return rc;
    if ((rc = find_family(r, from_txt)) || (rc = from_txt ? read_bert(r) : read_byte_level(r)) ||
        (rc = read_specials(r)))
        return rc;
    return from_txt ? read_lines(r, files->vocab) : 0;
}

int aoei_tokenizer_read_vocab(aoe_tokenizer *t, const aoei_vocab_files *files, const char *dir, aoe_error *err) {
    reader r = {.t = t, .dir = dir, .err = err};
    const int vocab_file = files->vocab.data || !files->vocab_json.data ? AOEI_FILE_VOCAB_TXT : AOEI_FILE_VOCAB_JSON;
    int rc;
    if ((rc = load(NULL, &r.vocab_path, &r, vocab_file, files->vocab)) ||
        (rc = load(NULL, &r.merges_path, &r, AOEI_FILE_MERGES, files->merges)) ||
        (rc = load(&r.config, &r.config_path, &r, AOEI_FILE_CONFIG, files->config)) ||
        (rc = load(&r.map, &r.map_path, &r, AOEI_FILE_SPECIAL_MAP, files->special_map)) ||
        (rc = load(&r.added, &r.added_path, &r, AOEI_FILE_ADDED_TOKENS, files->added_tokens)) ||
        (rc = read_parts(&r, files)) || (rc = aoei_input_names_read(&t->token_types, r.config, r.config_path, err)) ||
        (rc = aoei_tokenizer_config_truncation(t, NULL, r.config, r.config_path, err)) || (rc = add_listed(&r)) ||
        (rc = add_specials(&r)) || (rc = aoei_tokenizer_finish(t, r.config_path, err)))
        goto done;
    rc = add_template(&r);
done:
    json_decref(r.config);
    json_decref(r.map);
    json_decref(r.added);
    aoei_free(r.config_path);
    aoei_free(r.map_path);
    aoei_free(r.added_path);
    aoei_free(r.vocab_path);
    aoei_free(r.merges_path);
    return rc;
}
