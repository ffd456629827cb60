/* SPDX-License-Identifier: MIT
 * covers: tokenizer/json_type tokenizer/postprocessor tokenizer/subword tokenizer/tokenizer
 * covers: tokenizer/tokenizer_file_names tokenizer/tokenizer_json tokenizer/tokenizer_vocab
 * Tests tokenizer files: tokenizer.json and the older files (vocab.txt, or vocab.json with merges.txt). Options and
 * unusual files must give the tokens that Hugging Face Tokenizers gives. Unsupported files must be rejected with a
 * message that names the file. Saving a tokenizer must copy its files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static aoe_tokenizer *open_vocab(const char *text, const char *config, const char *map, const char *added) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    aoei_vocab_files files = {.vocab = aoe_text_of(text),
                              .config = aoe_text_of(config),
                              .special_map = aoe_text_of(map),
                              .added_tokens = aoe_text_of(added)};
    if (aoei_tokenizer_parse_vocab(&t, &files, "dir", &err))
        fail_msg("%s", err.message);
    return t;
}

static void expect(const char *text, const char *config, const char *input, const char *want) {
    aoe_tokenizer *t = open_vocab(text, config, NULL, NULL);
    assert_string_equal(test_tokens(t, input, NULL), want);
    aoe_tokenizer_close(t);
}

static void test_vocab_lines(void **state) {
    (void)state;
    aoe_tokenizer *t =
        open_vocab("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na\r\n\r\nb\r\na\r\nlast", NULL, NULL, NULL);
    assert_int_equal(aoei_tokenizer_id(t, "b", 1), 7);
    assert_int_equal(aoei_tokenizer_id(t, "a", 1), 8); /* the id of a token that occurs twice is the number of its last
                                                          line */
    assert_null(aoe_tokenizer_token(t, 5).data);
    assert_null(aoe_tokenizer_token(t, 6).data); /* an empty line is not a token; its line number is not used as an
                                                    id */
    assert_int_equal(aoei_tokenizer_id(t, "last", 4), 9);
    assert_int_equal(aoe_tokenizer_vocab_size(t), 10);
    aoe_tokenizer_close(t);
}

static void test_config(void **state) {
    (void)state;
    expect(SPECIALS "e\nE\n\xc3\xa9\n", NULL, "E \xc3\xa9", "[CLS] e e [SEP]");
    expect(SPECIALS "e\nE\n\xc3\xa9\n", "{\"do_lower_case\": false}", "E \xc3\xa9", "[CLS] E \xc3\xa9 [SEP]");
    expect(SPECIALS "e\nE\n\xc3\xa9\n", "{\"do_lower_case\": false, \"strip_accents\": true}", "E \xc3\xa9",
           "[CLS] E e [SEP]");
    expect(SPECIALS "e\nE\n\xc3\xa9\n", "{\"strip_accents\": false}", "E \xc3\x89", "[CLS] e \xc3\xa9 [SEP]");
    expect(SPECIALS "a\n##\xe4\xb8\xad\n\xe4\xb8\xad\n", "{\"tokenize_chinese_chars\": false}", "a\xe4\xb8\xad",
           "[CLS] a ##\xe4\xb8\xad [SEP]");
    expect(SPECIALS "a\n##\xe4\xb8\xad\n\xe4\xb8\xad\n", "{\"tokenizer_class\": \"BertTokenizerFast\"}",
           "a\xe4\xb8\xad", "[CLS] a \xe4\xb8\xad [SEP]");
    expect("<p>\n<u>\n<s>\n</s>\na\n",
           "{\"pad_token\":\"<p>\",\"unk_token\":{\"content\":\"<u>\"},\"cls_token\":\"<s>\","
           "\"sep_token\":{\"content\":\"</s>\","
           "\"lstrip\":false},\"mask_token\":\"<none>\",\"model_max_length\":1000000000000000019884624838656,"
           "\"never_split\":[\"x\"],\"do_basic_tokenize\":true}",
           "a b</s>", "<s> a <u> </s> </s>");
    expect("a\nb\n[UNK]\n", NULL, "a b c", "a b [UNK]"); /* static models may have a vocabulary without [CLS] and
                                                            [SEP] */
}

static void test_more_tokens(void **state) {
    (void)state;
    static const char text[] = SPECIALS "a\nb\n";
    aoe_tokenizer *t =
        open_vocab(text,
                   "{\"added_tokens_decoder\":{\"8\":{\"content\":\"[Y]\",\"special\":true},"
                   "\"7\":{\"content\":\"Xx\",\"special\":false,\"normalized\":true,\"single_word\":true},"
                   "\"2\":{\"content\":\"[CLS]\",\"special\":true}},\"additional_special_tokens\":[\"[Y]\",\"[Z]\"],"
                   "\"unk_token\":\"[UNK]\"}",
                   "{\"unk_token\": \"a\"}", NULL);
    assert_string_equal(test_tokens(t, "a xX [Y][Z] axx zz", NULL), "[CLS] a Xx [Y] [Z] [UNK] [UNK] [SEP]");
    /* the added tokens are numbered in the order of their ids in the file */
    assert_int_equal(aoei_tokenizer_id(t, "Xx", 2), 7);
    assert_int_equal(aoei_tokenizer_id(t, "[Y]", 3), 8);
    assert_int_equal(aoei_tokenizer_id(t, "[Z]", 3), 9);
    aoe_tokenizer_close(t);
    /* Without "added_tokens_decoder", special_tokens_map.json overrides tokenizer_config.json, and the tokens of
     * added_tokens.json get the ids after the last id of the vocabulary. */
    t = open_vocab(text, "{\"unk_token\": \"[UNK]\"}", "{\"unk_token\": {\"content\": \"b\"}}",
                   "{\"Two\": 8, \"One\": 7}");
    assert_string_equal(test_tokens(t, "a zz oneTWO", NULL), "[CLS] a b One Two [SEP]");
    assert_int_equal(aoei_tokenizer_id(t, "Two", 3), 8);
    aoe_tokenizer_close(t);
}

static void expect_json_rejected(const char *json, int code, const char *part) {
    aoe_tokenizer *t = (aoe_tokenizer *)&t;
    aoe_error err = {0};
    assert_int_equal(aoei_tokenizer_parse_json(&t, json, strlen(json), (aoe_text){NULL, 0}, "tokenizer.json", &err),
                     code);
    assert_null(t);
    if (strncmp(err.message, "tokenizer.json", 14) != 0 || !strstr(err.message, part))
        fail_msg("error message \"%s\": expected the file name at its start, and \"%s\"", err.message, part);
}

#define MODEL "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1}}"

static void test_json_rejected(void **state) {
    (void)state;
    expect_json_rejected("", AOE_EFORMAT, "empty");
    expect_json_rejected("[]", AOE_EFORMAT, "not a JSON object");
    expect_json_rejected("{\"model\": ", AOE_EFORMAT, "tokenizer.json:1");
    expect_json_rejected("{\"version\":\"2.0\"," MODEL "}", AOE_EUNSUPPORTED, "version \"2.0\"");
    expect_json_rejected("{}", AOE_EFORMAT, "\"model\"");
    expect_json_rejected("{\"model\":{\"type\":\"WordLevel\"}}", AOE_EUNSUPPORTED, "model \"WordLevel\"");
    expect_json_rejected("{\"model\":{\"vocab\":{\"a\":0}}}", AOE_EFORMAT, "\"type\"");
    expect_json_rejected("{\"model\":{\"type\":\"WordPiece\"}}", AOE_EFORMAT, "\"vocab\"");
    expect_json_rejected("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":\"b\"}}}", AOE_EFORMAT, "\"a\"");
    expect_json_rejected("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":-1}}}", AOE_EFORMAT, "id -1");
    expect_json_rejected("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":99999999}}}", AOE_EFORMAT, "id 99999999");
    expect_json_rejected("{\"normalizer\":{\"type\":\"Unidecode\"}," MODEL "}", AOE_EUNSUPPORTED,
                         "normalizer \"Unidecode\"");
    expect_json_rejected("{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":1}," MODEL "}", AOE_EFORMAT,
                         "\"lowercase\"");
    expect_json_rejected("{\"normalizer\":{}," MODEL "}", AOE_EFORMAT, "\"type\"");
    expect_json_rejected("{\"pre_tokenizer\":{\"type\":\"FixedLength\"}," MODEL "}", AOE_EUNSUPPORTED,
                         "pre_tokenizer \"FixedLength\"");
    expect_json_rejected("{\"pre_tokenizer\":7," MODEL "}", AOE_EFORMAT, "\"pre_tokenizer\"");
    expect_json_rejected("{\"post_processor\":{\"type\":\"PairProcessing\"}," MODEL "}", AOE_EUNSUPPORTED,
                         "\"PairProcessing\"");
    expect_json_rejected("{\"post_processor\":{\"type\":\"RobertaProcessing\"}," MODEL "}", AOE_EFORMAT, "id");
    expect_json_rejected("{\"post_processor\":{\"type\":\"Sequence\"}," MODEL "}", AOE_EFORMAT, "\"processors\"");
    expect_json_rejected("{\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{}]}," MODEL "}", AOE_EFORMAT,
                         "\"type\"");
    expect_json_rejected("{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[]}," MODEL "}",
                         AOE_EUNSUPPORTED, "exactly once");
    expect_json_rejected(
        "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"B\"}}]}," MODEL "}",
        AOE_EUNSUPPORTED, "exactly once");
    expect_json_rejected(
        "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[X]\"}}]}," MODEL
        "}",
        AOE_EFORMAT, "\"[X]\"");
    expect_json_rejected("{\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\"]}," MODEL "}",
                         AOE_EFORMAT, "id");
    expect_json_rejected("{\"added_tokens\":{}," MODEL "}", AOE_EFORMAT, "\"added_tokens\"");
    expect_json_rejected("{\"added_tokens\":[{\"id\":1}]," MODEL "}", AOE_EFORMAT, "\"content\"");
    expect_json_rejected("{\"added_tokens\":[{\"content\":\"a\",\"special\":\"yes\"}]," MODEL "}", AOE_EFORMAT,
                         "\"special\"");
    expect_json_rejected("{\"normalizer\":{\"type\":\"BertNormalizer\"},\"added_tokens\":[{\"content\":\"\\u200b\","
                         "\"normalized\":true}]," MODEL "}",
                         AOE_EFORMAT, "empty after normalization");
}

static void test_other_components(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){
        .words = "a", .post_processor = "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}"});
    assert_string_equal(test_tokens(t, "a", NULL), "[CLS] a [SEP]");
    aoe_tokenizer_close(t);
    /* In a sequence of post-processors, each post-processor adds its tokens before and after the result of the previous
     * post-processor. ByteLevel adds no tokens. */
    t = test_tokenizer(&(test_tokenizer_spec){
        .words = "a",
        .post_processor =
            "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},"
            "{\"type\":\"RobertaProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]},{\"type\":\"Sequence\","
            "\"processors\":[]},{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[PAD]\"}},"
            "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"[PAD]\":{\"ids\":[0,4]}}}]}"});
    assert_string_equal(test_tokens(t, "a", NULL), "[PAD] [MASK] [CLS] a [SEP]");
    aoe_tokenizer_close(t);
    t = test_tokenizer(&(test_tokenizer_spec){.words = "a A", .post_processor = "null", .normalizer = "null"});
    assert_string_equal(test_tokens(t, "A a", NULL), "A a");
    aoe_tokenizer_close(t);
    /* a file without the type of the model, without an unknown token and without a pre-tokenizer */
    static const char json[] = "{\"model\":{\"max_input_chars_per_word\":3,\"vocab\":{\"a b\":0,\"##c\":1}}}";
    assert_int_equal(aoei_tokenizer_parse_json(&t, json, strlen(json), (aoe_text){NULL, 0}, "j", NULL), 0);
    assert_string_equal(test_tokens(t, "a b", NULL), "a b");
    aoe_ids ids = {0};
    aoe_error err = {0};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("xyz"), NULL, &ids, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "\"xyz\""));
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("a bc"), NULL, &ids, &err),
                     AOE_EFORMAT); /* the word "a bc" has 4 characters, more than max_input_chars_per_word */
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
}

static void expect_vocab_rejected(const char *text, const char *config, int code, const char *part) {
    aoe_tokenizer *t = (aoe_tokenizer *)&t;
    aoe_error err = {0};
    aoei_vocab_files files = {.vocab = aoe_text_of(text), .config = aoe_text_of(config)};
    assert_int_equal(aoei_tokenizer_parse_vocab(&t, &files, "dir", &err), code);
    assert_null(t);
    if (strncmp(err.message, "dir/", 4) != 0 || !strstr(err.message, part))
        fail_msg("error message \"%s\": expected the file name at its start, and \"%s\"", err.message, part);
}

static void test_vocab_rejected(void **state) {
    (void)state;
    expect_vocab_rejected("", NULL, AOE_EFORMAT, "vocab.txt: the vocabulary is empty");
    expect_vocab_rejected("ab\n\xff\n", NULL, AOE_EFORMAT, "byte 3");
    expect_vocab_rejected("[CLS]\na\n", NULL, AOE_EFORMAT, "\"[SEP]\"");
    expect_vocab_rejected(SPECIALS, "{\"tokenizer_class\":\"BertJapaneseTokenizer\"}", AOE_EUNSUPPORTED,
                          "\"BertJapaneseTokenizer\"");
    expect_vocab_rejected(SPECIALS, "{\"do_lower_case\":\"yes\"}", AOE_EFORMAT, "\"do_lower_case\"");
    expect_vocab_rejected(SPECIALS, "{\"cls_token\":[]}", AOE_EFORMAT, "\"cls_token\"");
    expect_vocab_rejected(SPECIALS, "[]", AOE_EFORMAT, "tokenizer_config.json: not a JSON object");
    expect_vocab_rejected(SPECIALS, "{\"added_tokens_decoder\":{\"5\":{}}}", AOE_EFORMAT, "\"5\"");
    expect_vocab_rejected(SPECIALS, "{\"additional_special_tokens\":[7]}", AOE_EFORMAT, "additional_special_tokens");
}

#define G "\xc4\xa0"
static const char vocab_json[] =
    "{\"<s>\":0,\"<pad>\":1,\"</s>\":2,\"<unk>\":3,\"a\":4,\"b\":5,\"\\u0120\":6,\"" G "a\":7,\"ab\":8,\"<mask>\":9}";
static const char merges_txt[] = "#version: 0.2\n" G " a\r\na b\n\n";

static aoe_tokenizer *open_merges(const char *vocab_text, const char *merges_text, const char *config, const char *map,
                                  aoe_error *err) {
    aoe_tokenizer *t = NULL;
    aoei_vocab_files files = {.vocab_json = aoe_text_of(vocab_text),
                              .merges = aoe_text_of(merges_text),
                              .config = aoe_text_of(config),
                              .special_map = aoe_text_of(map)};
    (void)aoei_tokenizer_parse_vocab(&t, &files, "dir", err);
    return t;
}

static void expect_merges(const char *vocab_text, const char *config, const char *input, const char *want) {
    aoe_error err = {0};
    aoe_tokenizer *t = open_merges(vocab_text, merges_txt, config, NULL, &err);
    if (!t)
        fail_msg("%s", err.message);
    assert_string_equal(test_tokens(t, input, NULL), want);
    aoe_tokenizer_close(t);
}

static void test_merges(void **state) {
    (void)state;
    static const char gpt2[] = "{\"a\":0,\"b\":1,\"" G "\":2,\"" G "a\":3,\"ab\":4,\"<|endoftext|>\":5,\"1\":6}";
    expect_merges(vocab_json, NULL, "ab ab <mask>", "<s> ab " G "a b <mask> </s>"); /* the mask token includes the space
                                                                                       before it */
    expect_merges(vocab_json, "{\"tokenizer_class\":\"RobertaTokenizerFast\",\"add_prefix_space\":true}", "ab",
                  "<s> " G "a b </s>");
    expect_merges(vocab_json, "{\"mask_token\":{\"content\":\"<mask>\"}}", "a <mask>", "<s> a " G " <mask> </s>");
    expect_merges(vocab_json, "{\"cls_token\":\"<pad>\",\"sep_token\":\"b\"}", "a", "<pad> a b");
    expect_merges(vocab_json, "{\"tokenizer_class\":\"GPT2Tokenizer\"}", "ab<mask>",
                  "ab a"); /* of the characters of "<mask>", only the letter a is in the vocabulary */
    expect_merges(gpt2, NULL, "ab ab<|endoftext|>", "ab " G "a b <|endoftext|>");
    expect_merges(gpt2, "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_bos_token\":true}", "ab", "<|endoftext|> ab");
    expect_merges(gpt2, "{\"tokenizer_class\":\"Qwen2Tokenizer\"}", "ab 11", "ab " G " 1 1");
    expect_merges(gpt2, "{\"added_tokens_decoder\":{\"7\":{\"content\":\"<x>\",\"special\":true}}}", "a<x>b",
                  "a <x> b");
    aoe_error err = {0};
    aoe_tokenizer *t =
        open_merges(vocab_json, merges_txt, NULL, "{\"mask_token\":{\"content\":\"<mask>\",\"lstrip\":false}}", &err);
    assert_string_equal(test_tokens(t, "a <mask>", NULL), "<s> a " G " <mask> </s>");
    assert_string_equal(aoe_tokenizer_kind(t), "BPE");
    aoe_tokenizer_close(t);
}

static void expect_merges_rejected(const char *vocab_text, const char *merges_text, const char *config, int code,
                                   const char *part) {
    aoe_error err = {0};
    assert_null(open_merges(vocab_text, merges_text, config, NULL, &err));
    assert_int_equal(err.code, code);
    if (strncmp(err.message, "dir/", 4) != 0 || !strstr(err.message, part))
        fail_msg("error message \"%s\": expected the file name at its start, and \"%s\"", err.message, part);
}

static void test_merges_rejected(void **state) {
    (void)state;
    expect_merges_rejected(vocab_json, NULL, NULL, AOE_ENOENT, "merges.txt");
    expect_merges_rejected("[]", merges_txt, NULL, AOE_EFORMAT, "vocab.json");
    expect_merges_rejected("{\"a\":\"b\"}", merges_txt, NULL, AOE_EFORMAT, "vocab.json");
    expect_merges_rejected("{\"a\":", merges_txt, NULL, AOE_EFORMAT, "vocab.json:1");
    expect_merges_rejected(vocab_json, "#version: 0.2\na b\nab\n", NULL, AOE_EFORMAT, "merges.txt:3");
    expect_merges_rejected(vocab_json, "a b a\n", NULL, AOE_EFORMAT, "merges.txt:1");
    expect_merges_rejected(vocab_json, "a x\n", NULL, AOE_EFORMAT, "\"x\"");
    expect_merges_rejected(vocab_json, "a \xff\n", NULL, AOE_EFORMAT, "byte 2");
    expect_merges_rejected(vocab_json, merges_txt, "{\"tokenizer_class\":\"CLIPTokenizer\"}", AOE_EUNSUPPORTED,
                           "\"CLIPTokenizer\"");
    expect_merges_rejected(vocab_json, merges_txt, "{\"tokenizer_class\":\"BertTokenizer\"}", AOE_EUNSUPPORTED,
                           "\"BertTokenizer\"");
    expect_merges_rejected("{\"a\":0,\"b\":1,\"ab\":2,\"" G "\":3,\"" G "a\":4,\"</s>\":5}", merges_txt,
                           "{\"tokenizer_class\":\"RobertaTokenizer\"}", AOE_EFORMAT, "\"<s>\"");
    expect_merges_rejected("{\"a\":0,\"b\":1,\"ab\":2,\"" G "\":3,\"" G "a\":4}", merges_txt,
                           "{\"add_bos_token\":true}", AOE_EFORMAT, "bos_token");
    expect_merges_rejected(vocab_json, merges_txt, "{\"add_prefix_space\":\"no\"}", AOE_EFORMAT,
                           "\"add_prefix_space\"");
}

static void test_directories(void **state) {
    (void)state;
    char *dir = test_dir_create(), *copy = test_dir_create();
    aoe_tokenizer *t = NULL;
    aoe_error err = {0};
    assert_int_equal(aoe_tokenizer_open(&t, "/nowhere/at/all", &err), AOE_ENOENT);
    assert_int_equal(aoe_tokenizer_open(&t, dir, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "tokenizer.json"));
    assert_non_null(strstr(err.message, "vocab.txt"));
    assert_int_equal(aoei_tokenizer_open_optional(&t, test_model_dir(dir), &err), 0);
    assert_null(t);
    free(test_write_text(dir, "tokenizer.model", "x"));
    assert_int_equal(aoe_tokenizer_open(&t, dir, &err), AOE_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "tokenizer.model"));
    /* vocab.txt has priority over vocab.json with merges.txt, and tokenizer.json has priority over all other files. The
     * test adds the files in ascending order of priority. */
    free(test_write_text(dir, "vocab.json", vocab_json));
    assert_int_equal(aoe_tokenizer_open(&t, dir, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "merges.txt"));
    free(test_write_text(dir, "merges.txt", merges_txt));
    assert_int_equal(aoe_tokenizer_open(&t, dir, &err), 0);
    assert_string_equal(test_tokens(t, "ab", NULL), "<s> ab </s>");
    aoe_tokenizer_close(t);
    free(test_write_text(dir, "vocab.txt", SPECIALS "from_vocab\nfrom\n_\nvocab\n"));
    free(test_write_text(dir, "tokenizer_config.json", "{\"do_lower_case\": true }"));
    assert_int_equal(aoe_tokenizer_open(&t, dir, &err), 0);
    assert_string_equal(test_tokens(t, "FROM_vocab", NULL), "[CLS] from _ vocab [SEP]");
    aoe_tokenizer_close(t);
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "json"});
    free(test_write_text(dir, "tokenizer.json", json));
    assert_int_equal(aoe_tokenizer_open(&t, dir, &err), 0);
    assert_string_equal(test_tokens(t, "json", NULL), "[CLS] json [SEP]");
    /* Saving must write the files as they were read, even after the directory from which they were read was deleted. */
    test_dir_remove(dir);
    assert_int_equal(aoei_tokenizer_save(t, copy, &err), 0);
    aoe_tokenizer_close(t);
    assert_int_equal(test_count_entries(copy), 5);
    char *path = test_path(copy, "tokenizer.json"), *again = test_read(path, NULL);
    assert_string_equal(again, json);
    free(again);
    free(path);
    path = test_path(copy, "tokenizer_config.json");
    again = test_read(path, NULL);
    assert_string_equal(again, "{\"do_lower_case\": true }");
    free(again);
    free(path);
    free(json);
    test_dir_remove(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vocab_lines),      cmocka_unit_test(test_config),
        cmocka_unit_test(test_more_tokens),      cmocka_unit_test(test_json_rejected),
        cmocka_unit_test(test_other_components), cmocka_unit_test(test_vocab_rejected),
        cmocka_unit_test(test_directories),      cmocka_unit_test(test_merges),
        cmocka_unit_test(test_merges_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
