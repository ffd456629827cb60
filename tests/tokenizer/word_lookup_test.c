/* SPDX-License-Identifier: MIT
 * Tests the tokenizer WhitespaceTokenizer of sentence-transformers: the forms of a word, stop words, whitespace, lower
 * case with final sigmas, truncation and prompts, copies of the file, and malformed files. tests/peers compares it with
 * Python.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/dir.h"
#include "tokenizer/encode.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

#define FILE_NAME "whitespacetokenizer_config.json"

static aoe_tokenizer *open_words(const char *json) {
    aoe_tokenizer *t;
    aoe_error err;
    free(test_write_text(test_dir, FILE_NAME, json));
    if (aoe_tokenizer_open(&t, test_dir, &err))
        fail_msg("%s", err.message);
    return t;
}

static void forms_of_words(void **state) {
    (void)state;
    aoe_tokenizer *t =
        open_words("{\"vocab\":[\"PAD\",\"Cat\",\"cat\",\"U.S.\",\"don't\",\"a-b\",\"!\",\"dog\",\"The\",\"dog\"],"
                   "\"stop_words\":[\"the\",\"of\",\"U.K.\"],\"do_lower_case\":false}");
    assert_string_equal(aoe_tokenizer_kind(t), "WhitespaceTokenizer");
    assert_int_equal(aoe_tokenizer_vocab_size(t), 10);
    assert_int_equal(aoei_tokenizer_id(t, "dog", 3), 9); /* the last of equal words */
    assert_int_equal(aoei_tokenizer_mask_id(t), -1);
    assert_string_equal(test_tokens(t, "Cat cat CAT (cat) \"Cat!\"", NULL), "Cat cat cat cat Cat");
    assert_string_equal(test_tokens(t, "U.S. U.S U.K. don't 'don't' a-b -a-b-", NULL), "U.S. don't don't a-b a-b");
    assert_string_equal(test_tokens(t, "The the THE of, (OF) !  !!", NULL), "The !");
    assert_string_equal(test_tokens(t, "horse [UNK] PAD", NULL), "PAD");
    assert_string_equal(test_tokens(t, "", NULL), "");
    assert_string_equal(test_tokens(t, " \t\n ", NULL), "");
    assert_string_equal(test_tokens(t,
                                    "cat\xc2\xa0"
                                    "dog\x1c"
                                    "cat\xe3\x80\x80"
                                    "dog\x1f\xc2\x85"
                                    "cat",
                                    NULL),
                        "cat dog cat dog cat");
    assert_string_equal(test_tokens(t,
                                    "cat\xe2\x80\x8b"
                                    "dog",
                                    NULL),
                        ""); /* a zero width space is not whitespace */
    assert_string_equal(test_tokens_n(t, "cat\0 dog", 8, NULL), "dog");
    const aoe_encode_options lowercase = {.struct_size = sizeof lowercase, .lowercase = 1};
    assert_string_equal(test_tokens(t, "Cat The DOG", &lowercase), "cat dog");
    aoe_tokenizer_close(t);
    t = open_words("{\"vocab\":[\"cat\",\"Dog\",\"the\",\"\"],\"do_lower_case\":true}");
    assert_string_equal(test_tokens(t, "CAT Dog The", NULL), "cat the");
    aoe_ids ids = {0};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("-- cat"), NULL, &ids, NULL), 0); /* the empty word is in the
                                                                                              list */
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.id[0], 3);
    assert_int_equal(ids.id[1], 0);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
}

/* A capital sigma becomes a final sigma if a cased letter precedes it and none follows it; characters such as the
 * apostrophe and combining marks are ignored. */
static void final_sigmas(void **state) {
    (void)state;
    static const struct {
        const char *word, *lower;
    } cases[] = {{"ΟΔΟΣ", "οδος"},
                 {"ΣΑΣ", "σας"},
                 {"Σ", "σ"},
                 {"ΑΣ'", "ας'"},
                 {"ΑΣ'Α", "ασ'α"},
                 {"Α'Σ", "α'ς"},
                 {"1Σ", "1σ"},
                 {"ΑΣ1", "ας1"},
                 {"ΑΣ1Α", "ας1α"},
                 {"Α\u0301Σ\u0301", "α\u0301ς\u0301"},
                 {"\u2160Σ", "\u2170ς"},
                 {"İ", "i\u0307"},
                 {"ǅ", "ǆ"},
                 {"ß", "ß"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[200];
        snprintf(json, sizeof json, "{\"vocab\":[\"none\",\"%s\"],\"do_lower_case\":true}", cases[i].lower);
        aoe_tokenizer *t = open_words(json);
        aoe_ids ids = {0};
        assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(cases[i].word), NULL, &ids, NULL), 0);
        if (ids.n != 1 || ids.id[0] != 1)
            fail_msg("case %zu: '%s' has %zu tokens, expected the token '%s'", i, cases[i].word, ids.n, cases[i].lower);
        aoe_ids_free(&ids);
        aoe_tokenizer_close(t);
    }
}

static void limits_and_prompts(void **state) {
    (void)state;
    aoe_tokenizer *t = open_words("{\"vocab\":[\"a\",\"b\",\"c\",\"query\",\"end\"]}");
    aoe_encode_options o;
    aoe_ids ids = {0};
    size_t before, after;
    aoe_encode_options_defaults(&o);
    o.max_length = 3;
    assert_string_equal(test_tokens(t, "a b c a", &o), "a b c");
    o.prompt = "query: {text} end";
    assert_string_equal(test_tokens(t, "a b c a", &o), "query a end");
    o.max_length = 0;
    assert_string_equal(test_tokens(t, "a b c a", &o), "query a b c a end");
    assert_int_equal(aoei_tokenizer_encode_marked(t, aoe_text_of("a x b"), &o, &ids, &before, &after, NULL), 0);
    assert_int_equal(ids.n, 4);
    assert_int_equal(before, 1);
    assert_int_equal(after, 1);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
}

static void copies(void **state) {
    (void)state;
    static const char text[] = "{ \"vocab\": [\"a\", \"b\"] }\n";
    aoe_tokenizer *t = open_words(text);
    char *dir = test_path(test_dir, "copy"), *path = test_path(dir, FILE_NAME);
    assert_int_equal(aoei_make_dir(dir, NULL), 0);
    assert_int_equal(aoei_tokenizer_save(t, dir, NULL), 0);
    char *copy = test_read(path, NULL);
    assert_string_equal(copy, text);
    free(copy);
    free(path);
    free(dir);
    aoe_tokenizer_close(t);
}

static void malformed_files(void **state) {
    (void)state;
    static const struct {
        const char *json, *fragment;
    } cases[] = {
        {"{\"vocab\":[\"a\"", FILE_NAME},
        {"[]", FILE_NAME ": the file contains no list \"vocab\""},
        {"{}", FILE_NAME ": the file contains no list \"vocab\""},
        {"{\"vocab\":{\"a\":1}}", FILE_NAME ": the file contains no list \"vocab\""},
        {"{\"vocab\":[\"a\",5]}", FILE_NAME ": element 1 of \"vocab\" is not a string"},
        {"{\"vocab\":[\"a\"],\"stop_words\":\"a\"}", FILE_NAME ": \"stop_words\" is not a list of words"},
        {"{\"vocab\":[\"a\"],\"stop_words\":[null]}", FILE_NAME ": element 0 of \"stop_words\" is not a string"},
        {"{\"vocab\":[\"a\"],\"do_lower_case\":\"yes\"}", FILE_NAME ": \"do_lower_case\" is not true or false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_tokenizer *t;
        aoe_error err = {0};
        free(test_write_text(test_dir, FILE_NAME, cases[i].json));
        assert_int_equal(aoe_tokenizer_open(&t, test_dir, &err), AOE_EFORMAT);
        assert_null(t);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("case %zu: '%s' does not contain '%s'", i, err.message, cases[i].fragment);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_of_words), cmocka_unit_test(final_sigmas),
                                       cmocka_unit_test(limits_and_prompts), cmocka_unit_test(copies),
                                       cmocka_unit_test(malformed_files)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
