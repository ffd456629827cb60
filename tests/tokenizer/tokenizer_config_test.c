/* SPDX-License-Identifier: MIT
 * covers: tokenizer/input_names tokenizer/listed_tokens
 * Tests directories in which tokenizer_config.json contradicts tokenizer.json. The tokens must be those of the
 * tokenizer classes of the library transformers: the class in tokenizer_config.json determines which settings are
 * used.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/input_names.h"
#include "tokenizer/tokenizer.h"

/* Writes both files to the test directory and opens the tokenizer. */
static int open_files(aoe_tokenizer **t, const char *json, const char *config, aoe_error *err) {
    free(test_write_text(test_dir, "tokenizer.json", json));
    free(test_write_text(test_dir, "tokenizer_config.json", config));
    return aoe_tokenizer_open(t, test_dir, err);
}

static void expect(const char *json, const char *config, const char *text, const aoe_encode_options *o,
                   const char *want) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    if (open_files(&t, json, config, &err))
        fail_msg("%s", err.message);
    const char *got = test_tokens(t, text, o);
    if (strcmp(got, want) != 0)
        fail_msg("%s: \"%s\" has the tokens \"%s\", expected \"%s\"", config, text, got, want);
    aoe_tokenizer_close(t);
}

static void obeys_bert_settings(void **state) {
    (void)state;
    char *json =
        test_tokenizer_json(&(test_tokenizer_spec){.words = "e E \xc3\xa9 \xc3\x89 \xe4\xb8\xad a\xe4\xb8\xad"});
    static const char text[] = "\xc3\x89 E a\xe4\xb8\xad";
    expect(json, "{}", text, NULL, "[CLS] e e [UNK] \xe4\xb8\xad [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": false}", text, NULL,
           "[CLS] \xc3\x89 E [UNK] \xe4\xb8\xad [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": false, \"strip_accents\": true}", text,
           NULL, "[CLS] E E [UNK] \xe4\xb8\xad [SEP]");
    expect(json, "{\"tokenizer_class\": \"MPNetTokenizerFast\", \"strip_accents\": false}", text, NULL,
           "[CLS] \xc3\xa9 e [UNK] \xe4\xb8\xad [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"tokenize_chinese_chars\": false}", text, NULL,
           "[CLS] e e a\xe4\xb8\xad [SEP]");
    /* PreTrainedTokenizerFast uses tokenizer.json unchanged */
    expect(json, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"do_lower_case\": false}", text, NULL,
           "[CLS] e e [UNK] \xe4\xb8\xad [SEP]");
    free(json);
    json = test_tokenizer_json(
        &(test_tokenizer_spec){.words = "e E", .normalizer = "{\"type\": \"BertNormalizer\", \"lowercase\": false}"});
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\"}", "E", NULL, "[CLS] e [SEP]"); /* the default of the class is
                                                                                             true */
    free(json);
    /* the class replaces other normalizers and pre-tokenizers */
    json = test_tokenizer_json(&(test_tokenizer_spec){
        .words = "e E - e-E",
        .normalizer =
            "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Lowercase\"}, {\"type\": \"BertNormalizer\", "
            "\"lowercase\": false}]}"});
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": false}", "E", NULL, "[CLS] E [SEP]");
    free(json);
    json = test_tokenizer_json(&(test_tokenizer_spec){.words = "e E - e-E", .normalizer = "null"});
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\"}", "E", NULL, "[CLS] e [SEP]");
    free(json);
}

#define BPE(pre)                                                                                                       \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"\xc4\xa0\": 1, \"\xc4\xa0"                                \
    "a\": 2, \"\xe2\x96\x81\": 3, "                                                                                    \
    "\"\xe2\x96\x81"                                                                                                   \
    "a\": 4}, \"merges\": [\"\xc4\xa0 a\", \"\xe2\x96\x81 a\"]}, \"pre_tokenizer\": " pre "}"

static void obeys_prefixes(void **state) {
    (void)state;
    static const char byte_level[] = BPE("{\"type\": \"ByteLevel\", \"add_prefix_space\": false}");
    expect(byte_level, "{\"tokenizer_class\": \"RobertaTokenizer\", \"add_prefix_space\": true}", "a", NULL,
           "\xc4\xa0"
           "a");
    expect(byte_level, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"add_prefix_space\": true}", "a", NULL,
           "a");
    /* these classes replace other pre-tokenizers */
    expect(BPE("null"), "{\"tokenizer_class\": \"RobertaTokenizer\", \"add_prefix_space\": true}", "a", NULL,
           "\xc4\xa0"
           "a");
    expect(BPE("{\"type\": \"Whitespace\"}"), "{\"tokenizer_class\": \"Qwen2Tokenizer\"}", "a a", NULL,
           "a \xc4\xa0"
           "a");
    expect(BPE("{\"type\": \"ByteLevel\", \"add_prefix_space\": true}"),
           "{\"tokenizer_class\": \"Qwen2TokenizerFast\"}", "a", NULL, "a");
}

static void adds_tokens(void **state) {
    (void)state;
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b"});
    expect(
        json,
        "{\"added_tokens_decoder\": {\"9\": {\"content\": \"xy\", \"lstrip\": true}, \"8\": {\"content\": \"[NEW]\", "
        "\"special\": true}}, \"additional_special_tokens\": [\"[M]\"], \"bos_token\": \"b\", \"eos_token\": \"none\"}",
        "a xy[NEW] [M] ab none", NULL, "[CLS] a xy [NEW] [M] a b none [SEP]");
    aoe_tokenizer *t;
    aoe_error err = {0};
    assert_int_equal(open_files(&t, json, "{\"added_tokens_decoder\": {\"9\": {}}}", &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "tokenizer_config.json"));
    assert_int_equal(open_files(&t, json, "[]", &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "tokenizer_config.json: not a JSON object"));
    expect(json, "{\"extra_special_tokens\": {\"image_token\": \"<i>\"}, \"video_token\": \"<v>\"}", "a<i>b<v>", NULL,
           "[CLS] a <i> b <v> [SEP]");
    free(json);
}

static void rejects_lists_of_other_types(void **state) {
    (void)state;
    static const struct {
        const char *config, *fragment;
    } cases[] = {
        {"{\"additional_special_tokens\": \"[M]\"}",
         "\"additional_special_tokens\" is not a list of tokens or an object"},
        {"{\"extra_special_tokens\": false}", "\"extra_special_tokens\" is not a list of tokens or an object"},
        {"{\"added_tokens_decoder\": []}", "\"added_tokens_decoder\" is not an object"},
        {"{\"model_specific_special_tokens\": [\"[M]\"]}",
         "\"model_specific_special_tokens\" is not null or an object"},
    };
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_tokenizer *t;
        aoe_error err = {0};
        assert_int_equal(open_files(&t, json, cases[i].config, &err), AOE_EFORMAT);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("expected a message with \"%s\", found \"%s\"", cases[i].fragment, err.message);
    }
    free(json);
}

static void rejects_classes_and_empty_tokens(void **state) {
    (void)state;
    static const struct {
        const char *config, *fragment;
    } cases[] = {
        {"{\"tokenizer_class\": \"RobertaTokenizer\"}",
         "class is RobertaTokenizer, which needs a model of the type BPE"},
        {"{\"tokenizer_class\": \"GemmaTokenizer\"}", "class is GemmaTokenizer, which needs a model of the type BPE"},
        {"{\"tokenizer_class\": \"BertTokenizer\", \"sep_token\": \"\"}", "\"sep_token\" is empty"},
        {"{\"truncation_side\": \"LEFT\"}", "truncation_side \"LEFT\""},
    };
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_tokenizer *t;
        aoe_error err = {0};
        assert_int_equal(open_files(&t, json, cases[i].config, &err), AOE_EUNSUPPORTED);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("expected a message with \"%s\", found \"%s\"", cases[i].fragment, err.message);
    }
    free(json);
}

/* An empty added_tokens_decoder replaces the added tokens of tokenizer.json, except in the class that uses this file
 * unchanged.
 */
static void obeys_an_empty_decoder(void **state) {
    (void)state;
    char *json = test_tokenizer_json(&(test_tokenizer_spec){
        .words = "a b +",
        .added_tokens = "[{\"id\": 8, \"content\": \"a+b\", \"special\": false, \"normalized\": false}]"});
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\"}", "a+b", NULL, "[CLS] a+b [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"added_tokens_decoder\": null}", "a+b", NULL,
           "[CLS] a+b [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"added_tokens_decoder\": {}}", "a+b", NULL,
           "[CLS] a + b [SEP]");
    expect(json, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"added_tokens_decoder\": {}}", "a+b", NULL,
           "[CLS] a+b [SEP]");
    free(json);
}

static void truncates_at_the_start(void **state) {
    (void)state;
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b c d : x"});
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.max_length = 4;
    expect(json, "{\"truncation_side\": \"right\"}", "a b c d", &o, "[CLS] a b [SEP]");
    expect(json, "{\"truncation_side\": \"left\"}", "a b c d", &o, "[CLS] c d [SEP]");
    expect(json, "{\"truncation_side\": \"left\"}", "a b", &o, "[CLS] a b [SEP]");
    o.max_length = 6;
    o.prompt = "x: {text} :";
    expect(json, "{\"truncation_side\": \"left\"}", "a b c d", &o, "[CLS] x : d : [SEP]");
    aoe_tokenizer *t;
    aoe_error err = {0};
    assert_int_equal(open_files(&t, json, "{\"truncation_side\": \"middle\"}", &err), AOE_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "\"middle\""));
    free(json);
}

#define UNIGRAM(id)                                                                                                    \
    "{\"model\": {\"type\": \"Unigram\", \"unk_id\": " id                                                              \
    ", \"vocab\": [[\"<s>\", 0], [\"[UNK]\", 0], [\"</s>\", 0], "                                                      \
    "[\"<unk>\", 0], [\"a\", -1], [\"[CLS]\", 0], [\"[SEP]\", 0]]}}"

/* transformers passes token types only if "model_input_names", or the class of the tokenizer, names them */
static void passes_token_types(void **state) {
    (void)state;
    static const struct {
        const char *config, *model;
        int types;
    } cases[] = {{"{\"model_input_names\": [\"input_ids\", \"token_type_ids\"]}", "{}", 1},
                 {"{\"model_input_names\": [\"input_ids\"], \"tokenizer_class\": \"BertTokenizer\"}",
                  "{\"model_type\": \"bert\"}", 0},
                 {"{\"tokenizer_class\": \"BertTokenizer\"}", "{}", 1},
                 {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", "{\"model_type\": \"bert\"}", 0},
                 {"{}", "{\"tokenizer_class\": \"BertTokenizer\"}", 1},
                 {"{}", "{\"tokenizer_class\": \"XLMRobertaTokenizer\", \"model_type\": \"bert\"}", 0},
                 {"{}", "{\"model_type\": \"electra\"}", 1},
                 {"{}", "{\"model_type\": \"albert\"}", 0},
                 {"{}", "{}", 0}};
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b"});
    aoe_tokenizer *t;
    aoe_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *model = json_loads(cases[i].model, 0, NULL);
        if (open_files(&t, json, cases[i].config, &err))
            fail_msg("%s", err.message);
        if (aoei_tokenizer_passes_types(t, model) != cases[i].types)
            fail_msg("%s with %s: expected %d", cases[i].config, cases[i].model, cases[i].types);
        json_decref(model);
        aoe_tokenizer_close(t);
    }
    assert_int_equal(open_files(&t, UNIGRAM("4"), "{\"tokenizer_class\": \"DebertaV2TokenizerFast\"}", &err), 0);
    assert_int_equal(aoei_tokenizer_passes_types(t, NULL), 1);
    aoe_tokenizer_close(t);
    json_t *bert = json_pack("{s:s}", "tokenizer_class", "BertTokenizer");
    assert_int_equal(open_files(&t, UNIGRAM("4"), "{\"tokenizer_class\": \"AlbertTokenizer\"}", &err), 0);
    assert_int_equal(aoei_tokenizer_passes_types(t, bert), 0);
    aoe_tokenizer_close(t);
    json_decref(bert);
    assert_int_equal(open_files(&t, json, "{\"model_input_names\": \"input_ids\"}", &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "tokenizer_config.json: \"model_input_names\""));
    free(json);
}

/* Some classes build the template and the unknown token from tokenizer_config.json and not from tokenizer.json. */
static void obeys_special_tokens(void **state) {
    (void)state;
    static const char bpe[] =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"<s>\": 2, \"</s>\": 3}, "
        "\"merges\": [], \"unk_token\": \"b\"}}";
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b c <s> </s> <mask>"});
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"cls_token\": \"a\"}", "b z", NULL, "a b [UNK] [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizerFast\", \"sep_token\": {\"content\": \"a\"}}", "b", NULL,
           "[CLS] b a");
    expect(json, "{\"tokenizer_class\": \"ElectraTokenizer\", \"unk_token\": \"c\"}", "b z", NULL, "[CLS] b c [SEP]");
    expect(json, "{\"tokenizer_class\": \"MPNetTokenizer\"}", "b  <mask>", NULL, "<s> b <mask> </s>");
    expect(json, "{\"tokenizer_class\": \"MPNetTokenizer\", \"cls_token\": \"c\"}", "b z", NULL, "c b [UNK] </s>");
    expect(json, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"cls_token\": \"a\", \"unk_token\": \"c\"}",
           "b z", NULL, "[CLS] b [UNK] [SEP]");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"cls_token\": \"[NEW]\"}", "b", NULL, "[NEW] b [SEP]");
    expect(bpe, "{\"tokenizer_class\": \"RobertaTokenizer\", \"sep_token\": \"b\"}", "az", NULL, "<s> a b");
    expect(bpe, "{\"tokenizer_class\": \"GPT2Tokenizer\"}", "az", NULL, "a");
    expect(bpe, "{}", "az", NULL, "a b");
    expect(UNIGRAM("4"), "{\"tokenizer_class\": \"XLMRobertaTokenizer\", \"cls_token\": \"a\"}", "z", NULL,
           "<s> <unk> </s>");
    expect(UNIGRAM("4"), "{\"tokenizer_class\": \"XLMRobertaTokenizer\", \"eos_token\": \"a\"}", "z", NULL,
           "<s> <unk> a");
    expect(UNIGRAM("4"), "{\"tokenizer_class\": \"CamembertTokenizer\", \"unk_token\": \"[UNK]\"}", "z", NULL,
           "<s> [UNK] </s>");
    expect(UNIGRAM("4"), "{\"tokenizer_class\": \"AlbertTokenizer\"}", "z", NULL, "[CLS] [UNK] [SEP]");
    /* this class uses the template in tokenizer.json if there is one */
    expect("{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"[CLS]\", 0], [\"[UNK]\", 0], "
           "[\"[SEP]\", 0]]}, "
           "\"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2], \"cls\": [\"[SEP]\", 2]}}",
           "{\"tokenizer_class\": \"AlbertTokenizer\"}", "z", NULL, "[SEP] [UNK] [SEP]");
    expect(UNIGRAM("4"), "{\"tokenizer_class\": \"DebertaV2Tokenizer\", \"unk_token\": \"<unk>\"}", "z", NULL,
           "[CLS] <unk> [SEP]");
    expect(UNIGRAM("4"), "{\"tokenizer_class\": \"DebertaV2Tokenizer\", \"unk_token\": \"a\", \"unk_id\": 2}", "z",
           NULL, "[CLS] </s> [SEP]");
    aoe_tokenizer *t;
    aoe_error err = {0};
    assert_int_equal(open_files(&t, json, "{\"tokenizer_class\": \"BertTokenizer\", \"cls_token\": null}", &err),
                     AOE_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "tokenizer_config.json: \"cls_token\" is null"));
    free(json);
}

/* special_tokens_map.json replaces the special tokens, unless there is an added_tokens_decoder. */
static void obeys_the_map_of_special_tokens(void **state) {
    (void)state;
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b c"});
    free(test_write_text(test_dir, "special_tokens_map.json",
                         "{\"cls_token\": \"c\", \"sep_token\": {\"content\": \"b\"}}"));
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"cls_token\": \"a\"}", "a", NULL, "c a b");
    expect(json, "{\"tokenizer_class\": \"BertTokenizer\", \"cls_token\": \"a\", \"added_tokens_decoder\": {}}", "a",
           NULL, "a a [SEP]");
    aoe_tokenizer *t;
    aoe_error err = {0};
    char *path = test_write_text(test_dir, "special_tokens_map.json", "[]");
    assert_int_equal(open_files(&t, json, "{}", &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "special_tokens_map.json: not a JSON object"));
    assert_int_equal(unlink(path), 0);
    free(path);
    free(json);
}

/* added_tokens.json is read if there is no added_tokens_decoder. */
static void adds_tokens_of_the_older_file(void **state) {
    (void)state;
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b"});
    char *path = test_write_text(test_dir, "added_tokens.json", "{\"XY\": 8, \"[NEW]\": 7}");
    expect(json, "{\"cls_token\": \"[NEW]\"}", "axy [NEW] [new]", NULL, "[CLS] a XY [NEW] [UNK] [UNK] [UNK] [SEP]");
    expect(json, "{\"added_tokens_decoder\": {}}", "a xy", NULL, "[CLS] a [UNK] [SEP]");
    free(path);
    path = test_write_text(test_dir, "added_tokens.json", "3");
    aoe_tokenizer *t;
    aoe_error err = {0};
    assert_int_equal(open_files(&t, json, "{}", &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "added_tokens.json: not a JSON object"));
    assert_int_equal(unlink(path), 0);
    free(path);
    free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(obeys_bert_settings),
        cmocka_unit_test(obeys_prefixes),
        cmocka_unit_test(adds_tokens),
        cmocka_unit_test(rejects_lists_of_other_types),
        cmocka_unit_test(rejects_classes_and_empty_tokens),
        cmocka_unit_test(obeys_an_empty_decoder),
        cmocka_unit_test(truncates_at_the_start),
        cmocka_unit_test(passes_token_types),
        cmocka_unit_test(adds_tokens_of_the_older_file),
        cmocka_unit_test(obeys_special_tokens),
        cmocka_unit_test(obeys_the_map_of_special_tokens),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
