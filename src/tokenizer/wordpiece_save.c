/* SPDX-License-Identifier: MIT
 * Saves a trained vocabulary as the four files of a BERT tokenizer. Hugging Face tokenizers and transformers can open
 * the directory with or without tokenizer.json.
 */
#include "tokenizer/wordpiece_save.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "tokenizer/tokenizer_file_names.h"

static const char *const special_keys[AOEI_SPECIAL_COUNT] = {"pad_token", "unk_token", "cls_token", "sep_token",
                                                             "mask_token"};

/* If `failed` is 0, returns `value`. Otherwise frees `value` and returns NULL. */
static json_t *complete(json_t *value, int failed) {
    if (!failed)
        return value;
    json_decref(value);
    return NULL;
}

static json_t *added_tokens(const aoei_wordpiece_options *o) {
    json_t *array = json_array();
    int failed = 0;
    for (int i = 0; i < AOEI_SPECIAL_COUNT; i++)
        failed |= json_array_append_new(array, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", i, "content",
                                                         aoei_wordpiece_special_at(o, i), "single_word", 0, "lstrip", 0,
                                                         "rstrip", 0, "normalized", 0, "special", 1));
    return complete(array, failed);
}

static json_t *template_piece(const char *kind, const char *id, int type) {
    return json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type);
}

static json_t *template_special(int which) {
    const char *name = aoei_wordpiece_special(which);
    return json_pack("{s:s, s:[i], s:[s]}", "id", name, "ids", which, "tokens", name);
}

static json_t *post_processor(void) {
    const char *cls = aoei_wordpiece_special(AOEI_CLS), *sep = aoei_wordpiece_special(AOEI_SEP);
    return json_pack("{s:s, s:[o,o,o], s:[o,o,o,o,o], s:{s:o, s:o}}", "type", "TemplateProcessing", "single",
                     template_piece("SpecialToken", cls, 0), template_piece("Sequence", "A", 0),
                     template_piece("SpecialToken", sep, 0), "pair", template_piece("SpecialToken", cls, 0),
                     template_piece("Sequence", "A", 0), template_piece("SpecialToken", sep, 0),
                     template_piece("Sequence", "B", 1), template_piece("SpecialToken", sep, 1), "special_tokens", cls,
                     template_special(AOEI_CLS), sep, template_special(AOEI_SEP));
}

/* Returns the JSON object {token: id}, in the order of ids, or NULL if out of memory. Tokens contain no NUL characters,
 * because the normalizer has removed them from the texts. */
static json_t *vocab_object(const aoei_vocab *v) {
    json_t *object = json_object();
    aoei_buffer key = {0};
    int failed = 0;
    for (size_t id = 0; id < v->n_ids && !failed; id++) {
        aoe_text token = aoei_vocab_token(v, (int32_t)id);
        aoei_buffer_clear(&key);
        failed = aoei_buffer_append(&key, token.data, token.len) ||
                 json_object_set_new_nocheck(object, key.data, json_integer((json_int_t)id));
    }
    aoei_buffer_free(&key);
    return complete(object, failed);
}

static json_t *tokenizer_json(const aoei_wordpiece_trainer *tr) {
    json_t *vocab = vocab_object(&tr->vocab);
    return json_pack(
        "{s:s, s:n, s:n, s:o, s:{s:s, s:b, s:b, s:n, s:b}, s:{s:s}, s:o, s:{s:s, s:s, s:b}, s:{s:s, s:s, s:s, "
        "s:i, s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added_tokens(&tr->options), "normalizer", "type",
        "BertNormalizer", "clean_text", 1, "handle_chinese_chars", 1, "strip_accents", "lowercase",
        tr->options.lowercase != 0, "pre_tokenizer", "type", "BertPreTokenizer", "post_processor", post_processor(),
        "decoder", "type", "WordPiece", "prefix", "##", "cleanup", 1, "model", "type", "WordPiece", "unk_token",
        aoei_wordpiece_special(AOEI_UNK), "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab",
        vocab);
}

static int set_specials(json_t *object) {
    int failed = 0;
    for (int i = 0; i < AOEI_SPECIAL_COUNT; i++)
        failed |= json_object_set_new(object, special_keys[i], json_string(aoei_wordpiece_special(i)));
    return failed;
}

static json_t *special_map(void) {
    json_t *object = json_object();
    return complete(object, set_specials(object));
}

static json_t *config_json(const aoei_wordpiece_trainer *tr) {
    size_t length = tr->options.model_max_length;
    json_t *object = json_pack("{s:s, s:b, s:n, s:b, s:b}", "tokenizer_class", "BertTokenizer", "do_lower_case",
                               tr->options.lowercase != 0, "strip_accents", "tokenize_chinese_chars", 1,
                               "clean_up_tokenization_spaces", 1);
    int failed = set_specials(object);
    if (length)
        failed |= json_object_set_new(object, "model_max_length", json_integer((json_int_t)length));
    return complete(object, failed);
}

/* Writes `value` to the tokenizer file with index `which` and frees `value`. */
static int save_json(json_t *value, const char *dir, int which, aoe_error *err) {
    char *path = aoei_path_join(dir, aoei_tokenizer_file_name(which));
    int rc = value && path ? aoei_json_save(value, path, err) : aoei_fail_nomem(err, 0);
    aoei_free(path);
    json_decref(value);
    return rc;
}

static int save_vocab_txt(const aoei_vocab *v, const char *dir, aoe_error *err) {
    aoei_buffer text = {0};
    for (size_t id = 0; id < v->n_ids; id++) {
        aoe_text token = aoei_vocab_token(v, (int32_t)id);
        aoei_buffer_append(&text, token.data, token.len);
        aoei_buffer_putc(&text, '\n');
    }
    char *path = aoei_path_join(dir, aoei_tokenizer_file_name(AOEI_FILE_VOCAB_TXT));
    int rc = text.failed || !path ? aoei_fail_nomem(err, text.len) : aoei_write_file(path, text.data, text.len, err);
    aoei_free(path);
    aoei_buffer_free(&text);
    return rc;
}

int aoei_wordpiece_save(const aoei_wordpiece_trainer *tr, const char *dir, aoe_error *err) {
    if (tr->vocab.n_ids == 0)
        return aoei_fail(err, AOE_EARG, "the vocabulary is not trained; call aoei_wordpiece_train first");
    int rc = save_vocab_txt(&tr->vocab, dir, err);
    if (!rc)
        rc = save_json(tokenizer_json(tr), dir, AOEI_FILE_TOKENIZER_JSON, err);
    if (!rc)
        rc = save_json(config_json(tr), dir, AOEI_FILE_CONFIG, err);
    if (!rc)
        rc = save_json(special_map(), dir, AOEI_FILE_SPECIAL_MAP, err);
    return rc;
}
