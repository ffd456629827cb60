/* SPDX-License-Identifier: MIT
 * covers: tokenizer/subset_files
 * Tests tokenizers with a subset of the tokens of another tokenizer. The subset must contain the tokens that are needed
 * for texts of other tokens, and the files must give the tokens new ids in the same order. If the tokens of a text are
 * in the subset, both tokenizers must give the same tokens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/random.h"
#include "tokenizer/subset_files.h"
#include "tokenizer/token_subset.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/tokenizer_parts.h"

#define FRAGMENT(err, fragment) assert_non_null(strstr((err).message, fragment))

static aoei_token_subset create(const aoe_tokenizer *t) {
    aoei_token_subset s;
    assert_int_equal(aoei_token_subset_create(&s, t, "dir", NULL), 0);
    return s;
}

/* Adds the tokens in `tokens`, separated by spaces. */
static void add(aoei_token_subset *s, const char *tokens) {
    char *copy = strdup(tokens), *save = NULL;
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        assert_int_equal(aoei_token_subset_add(s, aoei_tokenizer_id(s->t, w, strlen(w)), SIZE_MAX, NULL), 1);
    free(copy);
}

/* Returns the tokens of the subset, separated by spaces. The next call overwrites the result. */
static const char *members(const aoei_token_subset *s) {
    static char out[4096];
    size_t at = 0, n = 0;
    out[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        const aoe_text token = aoe_tokenizer_token(s->t, (int32_t)i);
        n += s->keep[i];
        if (s->keep[i])
            at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s", at ? " " : "", (int)token.len, token.data);
    }
    assert_int_equal(n, s->n_kept);
    return out;
}

/* Asserts that the alphabet of texts with the tokens in `used` consists of the tokens `want`. */
static void expect_alphabet(const aoe_tokenizer *t, const char *used, const char *want) {
    aoei_token_subset s = create(t);
    uint8_t *count = calloc(s.n, sizeof *count);
    char *copy = strdup(used), *save = NULL;
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        count[aoei_tokenizer_id(t, w, strlen(w))] = 1;
    assert_int_equal(aoei_token_subset_add_alphabet(&s, count, NULL), 0);
    assert_string_equal(members(&s), want);
    free(copy);
    free(count);
    aoei_token_subset_free(&s);
}

/* Numbers the subset and creates its tokenizer. */
static aoe_tokenizer *reduce(aoei_token_subset *s) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    if (aoei_token_subset_number(s, &err) || aoei_subset_tokenizer(&t, s, "dir", &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < s->n_kept; i++) {
        const aoe_text a = aoe_tokenizer_token(t, (int32_t)i), b = aoe_tokenizer_token(s->t, s->old_id[i]);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        assert_int_equal(s->new_id[s->old_id[i]], i);
    }
    return t;
}

/* Returns a tokenizer with the tokens in `tokens` and those to which the settings of t refer. */
static aoe_tokenizer *reduced(const aoe_tokenizer *t, const char *tokens) {
    aoei_token_subset s = create(t);
    assert_int_equal(aoei_subset_add_settings(&s, "dir", NULL), 0);
    add(&s, tokens);
    aoe_tokenizer *small = reduce(&s);
    aoei_token_subset_free(&s);
    return small;
}

/* Asserts that the tokenizer gives the ids `want`, separated by spaces. */
static void expect_ids(const aoe_tokenizer *t, const char *text, const char *want) {
    char got[256] = "";
    aoe_ids ids = {0};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), NULL, &ids, NULL), 0);
    for (size_t i = 0, at = 0; i < ids.n; i++)
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%d", i ? " " : "", ids.id[i]);
    assert_string_equal(got, want);
    aoe_ids_free(&ids);
}

/* --------------------------------------------------------------- WordPiece */

static void adds_characters_of_wordpiece(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){
        .words = "a b ##a ##b \xc3\xa9 ##\xc3\xa9 \xe4\xb8\xad ab ##bb abc ab\xc3\xa9 b\xe4\xb8\xad ##"});
    expect_alphabet(t, "", "a b ##a ##b");
    expect_alphabet(t, "ab ##bb", "a b ##a ##b");                        /* both consist of single characters */
    expect_alphabet(t, "ab\xc3\xa9", "a b ##a ##b \xc3\xa9 ##\xc3\xa9"); /* and so does this token */
    expect_alphabet(t, "abc", "a b ##a ##b abc");                        /* there is no token ##c */
    expect_alphabet(t, "b\xe4\xb8\xad", "a b ##a ##b \xe4\xb8\xad b\xe4\xb8\xad"); /* there is no token with ## */
    aoe_tokenizer_close(t);
}

static void writes_tokenizer_json(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){.words = "a b ##a ##b ab ##bb c"});
    aoe_tokenizer *small = reduced(t, "##a ##b b ab");
    assert_int_equal(aoe_tokenizer_vocab_size(small), 9);
    expect_ids(small, "ab ba bab c", "2 8 5 6 5 6 7 1 3");
    assert_string_equal(test_tokens(small, "ab ba a [MASK]", NULL), "[CLS] ab b ##a [UNK] [MASK] [SEP]");
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* Tests that each kind of post-processor, the section "padding" and "added_tokens" get the new ids. */
static void renumbers_settings(void **state) {
    (void)state;
    static const char *const processors[] = {
        "{\"type\":\"BertProcessing\",\"cls\":[\"c\",8],\"sep\":[\"b\",6]}",
        "{\"type\":\"RobertaProcessing\",\"cls\":[\"c\",8],\"sep\":[\"b\",6],\"trim_offsets\":true}",
        "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{\"type\":\"BertProcessing\","
        "\"cls\":[\"c\",8],"
        "\"sep\":[\"b\",6]}]}",
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"c\"}},{\"Sequence\":{\"id\":\"A\"}},"
        "{\"SpecialToken\":{\"id\":\"b\"}}],\"pair\":[{\"Sequence\":{\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"b\"}},"
        "{\"Sequence\":{\"id\":\"B\"}}],\"special_tokens\":{\"c\":{\"id\":\"c\",\"ids\":[8]},\"b\":{\"id\":\"b\","
        "\"ids\":[6]}}}",
    };
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++) {
        char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b x c d",
                                                                .post_processor = processors[i],
                                                                .added_tokens = "[{\"id\":77,\"content\":\"<new>\"}]"});
        char *padding = strstr(json, "\"padding\":null"), changed[4096];
        snprintf(changed, sizeof changed, "%.*s\"padding\":{\"pad_id\":9}%s", (int)(padding - json), json,
                 padding + strlen("\"padding\":null"));
        aoe_tokenizer *t = test_tokenizer_of(changed), *small = reduced(t, "");
        /* [UNK], [MASK], b, c, the padding token d, and the added token */
        assert_int_equal(aoe_tokenizer_vocab_size(small), 6);
        expect_ids(small, "d <new> a", "3 4 5 0 2");
        const char *text = small->file[AOEI_FILE_TOKENIZER_JSON].data;
        assert_non_null(strstr(text, "\"pad_id\": 4"));
        assert_non_null(strstr(text, "\"id\": 5"));
        aoe_tokenizer_close(small);
        aoe_tokenizer_close(t);
        free(json);
    }
}

static aoei_kept_file kept(const char *text) {
    return text ? (aoei_kept_file){aoei_strndup(text, strlen(text)), strlen(text)} : (aoei_kept_file){0};
}

/* Opens a tokenizer with the files text[AOEI_FILE_COUNT]; NULL: the file is missing. */
static aoe_tokenizer *open_files(const char *const text[AOEI_FILE_COUNT]) {
    aoei_kept_file file[AOEI_FILE_COUNT];
    aoe_tokenizer *t;
    aoe_error err = {0};
    for (int i = 0; i < AOEI_FILE_COUNT; i++)
        file[i] = kept(text[i]);
    if (aoei_tokenizer_from_files(&t, file, "dir", &err))
        fail_msg("%s", err.message);
    return t;
}

/* Asserts the contents of a file of the tokenizer. */
static void expect_file(const aoe_tokenizer *t, int which, const char *want) {
    assert_int_equal(t->file[which].size, strlen(want));
    assert_memory_equal(t->file[which].data, want, strlen(want));
}

/* Tests vocab.txt. The line number is the id, also if a line occurs twice or is empty. */
static void writes_vocab_txt(void **state) {
    (void)state;
    const char *const text[AOEI_FILE_COUNT] = {
        [AOEI_FILE_VOCAB_TXT] = "[PAD]\r\n[UNK]\r\nx\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\n\r\nb\r\na\r\n##b",
        [AOEI_FILE_SPECIAL_MAP] = "{\"cls_token\": \"[CLS]\"}"};
    aoe_tokenizer *t = open_files(text), *small = reduced(t, "a ##b");
    expect_file(small, AOEI_FILE_VOCAB_TXT, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n");
    expect_file(small, AOEI_FILE_SPECIAL_MAP, text[AOEI_FILE_SPECIAL_MAP]);
    expect_ids(small, "ab b", "2 5 6 1 3");
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* Tests that added_tokens_decoder gets the new ids. */
static void writes_config(void **state) {
    (void)state;
    const char *const text[AOEI_FILE_COUNT] = {
        [AOEI_FILE_VOCAB_TXT] = "[UNK]\nx\n[CLS]\n[SEP]\na\n",
        [AOEI_FILE_CONFIG] = "{\"added_tokens_decoder\": {\"2\": {\"content\": \"[CLS]\", \"special\": true}, \"5\": "
                             "{\"content\": \"<new>\"}}, \"model_max_length\": 8}"};
    aoe_tokenizer *t = open_files(text), *small = reduced(t, "a");
    expect_file(
        small, AOEI_FILE_CONFIG,
        "{\n  \"added_tokens_decoder\": {\n    \"1\": {\n      \"content\": \"[CLS]\",\n      \"special\": true\n"
        "    },\n"
        "    \"4\": {\n      \"content\": \"<new>\"\n    }\n  },\n  \"model_max_length\": 8\n}\n");
    expect_ids(small, "a <new> x", "1 3 4 0 2");
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* Tests that files without ids of tokens are copied byte for byte, and that added_tokens.json gets the new ids. */
static void copies_other_files(void **state) {
    (void)state;
    const char *const text[AOEI_FILE_COUNT] = {
        [AOEI_FILE_VOCAB_TXT] = "[PAD]\n[UNK]\nx\n[CLS]\n[SEP]\n[MASK]\na\n",
        [AOEI_FILE_CONFIG] = "{\"do_lower_case\":true, \"model_max_length\":1000000000000000019884624838656}",
        [AOEI_FILE_ADDED_TOKENS] = "{\"<new>\": 7, \"[MASK]\": 5}"};
    aoe_tokenizer *t = open_files(text), *small = reduced(t, "a");
    expect_file(small, AOEI_FILE_CONFIG, text[AOEI_FILE_CONFIG]);
    expect_file(small, AOEI_FILE_ADDED_TOKENS, "{\n  \"<new>\": 6,\n  \"[MASK]\": 4\n}\n");
    expect_ids(small, "a <new>", "2 5 6 3");
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* --------------------------------------------------------------------- BPE */

#define ABC                                                                                                            \
    "\"<u>\":0,\"a\":1,\"b\":2,\"c\":3,\"ab\":4,\"bc\":5,\"abc\":6,\"abcab\":7,\"d\":8,"                               \
    "\"cab\":9"
#define BPE(options, merges) "{\"model\":{\"type\":\"BPE\"" options ",\"vocab\":{" ABC "},\"merges\":[" merges "]}}"
#define MERGES               "\"a b\",\"ab c\",\"b c\",\"c ab\",[\"abc\",\"ab\"]"

/* Tests that the tokens from which a token is merged are added with it, if the limit permits it. */
static void adds_parts_of_bpe(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer_of(BPE(",\"unk_token\":\"<u>\"", MERGES));
    aoei_token_subset s = create(t);
    assert_int_equal(aoei_token_subset_add(&s, 6, 3, NULL), 0); /* abc needs a, b, c and ab */
    assert_string_equal(members(&s), "");
    assert_int_equal(aoei_token_subset_add(&s, 6, 5, NULL), 1);
    assert_string_equal(members(&s), "a b c ab abc");
    assert_int_equal(aoei_token_subset_add(&s, 7, 5, NULL), 0);
    assert_int_equal(aoei_token_subset_add(&s, 7, 6, NULL), 1);
    assert_int_equal(aoei_token_subset_add(&s, 7, 6, NULL), 1); /* it is already in the subset */
    assert_string_equal(members(&s), "a b c ab abc abcab");
    assert_int_equal(aoei_token_subset_add(&s, -1, SIZE_MAX, NULL), 0);
    assert_int_equal(aoei_token_subset_add(&s, 10, SIZE_MAX, NULL), 0);
    aoei_token_subset_free(&s);
    s = create(t);
    add(&s, "bc cab"); /* the characters of bc are not merged by other merges */
    assert_string_equal(members(&s), "a b c ab bc cab");
    aoei_token_subset_free(&s);
    aoe_tokenizer_close(t);
}

static void writes_merges(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer_of(BPE(",\"unk_token\":\"<u>\"", MERGES)), *small = reduced(t, "abcab");
    assert_string_equal(test_tokens(small, "abcabbcabd", NULL), "abcab b c ab <u>");
    assert_non_null(strstr(small->file[AOEI_FILE_TOKENIZER_JSON].data, "\"ab c\",\n      [\n"));
    assert_null(strstr(small->file[AOEI_FILE_TOKENIZER_JSON].data, "\"b c\""));
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
    const char *const text[AOEI_FILE_COUNT] = {
        [AOEI_FILE_VOCAB_JSON] =
            "{\"<s>\":0,\"x\":1,\"<pad>\":2,\"</s>\":3,\"<unk>\":4,\"a\":5,\"b\":6,\"ab\":7,\"abx\":8,"
            "\"<mask>\":9}",
        [AOEI_FILE_MERGES] = "#version: 0.2\na b\nab x\n"};
    t = open_files(text);
    small = reduced(t, "ab");
    expect_file(small, AOEI_FILE_MERGES, "#version: 0.2\na b\n");
    expect_ids(small, "ab<mask>", "0 6 7 2");
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* Tests that a token that no merge forms has no parts: with ignore_merges, a word can be such a token. */
static void adds_unreachable_tokens(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer_of(BPE(",\"ignore_merges\":true", "\"a b\"")), *small = reduced(t, "abc a");
    assert_string_equal(test_tokens(small, "abc", NULL), "abc");
    assert_int_equal(aoe_tokenizer_vocab_size(small), 2);
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* Tests the letters of byte-level BPE and the byte tokens. */
static void adds_bytes(void **state) {
    (void)state;
    aoe_tokenizer *t =
        test_tokenizer_of("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"model\":{"
                          "\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\xc4\xa0\":1,\"\xc3\x83\":2,\"\xe4\xb8\xad\":3},"
                          "\"merges\":[]}}");
    expect_alphabet(t, "", "a \xc4\xa0 \xc3\x83");
    aoe_tokenizer_close(t);
    for (int fallback = 0; fallback < 2; fallback++) {
        char json[512];
        snprintf(
            json, sizeof json,
            "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":%s,\"vocab\":[[\"<u>\",0],[\"<0x41>\",-1],"
            "[\"a\",-2],[\"\xc3\xa9\",-2],[\"a\xc3\xa9\",-2],[\"a\xe4\xb8\xad\",-2]]}}",
            fallback ? "true" : "false");
        t = test_tokenizer_of(json);
        expect_alphabet(t, "", fallback ? "<0x41> a" : "a");
        expect_alphabet(t, "a\xc3\xa9", fallback ? "<0x41> a \xc3\xa9" : "a \xc3\xa9");
        expect_alphabet(t, "a\xe4\xb8\xad", fallback ? "<0x41> a" : "a a\xe4\xb8\xad");
        aoe_tokenizer_close(t);
    }
}

/* ----------------------------------------------------------------- Unigram */

static void writes_unigram(void **state) {
    (void)state;
    aoe_tokenizer *t =
        test_tokenizer_of("{\"model\":{\"type\":\"Unigram\",\"unk_id\":2,\"vocab\":[[\"x\",-9],[\"a\",-2.5],"
                          "[\"<u>\",0],[\"b\",-3.125],[\"ab\",-4],[\"ba\",-1]]}}");
    aoe_tokenizer *small = reduced(t, "ab b a");
    assert_string_equal(test_tokens(small, "aba", NULL), "ab a");
    assert_string_equal(test_tokens(small, "bax", NULL), "b a <u>");
    assert_int_equal(aoe_tokenizer_vocab_size(small), 4);
    assert_non_null(strstr(small->file[AOEI_FILE_TOKENIZER_JSON].data, "-3.125"));
    assert_non_null(strstr(small->file[AOEI_FILE_TOKENIZER_JSON].data, "\"unk_id\": 1"));
    aoe_tokenizer_close(small);
    aoe_tokenizer_close(t);
}

/* -------------------------------------------------------------- random models */

enum { LETTERS = 5, TOKENS = 40, MERGED = 60, MODELS = 200, WORDS = 60 };

/* Writes the tokenizer.json of a BPE model with random merges. */
static aoe_tokenizer *random_bpe(aoei_rng *rng) {
    char token[TOKENS][16];
    size_t n = LETTERS;
    aoei_buffer merges = {0}, json = {0};
    for (size_t i = 0; i < LETTERS; i++)
        snprintf(token[i], sizeof token[i], "%c", (char)('a' + i));
    for (size_t i = 0; i < MERGED; i++) {
        const char *left = token[aoei_rng_below(rng, (uint32_t)n)], *right = token[aoei_rng_below(rng, (uint32_t)n)];
        char both[32];
        size_t k = 0;
        snprintf(both, sizeof both, "%s%s", left, right);
        while (k < n && strcmp(token[k], both) != 0)
            k++;
        if (strlen(both) > 8 || (k == n && n == TOKENS))
            continue;
        if (k == n)
            memcpy(token[n++], both, strlen(both) + 1);
        aoei_buffer_printf(&merges, "%s\"%s %s\"", merges.len ? "," : "", left, right);
    }
    aoei_buffer_printf(&json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (size_t i = 0; i < n; i++)
        aoei_buffer_printf(&json, "%s\"%s\":%zu", i ? "," : "", token[i], i);
    aoei_buffer_printf(&json, "},\"merges\":[%s]}}", merges.data ? merges.data : "");
    aoe_tokenizer *t = test_tokenizer_of(json.data);
    aoei_buffer_free(&merges);
    aoei_buffer_free(&json);
    return t;
}

/* Tests random models and subsets: a word whose tokens are in the subset has the same tokens, and every other word has
 * tokens that form the word. */
static void equals_random_models(void **state) {
    (void)state;
    aoei_rng rng;
    size_t equal = 0, different = 0;
    aoei_rng_init(&rng, 11, AOEI_STREAM_TEST, 0);
    for (size_t model = 0; model < MODELS; model++) {
        aoe_tokenizer *t = random_bpe(&rng);
        aoei_token_subset s = create(t);
        add(&s, "a b c d e");
        for (size_t i = 0; i < 6; i++)
            aoei_token_subset_add(&s, (int32_t)aoei_rng_below(&rng, (uint32_t)s.n), s.n_kept + 4, NULL);
        aoe_tokenizer *small = reduce(&s);
        for (size_t i = 0; i < WORDS; i++) {
            char word[16] = "", joined[16] = "";
            const size_t len = 1 + aoei_rng_below(&rng, 14);
            aoe_ids before = {0}, after = {0};
            int kept = 1;
            for (size_t k = 0; k < len; k++)
                word[k] = (char)('a' + aoei_rng_below(&rng, LETTERS));
            assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(word), NULL, &before, NULL), 0);
            assert_int_equal(aoe_tokenizer_encode(small, aoe_text_of(word), NULL, &after, NULL), 0);
            for (size_t k = 0; k < before.n; k++)
                kept &= s.keep[before.id[k]];
            for (size_t k = 0; k < after.n; k++) {
                const aoe_text token = aoe_tokenizer_token(small, after.id[k]);
                strncat(joined, token.data, token.len);
                if (kept)
                    assert_int_equal(s.old_id[after.id[k]], before.id[k]);
            }
            assert_string_equal(joined, word);
            assert_true(!kept || after.n == before.n);
            equal += kept != 0;
            different += kept == 0;
            aoe_ids_free(&before);
            aoe_ids_free(&after);
        }
        aoei_token_subset_free(&s);
        aoe_tokenizer_close(small);
        aoe_tokenizer_close(t);
    }
    assert_true(equal > 500 && different > 500);
}

/* -------------------------------------------------------------------- errors */

static void expect_rejected(const char *json, const char *message) {
    aoe_tokenizer *t = test_tokenizer_of(json);
    aoei_token_subset s;
    aoe_error err = {0};
    assert_int_equal(aoei_token_subset_create(&s, t, "dir", &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, message);
    aoei_token_subset_free(&s);
    aoe_tokenizer_close(t);
}

static void rejects_models(void **state) {
    (void)state;
    expect_rejected(BPE(",\"continuing_subword_prefix\":\"##\"", ""),
                    "dir: the vocabulary of a BPE model with continuing_subword");
    expect_rejected(BPE(",\"end_of_word_suffix\":\"</w>\"", ""),
                    "dir: the vocabulary of a BPE model with end_of_word_suffix");
    const char *const text[AOEI_FILE_COUNT] = {[AOEI_FILE_WORDS] = "{\"vocab\": [\"a\", \"b\"]}"};
    aoe_tokenizer *t = open_files(text);
    aoei_token_subset s;
    aoe_error err = {0};
    assert_int_equal(aoei_token_subset_create(&s, t, "dir", &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "dir: the vocabulary of a WhitespaceTokenizer cannot be reduced");
    aoe_tokenizer_close(t);
}

/* Tests that ids outside the vocabulary are rejected with the name of the file. */
static void rejects_ids(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){
        .words = "a", .post_processor = "{\"type\":\"BertProcessing\",\"cls\":[\"c\",2],\"sep\":[\"b\",99]}"});
    aoei_token_subset s = create(t);
    aoe_error err = {0};
    assert_int_equal(aoei_subset_add_settings(&s, "dir", &err), AOE_EFORMAT);
    FRAGMENT(err, "dir/tokenizer.json: a token id is not an integer below 6, the number of tokens");
    aoei_token_subset_free(&s);
    aoe_tokenizer_close(t);
    /* the added token has the id 2, because the vocabulary has an unused id */
    t = test_tokenizer_of("{\"added_tokens\":[{\"id\":9,\"content\":\"<x>\"}],\"model\":{\"type\":\"WordPiece\","
                          "\"unk_token\":\"u\",\"max_input_chars_per_word\":9,\"vocab\":{\"u\":0,\"a\":5}}}");
    s = create(t);
    add(&s, "u a <x>");
    assert_int_equal(aoei_token_subset_number(&s, NULL), 0);
    aoe_tokenizer *small;
    assert_int_equal(aoei_subset_tokenizer(&small, &s, "dir", &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "dir: the vocabulary cannot be reduced");
    assert_null(small);
    aoei_token_subset_free(&s);
    aoe_tokenizer_close(t);
}

/* If there is a vocab.txt, vocab.json is not read until the vocabulary is reduced. */
static void rejects_files(void **state) {
    (void)state;
    const char *const text[AOEI_FILE_COUNT] = {
        [AOEI_FILE_VOCAB_TXT] = "[UNK]\na\nb\n", [AOEI_FILE_VOCAB_JSON] = "\"a\""};
    aoe_tokenizer *t = open_files(text), *small;
    aoei_token_subset s = create(t);
    aoe_error err = {0};
    add(&s, "[UNK] a");
    assert_int_equal(aoei_token_subset_number(&s, NULL), 0);
    assert_int_equal(aoei_subset_tokenizer(&small, &s, "dir", &err), AOE_EFORMAT);
    FRAGMENT(err, "dir/vocab.json: not a JSON object");
    assert_null(small);
    aoei_token_subset_free(&s);
    aoe_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_characters_of_wordpiece),
        cmocka_unit_test(writes_tokenizer_json),
        cmocka_unit_test(renumbers_settings),
        cmocka_unit_test(writes_vocab_txt),
        cmocka_unit_test(writes_config),
        cmocka_unit_test(copies_other_files),
        cmocka_unit_test(adds_parts_of_bpe),
        cmocka_unit_test(writes_merges),
        cmocka_unit_test(adds_unreachable_tokens),
        cmocka_unit_test(adds_bytes),
        cmocka_unit_test(writes_unigram),
        cmocka_unit_test(equals_random_models),
        cmocka_unit_test(rejects_models),
        cmocka_unit_test(rejects_ids),
        cmocka_unit_test(rejects_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
