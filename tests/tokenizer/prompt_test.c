/* SPDX-License-Identifier: MIT
 * Tests truncation and prompts: which tokens are kept, which tokens are removed by truncation, and which inputs are
 * rejected.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"

static const test_tokenizer_spec spec = {.words = "q : a b c d e ##b ##c qa é en"};

static void expect(const aoe_tokenizer *t, const char *prompt, const char *text, size_t max_length, const char *want) {
    const char *got = test_tokens(
        t, text,
        &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .prompt = prompt, .max_length = max_length});
    if (strcmp(got, want) != 0)
        fail_msg("prompt \"%s\", text \"%s\", max_length %zu: got \"%s\", expected \"%s\"", prompt ? prompt : "", text,
                 max_length, got, want);
}

static void expect_error(const aoe_tokenizer *t, const char *prompt, const char *text, size_t max_length, int code,
                         const char *part) {
    aoe_ids ids = {0};
    aoe_error err = {0};
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = prompt, .max_length = max_length};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), &o, &ids, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, part))
        fail_msg("error message \"%s\": expected \"%s\"", err.message, part);
    assert_int_equal(ids.n, 0);
    aoe_ids_free(&ids);
}

static void test_truncation(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&spec);
    expect(t, NULL, "a b c d", 0, "[CLS] a b c d [SEP]");
    expect(t, NULL, "a b c d", 6, "[CLS] a b c d [SEP]");
    expect(t, NULL, "a b c d", 5, "[CLS] a b c [SEP]");
    expect(t, NULL, "abc d", 4, "[CLS] a ##b [SEP]"); /* truncation removes the last piece of the word "abc" */
    expect(t, NULL, "a b", 3, "[CLS] a [SEP]");
    expect(t, NULL, "", 3, "[CLS] [SEP]");
    expect_error(t, NULL, "a", 2, AOE_EARG,
                 "options.max_length is 2, but must be larger than the number of special tokens, 2");
    expect_error(t, NULL, "", 1, AOE_EARG, "options.max_length is 1, ");
    assert_string_equal(
        test_tokens(
            t, "a b",
            &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .max_length = 1, .no_special_tokens = 1}),
        "a");
    aoe_ids ids = {0};
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .max_length = 4};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("a b c"), &o, &ids, NULL), 0);
    assert_int_equal(ids.truncated, 1);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("a b"), &o, &ids, NULL), 0);
    assert_int_equal(ids.truncated, 0);
    aoe_ids_free(&ids);
    aoe_ids_free(NULL);
    aoe_tokenizer_close(t);
}

static void test_prompts(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&spec);
    expect(t, "q: {text}", "a b", 0, "[CLS] q : a b [SEP]");
    expect(t, "{text}", "a b", 0, "[CLS] a b [SEP]");
    expect(t, "q: {text} e", "a b c d", 0, "[CLS] q : a b c d e [SEP]");
    /* truncation must remove tokens of the text and never tokens of the prompt */
    expect(t, "q: {text} e", "a b c d", 8, "[CLS] q : a b c e [SEP]");
    expect(t, "q: {text} e", "a b c d", 6, "[CLS] q : a e [SEP]");
    expect(t, "q: {text} [MASK]", "a b c d", 6, "[CLS] q : a [MASK] [SEP]");
    /* The prompt and the text are tokenized together. A token that contains characters of the prompt and of the text
     * counts as a token of the prompt. */
    expect(t, "q{text}", "a b", 0, "[CLS] qa b [SEP]");
    expect(t, "q{text}", "a b c", 4, "[CLS] qa b [SEP]");
    expect(t, "q {text}c", "a b d b", 6, "[CLS] q a b ##c [SEP]"); /* the piece ##c belongs to the prompt */
    /* an empty text, and braces that are not {text} */
    expect(t, "q: {text}", "", 0, "[CLS] q : [SEP]");
    expect(t, "q: {text}", "", 4, "[CLS] q : [SEP]");
    expect(t, "{{text}", "a", 0, "[CLS] [UNK] a [SEP]");
    /* "{text}" in the text must not be replaced */
    expect(t, "q {text}", "{text}", 0, "[CLS] q [UNK] [UNK] [UNK] [SEP]");
    /* Normalization changes the number of bytes of these characters. The position of a token must refer to the original
     * text, so that tokens of the text and of the prompt are still distinguished. */
    expect(t, "q \xc3\x89 {text} \xc3\x89", "\xc3\x89 \xc4\xb0 a b", 7, "[CLS] q e e [UNK] e [SEP]");
    expect(t, "q {text} e", "a [SEP] b [SEP] c", 7, "[CLS] q a [SEP] b e [SEP]");
    aoe_tokenizer_close(t);
}

static void test_rejected(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&spec);
    expect_error(t, "q:", "a", 0, AOE_EARG, "does not contain {text}");
    expect_error(t, "", "a", 0, AOE_EARG, "does not contain {text}");
    expect_error(t, "{text} {text}", "a", 0, AOE_EARG, "more than once");
    expect_error(t, "q\xff {text}", "a", 0, AOE_EFORMAT, "byte 1");
    expect_error(t, "q: {text}", "a\xff", 0, AOE_EFORMAT, "byte 1 of the text");
    expect_error(t, "q: a b {text}", "c", 6, AOE_EARG, "the prompt has 4 tokens, but only 4 are available");
    expect_error(t, "q: a b {text}", "c", 4, AOE_EARG, "options.max_length is 4, ");
    expect_error(t, NULL, "ab\xed\xa0\x80", 0, AOE_EFORMAT, "byte 2");
    aoe_tokenizer_close(t);
}

/* Tests every max_length. The result must be the complete token list from which one contiguous range of tokens was
 * removed. */
static void test_every_length(void **state) {
    (void)state;
    static const char *const prompts[] = {"q: {text}", "{text} : q", "q {text} e", "q{text}b"};
    static const char text[] = "a b abc [SEP] d e zz a";
    aoe_tokenizer *t = test_tokenizer(&spec);
    for (size_t p = 0; p < sizeof prompts / sizeof *prompts; p++) {
        aoe_ids complete = {0}, part = {0};
        aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = prompts[p]};
        assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), &o, &complete, NULL), 0);
        for (o.max_length = complete.n + 1; o.max_length > 0; o.max_length--) {
            int rc = aoe_tokenizer_encode(t, aoe_text_of(text), &o, &part, NULL);
            if (rc) {
                assert_int_equal(rc, AOE_EARG);
                assert_true(o.max_length <= 6);
                break;
            }
            size_t n = o.max_length < complete.n ? o.max_length : complete.n, front = 0, back = 0;
            assert_int_equal(part.n, n);
            assert_int_equal(part.truncated, n < complete.n);
            while (front < n && part.id[front] == complete.id[front])
                front++;
            while (back < n && part.id[n - 1 - back] == complete.id[complete.n - 1 - back])
                back++;
            assert_true(front + back >= n); /* only one contiguous range is missing */
        }
        aoe_ids_free(&complete);
        aoe_ids_free(&part);
    }
    aoe_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
