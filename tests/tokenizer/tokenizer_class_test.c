/* SPDX-License-Identifier: MIT
 * covers: tokenizer/class_parts tokenizer/class_tokens
 * Tests the selection of the tokenizer class, and the normalizers and pre-tokenizers that the classes build. The tokens
 * must be those of the tokenizer classes of the library transformers, which ignore these components of tokenizer.json.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_class.h"

#define SPACE   "\xe2\x96\x81"
#define E_ACUTE "\xc3\xa9"

/* Components that no class builds: without the class, texts are lowercased and split at "b". */
#define OTHER_COMPONENTS                                                                                               \
    ", \"normalizer\": {\"type\": \"Lowercase\"}, \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"String\": " \
    "\"b\"}, "                                                                                                         \
    "\"behavior\": \"Removed\", \"invert\": false}, \"added_tokens\": [{\"id\": 2, \"content\": \"[X]\"}]}"

static const char unigram[] =
    "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"byte_fallback\": true, \"vocab\": [[\"?\", 0], [\"u\", 0], "
    "[\"[X]\", 0], "
    "[\"?3\", 0], [\"" SPACE "\", -1], [\"a\", -1], [\"b\", -1], [\"A\", -1], [\"e\", -1], [\"" E_ACUTE
    "\", -1], [\"'\", -1], "
    "[\"\\\"\", -1], [\".\", -1], [\" \", -1], [\"a.a\", -1], [\"<0x5A>\", -1]]}" OTHER_COMPONENTS;
static const char bpe[] =
    "{\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", \"ignore_merges\": true, \"vocab\": {\"?\": 0, "
    "\"<unk>\": 1, \"[X]\": 2, \"" SPACE "\": 3, \"a\": 4, \"b\": 5, \"A\": 6, \"<0x5A>\": 7, \"" SPACE
    "a\": 8, \" \": 9, \"ba\": 10}, \"merges\": [\"" SPACE " a\"]}" OTHER_COMPONENTS;
static const char wordpiece[] =
    "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[UNK]\": 0, \"[CLS]\": 1, "
    "\"[X]\": 2, \"[SEP]\": 3, \"a\": 4, \"A\": 5, \"b\": 6}}" OTHER_COMPONENTS;

/* Opens a directory with these files. model: contents of config.json; NULL: there is no such file. */
static int open_files(aoe_tokenizer **t, const char *json, const char *config, const char *model, aoe_error *err) {
    char *path = test_write_text(test_dir, "config.json", model ? model : "{}");
    if (!model)
        assert_int_equal(unlink(path), 0);
    free(path);
    free(test_write_text(test_dir, "tokenizer.json", json));
    free(test_write_text(test_dir, "tokenizer_config.json", config));
    return aoe_tokenizer_open(t, test_dir, err);
}

static void expect(const char *json, const char *config, const char *model, const char *text, const char *want) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    if (open_files(&t, json, config, model, &err))
        fail_msg("%s with %s: %s", config, model, err.message);
    const char *got = test_tokens(t, text, NULL);
    if (strcmp(got, want) != 0)
        fail_msg("%s with %s: \"%s\" has the tokens \"%s\", expected \"%s\"", config, model, text, got, want);
    aoe_tokenizer_close(t);
}

/* Settings of a class whose template consists of the tokens "?" and "u" */
#define SETTINGS(class)                                                                                                \
    "{\"tokenizer_class\": \"" class                                                                                   \
        "\", \"bos_token\": \"?\", \"cls_token\": \"?\", \"eos_token\": \"u\", \"sep_token\": \"u\", "                 \
        "\"unk_token\": \"?3\""

static void builds_xlm_roberta(void **state) {
    (void)state;
    expect(unigram, SETTINGS("XLMRobertaTokenizer") "}", "{}", "A  b", "? " SPACE " A " SPACE " b u");
    expect(unigram, SETTINGS("CamembertTokenizer") "}", "{}", "A  b", "? " SPACE " A " SPACE " b u");
    expect(unigram, SETTINGS("XLMRobertaTokenizerFast") ", \"add_prefix_space\": false}", "{}", "A  b", "? A b u");
    expect(unigram, SETTINGS("CamembertTokenizer") ", \"add_prefix_space\": null}", "{}", "A  b", "? A b u");
    expect(unigram, SETTINGS("XLMRobertaTokenizer") "}", "{}", "Z", "? " SPACE " ?3 u"); /* no byte_fallback */
    expect(unigram, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", "{}", "Ab", "a");
}

/* Of the normalizer in tokenizer.json, some classes use a Precompiled. The table of this one is damaged, so that the
 * classes that use it reject the file. */
static void keeps_a_precompiled_normalizer(void **state) {
    (void)state;
    static const char *const forms[] = {
        "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"!\"}",
        "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Lowercase\"}, {\"type\": "
        "\"Precompiled\", \"precompiled_charsmap\": \"!\"}]}"};
    static const char *const classes[] = {SETTINGS("XLMRobertaTokenizer") "}", SETTINGS("CamembertTokenizer") "}",
                                          SETTINGS("AlbertTokenizer") "}"};
    static const char lowercase[] = "{\"type\": \"Lowercase\"}";
    const char *other = strstr(unigram, lowercase);
    for (size_t i = 0; i < 2; i++) {
        char json[2000];
        snprintf(json, sizeof json, "%.*s%s%s", (int)(other - unigram), unigram, forms[i],
                 other + sizeof lowercase - 1);
        for (size_t k = 0; k < 3; k++) {
            aoe_tokenizer *t;
            aoe_error err = {0};
            assert_int_equal(open_files(&t, json, classes[k], "{}", &err), AOE_EFORMAT);
            assert_non_null(strstr(err.message, "precompiled_charsmap"));
        }
        expect(json, SETTINGS("DebertaV2Tokenizer") "}", "{}", "A", "? " SPACE " A u");
    }
}

static void builds_albert(void **state) {
    (void)state;
    static const char text[] = "A ''" E_ACUTE "";
    expect(unigram, SETTINGS("AlbertTokenizer") "}", "{}", text, "? " SPACE " a " SPACE " \" e u");
    expect(unigram, SETTINGS("AlbertTokenizer") ", \"do_lower_case\": false}", "{}", text,
           "? " SPACE " A " SPACE " \" e u");
    expect(unigram, SETTINGS("AlbertTokenizer") ", \"keep_accents\": true}", "{}", text,
           "? " SPACE " a " SPACE " \" " E_ACUTE " u");
    expect(unigram, SETTINGS("AlbertTokenizer") ", \"add_prefix_space\": false}", "{}", text, "? a \" e u");
}

static void builds_deberta(void **state) {
    (void)state;
    static const char text[] = "A\n e"
                               "\xcc\x81"
                               "[X]a.a ";
    expect(unigram, SETTINGS("DebertaV2Tokenizer") "}", "{}", text,
           "? " SPACE " A " SPACE " " E_ACUTE " [X] " SPACE " a.a u");
    expect(unigram, SETTINGS("DebertaV2Tokenizer") ", \"do_lower_case\": true, \"split_by_punct\": true}", "{}", text,
           "? " SPACE " a " SPACE " " E_ACUTE " [X] " SPACE " a " SPACE " . " SPACE " a u");
    /* the prefix is then added to the first piece */
    expect(unigram, SETTINGS("DebertaV2Tokenizer") ", \"add_prefix_space\": false}", "{}", text,
           "? " SPACE " A " SPACE " " E_ACUTE " [X] a.a u");
}

static void builds_llama(void **state) {
    (void)state;
    static const char text[] = "a[X]Ab Z", llama[] = "{\"model_type\": \"llama\"}";
    expect(bpe, "{\"tokenizer_class\": \"LlamaTokenizer\"}", llama, text, SPACE "a [X] A b " SPACE " <0x5A>");
    expect(bpe, "{\"tokenizer_class\": \"LlamaTokenizerFast\", \"legacy\": true}", llama, text,
           SPACE "a [X] " SPACE " A b " SPACE " <0x5A>");
    expect(bpe, "{\"tokenizer_class\": \"LlamaTokenizer\", \"add_prefix_space\": false}", llama, text,
           "a [X] A b " SPACE " <0x5A>");
    expect(bpe, "{\"tokenizer_class\": \"LlamaTokenizer\", \"add_prefix_space\": null, \"legacy\": null}", llama, "a",
           SPACE "a");
    /* a directory without a model uses tokenizer.json unchanged */
    expect(bpe, "{\"tokenizer_class\": \"LlamaTokenizer\"}", NULL, "aB", "a");
}

static void builds_gemma(void **state) {
    (void)state;
    expect(bpe, "{\"tokenizer_class\": \"GemmaTokenizer\"}", "{\"model_type\": \"gemma3_text\"}", "a aAbZ",
           "a " SPACE "a A b <0x5A>");
}

/* The class depends on the model type, and for LlamaTokenizer on the string "ByteLevel" in tokenizer.json. */
static void selects_a_class(void **state) {
    (void)state;
    static const struct {
        const char *written, *model;
        int byte_level;
        const char *want, *subword;
    } cases[] = {
        {NULL, "{\"model_type\": \"bert\"}", 0, "BertTokenizer", "BPE"},
        {NULL, "{\"model_type\": \"gte\"}", 0, "XLMRobertaTokenizer", "BPE"},
        {NULL, "{\"model_type\": \"llama\"}", 0, "TokenizersBackend", "BPE"},
        {NULL, "{\"model_type\": \"llama\", \"tokenizer_class\": \"LlamaTokenizer\"}", 0, "LlamaTokenizer", "BPE"},
        {NULL, "{}", 0, "TokenizersBackend", "BPE"},
        {"BertTokenizerFast", NULL, 0, "BertTokenizerFast", "BPE"},
        {"RobertaTokenizer", "{\"model_type\": \"bert\"}", 0, "RobertaTokenizer", "BPE"},
        {"PreTrainedTokenizerFast", "{\"model_type\": \"bert\"}", 0, "PreTrainedTokenizerFast", "BPE"},
        {"PreTrainedTokenizerFast", "{\"model_type\": \"qwen2\"}", 0, "Qwen2Tokenizer", "BPE"},
        {"BertTokenizer", "{\"model_type\": \"qwen2\"}", 0, "BertTokenizer", "WordPiece"},
        {"LlamaTokenizer", "{\"model_type\": \"qwen2\"}", 1, "Qwen2Tokenizer", "BPE"},
        {"Qwen2Tokenizer", "{\"model_type\": \"modernbert\"}", 0, "TokenizersBackend", "BPE"},
        {"LlamaTokenizer", "{\"model_type\": \"mistral\"}", 0, "TokenizersBackend", "BPE"},
        {"LlamaTokenizerFast", "{\"model_type\": \"llama\"}", 0, "LlamaTokenizerFast", "BPE"},
        {"LlamaTokenizerFast", "{\"model_type\": \"llama\"}", 1, "TokenizersBackend", "BPE"},
        {"LlamaTokenizer", NULL, 0, "TokenizersBackend", "BPE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *model = cases[i].model ? json_loads(cases[i].model, 0, NULL) : NULL;
        assert_string_equal(aoei_tokenizer_class_select(cases[i].written, model, cases[i].subword, cases[i].byte_level),
                            cases[i].want);
        json_decref(model);
    }
}

/* The selected class is used, even if tokenizer_config.json does not name it. */
static void uses_the_selected_class(void **state) {
    (void)state;
    static const char named[] = "{\"cls_token\": \"[CLS]\"}";
    expect(wordpiece, named, "{\"model_type\": \"bert\"}", "AB", "[CLS] [UNK] [SEP]");
    expect(wordpiece, named, "{\"model_type\": \"bert\"}", "A b", "[CLS] a b [SEP]");
    expect(wordpiece, named, "{\"model_type\": \"ran\"}", "Ab", "a");
    expect(bpe, "{\"tokenizer_class\": \"LlamaTokenizer\"}", "{\"model_type\": \"mistral\"}", "aB", "a");
    char json[2000];
    snprintf(json, sizeof json, "%.*s, \"decoder\": {\"type\": \"ByteLevel\"}}", (int)strlen(bpe) - 1, bpe);
    expect(json, "{\"tokenizer_class\": \"LlamaTokenizer\"}", "{\"model_type\": \"llama\"}", "aB", "a");
    /* the libraries of static models do not read tokenizer_config.json */
    expect(wordpiece, "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": false}",
           "{\"model_type\": \"model2vec\"}", "Ab", "a");
}

static void rejects_models_of_other_types(void **state) {
    (void)state;
    static const struct {
        const char *json, *config, *model, *fragment;
    } cases[] = {
        {bpe, "{}", "{\"model_type\": \"bert\"}", "class is BertTokenizer, which needs a model of the type WordPiece"},
        {bpe, "{\"tokenizer_class\": \"AlbertTokenizer\"}", "{}",
         "needs a model of the type Unigram, but tokenizer.json has BPE"},
        {unigram, "{\"tokenizer_class\": \"LlamaTokenizer\"}", "{}", "needs a model of the type BPE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_tokenizer *t;
        aoe_error err = {0};
        assert_int_equal(open_files(&t, cases[i].json, cases[i].config, cases[i].model, &err), AOE_EUNSUPPORTED);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("expected a message with \"%s\", found \"%s\"", cases[i].fragment, err.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_xlm_roberta),
        cmocka_unit_test(keeps_a_precompiled_normalizer),
        cmocka_unit_test(builds_albert),
        cmocka_unit_test(builds_deberta),
        cmocka_unit_test(builds_llama),
        cmocka_unit_test(builds_gemma),
        cmocka_unit_test(selects_a_class),
        cmocka_unit_test(uses_the_selected_class),
        cmocka_unit_test(rejects_models_of_other_types),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
