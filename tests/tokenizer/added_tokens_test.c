/* SPDX-License-Identifier: MIT
 * Tests how added tokens are searched for in a text: the effect of each flag, the rule that the leftmost and then the
 * longest match is chosen, and the ids of the tokens.
 */
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/clock.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

#include <stdlib.h>

static const char words[] = "a b c ##b hello [ent] < > x";

/* Returns a tokenizer without a post-processor. `added` is the JSON array of its added tokens. The caller closes the
 * tokenizer. */
static aoe_tokenizer *tokenizer_with(const char *added) {
    return test_tokenizer(&(test_tokenizer_spec){.words = words, .added_tokens = added, .post_processor = "null"});
}

static void test_specials_in_text(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){.words = words});
    assert_string_equal(test_tokens(t, "a[MASK]b [SEP] c", NULL), "[CLS] a [MASK] b [SEP] c [SEP]");
    assert_string_equal(test_tokens(t, "[mask]", NULL), "[CLS] [UNK] [UNK] [UNK] [SEP]"); /* case is significant for
                                                                                             special tokens */
    assert_string_equal(test_tokens(t, "[CLS][CLS]", NULL), "[CLS] [CLS] [CLS] [SEP]");
    assert_string_equal(test_tokens(t, "[MASK", NULL), "[CLS] [UNK] [UNK] [SEP]");
    aoe_tokenizer_close(t);
}

static void test_normalized(void **state) {
    (void)state;
    aoe_tokenizer *t = tokenizer_with("[{\"id\":14,\"content\":\"Héllo\",\"normalized\":true,\"special\":false},"
                                      "{\"id\":15,\"content\":\"RAW\",\"normalized\":false,\"special\":false}]");
    /* An added token with "normalized" is searched for in the normalized text. Case and accents are therefore ignored.
     * The token is found even inside a word. */
    assert_string_equal(test_tokens(t, "HELLO xhéLLo RAW raw", NULL), "Héllo x Héllo RAW [UNK]");
    assert_int_equal(aoei_tokenizer_id(t, "RAW", 3), 15);
    assert_int_equal(aoe_tokenizer_vocab_size(t), 16);
    aoe_tokenizer_close(t);
}

static void test_single_word(void **state) {
    (void)state;
    aoe_tokenizer *t =
        tokenizer_with("[{\"id\":14,\"content\":\"<x>\",\"single_word\":true,\"normalized\":false,\"special\":false}]");
    assert_string_equal(test_tokens(t, "<x> a", NULL), "<x> a");
    assert_string_equal(test_tokens(t, "a<x>", NULL), "a < x >");
    assert_string_equal(test_tokens(t, "<x>a", NULL), "< x > a");
    /* punctuation before and after the token is a word boundary */
    assert_string_equal(test_tokens(t, "<<x>>", NULL), "< <x> >");
    assert_string_equal(test_tokens(t, "a_<x>", NULL), "a [UNK] < x >"); /* an underscore is a word character */
    assert_string_equal(test_tokens(t, "<x>\xcc\x81", NULL), "< x >");   /* a combining mark is a word character */
    aoe_tokenizer_close(t);
}

static void test_strip(void **state) {
    (void)state;
    /* This tokenizer has no normalizer and no pre-tokenizer, so the tokens show which spaces an added token
     * includes. */
    static const char json[] =
        "{\"added_tokens\":[{\"id\":2,\"content\":\"<m>\",\"lstrip\":true,\"rstrip\":true,"
        "\"normalized\":false,\"special\":true},{\"id\":3,\"content\":\"<n>\",\"normalized\":false,"
        "\"special\":true}],\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"<m>\":2,"
        "\"<n>\":3,\"a \":4,\" a\":5}}}";
    aoe_tokenizer *t;
    assert_int_equal(aoei_tokenizer_parse_json(&t, json, strlen(json), (aoe_text){NULL, 0}, "j", NULL), 0);
    assert_string_equal(test_tokens(t, "a \t<m>\xe3\x80\x80 a", NULL), "a <m> a");
    /* <n> has neither lstrip nor rstrip, so "a " and " a" keep their spaces */
    assert_string_equal(test_tokens(t, "a <n> a", NULL), "a  <n>  a");
    assert_string_equal(test_tokens(t, "<m>   <m>", NULL), "<m> <m>");
    assert_string_equal(test_tokens(t, "  <m>  ", NULL), "<m>");
    aoe_tokenizer_close(t);
}

static void test_longest_and_first(void **state) {
    (void)state;
    aoe_tokenizer *t = tokenizer_with("[{\"id\":14,\"content\":\"<a>\",\"normalized\":false,\"special\":false},"
                                      "{\"id\":15,\"content\":\"<a><b>\",\"normalized\":false,\"special\":false},"
                                      "{\"id\":16,\"content\":\"<b><c><d>\",\"normalized\":false,\"special\":false},"
                                      "{\"id\":17,\"content\":\"ÀB\",\"normalized\":true,\"special\":false},"
                                      "{\"id\":18,\"content\":\"áb\",\"normalized\":true,\"special\":true}]");
    assert_string_equal(test_tokens(t, "<a><b><c><d>", NULL),
                        /* the leftmost match is chosen, and the longest of several leftmost matches */
                        "<a><b> < c > < [UNK] >");
    assert_string_equal(test_tokens(t, "<a>", NULL), "<a>");
    /* if two added tokens have equal normalized forms, the special token is chosen */
    assert_string_equal(test_tokens(t, "ab", NULL), "áb");
    aoe_tokenizer_close(t);
}

/* Tests the ids of added tokens. An added token that is in the vocabulary keeps the id from the vocabulary. Other added
 * tokens get consecutive ids after the last id of the vocabulary. The ids in the file are ignored. */
static void test_numbering(void **state) {
    (void)state;
    aoe_tokenizer *t = tokenizer_with("[{\"id\":99,\"content\":\"hello\",\"normalized\":false,\"special\":false},"
                                      "{\"id\":50,\"content\":\"NEW1\",\"normalized\":false,\"special\":false},"
                                      "{\"id\":40,\"content\":\"NEW2\",\"normalized\":false,\"special\":false},"
                                      "{\"id\":40,\"content\":\"\",\"normalized\":false,\"special\":false}]");
    assert_int_equal(aoei_tokenizer_id(t, "hello", 5), 9);
    assert_int_equal(aoei_tokenizer_id(t, "NEW1", 4), 14);
    assert_int_equal(aoei_tokenizer_id(t, "NEW2", 4), 15);
    assert_int_equal(aoe_tokenizer_vocab_size(t), 16);
    aoe_tokenizer_close(t);
}

/* Tests that encoding 1 MiB of one repeated character takes linear time, even if a partial match starts at every
 * position. */
static void test_linear_time(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){.words = words});
    char *text = malloc(SIZE);
    assert_non_null(text);
    static const char fill[] = {'a', '[', ' ', 'b', ','};
    for (size_t i = 0; i < sizeof fill; i++) {
        aoe_ids ids = {0};
        memset(text, fill[i], SIZE);
        double start = aoei_now();
        assert_int_equal(aoe_tokenizer_encode(t, (aoe_text){text, SIZE}, NULL, &ids, NULL), 0);
        assert_true(aoei_now() - start < 5.0);
        assert_int_equal(ids.n, fill[i] == ' ' ? 2 : fill[i] == '[' || fill[i] == ',' ? SIZE + 2 : 3);
        aoe_ids_free(&ids);
    }
    free(text);
    aoe_tokenizer_close(t);
}

/* aoe_encode_options.lowercase: only tokens with the flag `normalized` are lowercased. */
static void lowercases_normalized_tokens(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){
        .words = "a A b",
        .normalizer = "null",
        .added_tokens = "[{\"id\": 8, \"content\": \"FOO x\", \"normalized\": true}, {\"id\": 9, \"content\": \"BAR\", "
                        "\"normalized\": false}]"});
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.no_special_tokens = 1;
    assert_string_equal(test_tokens(t, "A FOO x BAR foo x bar", &o), "A FOO x BAR [UNK] [UNK] [UNK]");
    o.lowercase = 1;
    assert_string_equal(test_tokens(t, "A FOO x BAR foo x bar", &o), "a FOO x BAR FOO x [UNK]");
    aoe_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lowercases_normalized_tokens),
        cmocka_unit_test(test_specials_in_text),
        cmocka_unit_test(test_normalized),
        cmocka_unit_test(test_single_word),
        cmocka_unit_test(test_strip),
        cmocka_unit_test(test_longest_and_first),
        cmocka_unit_test(test_numbering),
        cmocka_unit_test(test_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
