/* SPDX-License-Identifier: MIT
 * Tests the ranges of the text from which tokens come. The expected ranges are the offsets of Hugging Face tokenizers
 * 0.23.3.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"

/* Compares the ranges of the tokens, for example "- 0:1 2:5 -", with `want`. */
static void expect_options(const aoe_tokenizer *t, const char *text, const aoe_encode_options *o, const char *want) {
    char got[512] = "";
    aoe_ids ids = {0};
    aoe_token_spans spans = {0};
    aoe_error err = {0};
    if (aoe_tokenizer_encode_spans(t, aoe_text_of(text), o, &ids, &spans, &err))
        fail_msg("%s", err.message);
    assert_int_equal(spans.n, ids.n);
    for (size_t i = 0; i < spans.n; i++) {
        const aoe_token_span *s = &spans.span[i];
        const size_t at = strlen(got);
        if (s->special)
            snprintf(got + at, sizeof got - at, " -");
        else
            snprintf(got + at, sizeof got - at, " %zu:%zu", s->start, s->stop);
    }
    if (strcmp(got + (got[0] == ' '), want) != 0)
        fail_msg("text \"%s\": got \"%s\", expected \"%s\"", text, got, want);
    aoe_ids_free(&ids);
    aoe_token_spans_free(&spans);
}

static void expect(const aoe_tokenizer *t, const char *text, const char *want) {
    expect_options(t, text, NULL, want);
}

static void test_bert(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){.words = "a b ab ##b x e \xe4\xb8\xad"});
    expect(t, "", "- -");
    expect(t, " Abb x", "- 1:3 3:4 5:6 -");
    expect(t,
           "\xc3\x89 \xe4\xb8\xad\xe4\xb8\xad\x01"
           "b",
           "- 0:1 2:3 3:4 5:6 -");                                        /* U+0001 is removed */
    expect(t, "e\xcc\x81\xf0\x9f\x98\x80 [MASK]a", "- 0:3 4:10 10:11 -"); /* the word with U+1F600 is unknown */
    aoe_tokenizer_close(t);
}

static void test_options(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){.words = "a b \xc3\xa9 e"});
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.max_length = 4;
    expect_options(t, "a b a", &o, "- 0:1 2:3 -");
    o.max_length = 0;
    o.prompt = "\xc3\xa9 {text} b";
    expect_options(t, "a \xc3\x89", &o, "- - 0:1 2:3 - -");
    o.max_length = 5;
    expect_options(t, "a \xc3\x89", &o, "- - 0:1 - -");
    o = (aoe_encode_options){.struct_size = sizeof o, .no_special_tokens = 1, .drop_unknown = 1};
    expect_options(t, "x b", &o, "2:3");
    o.chat_template = 1;
    aoe_ids ids = {0};
    aoe_token_spans spans = {0};
    assert_int_equal(aoe_tokenizer_encode_spans(t, aoe_text_of("a"), &o, &ids, &spans, NULL), AOE_EUNSUPPORTED);
    o.chat_template = 0;
    assert_int_equal(aoe_tokenizer_encode_spans(t, aoe_text_of("\xff"), &o, &ids, &spans, NULL), AOE_EFORMAT);
    assert_int_equal(aoe_tokenizer_encode_spans(t,
                                                aoe_text_of("\xc3\xa9"
                                                            "b"),
                                                &o, &ids, &spans, NULL),
                     0);
    assert_int_equal(ids.n, 0); /* the word is unknown */
    assert_int_equal(aoe_tokenizer_encode_spans(t, aoe_text_of("\xc3\xa9 b"), &o, &ids, &spans, NULL), 0);
    assert_int_equal(spans.span[1].start, 2);
    assert_int_equal(spans.span[1].start_byte, 3);
    assert_int_equal(spans.span[1].stop_byte, 4);
    aoe_ids_free(&ids);
    aoe_token_spans_free(&spans);
    aoe_token_spans_free(NULL);
    aoe_tokenizer_close(t);
}

#define BYTES(post)                                                                                                    \
    "{\"added_tokens\":[{\"content\":\"<m>\",\"lstrip\":true}],\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"            \
    "\"post_processor\":{\"type\":\"ByteLevel\"" post                                                                  \
    "},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\xc4\xa0\":1,"                                                 \
    "\"\xc4\xa0"                                                                                                       \
    "a\":2,\"\xc3\x83\":3,\"\xc2\xa9\":4},\"merges\":[\"\xc4\xa0 a\"]}}"

static void test_trimmed(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer_of(BYTES(""));
    expect(t, "a a", "0:1 2:3");
    expect(t, "  a", "0:0 2:3");
    expect(t,
           "\xc3\xa9"
           "a",
           "0:0 0:1 0:1 1:2"); /* the added space is trimmed; both bytes have the range of the character */
    expect(t, "a  <m>", "0:1 3:6");
    aoe_tokenizer_close(t);
    t = test_tokenizer_of(BYTES(",\"trim_offsets\":false"));
    expect(t, "a a", "0:1 1:3");
    expect(t, "a  <m>", "0:1 1:6");
    aoe_tokenizer_close(t);
}

/* Marks that are reordered get the characters of the text in their order. */
static void test_reordered(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer_of(
        "{\"normalizer\":{\"type\":\"NFD\"},\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"a\":0,"
        "\"\xcc\x81\":1,\"\xcc\xa3\":2}}}");
    expect(t,
           "a\xcc\x81\xcc\xa3"
           "a",
           "0:1 1:2 2:3 3:4");
    expect(t,
           "\xc3\xa1\xcc\xa3"
           "a",
           "0:1 1:2 1:2 2:3"); /* U+00E1 becomes a and U+0301; U+0323 moves before U+0301 */
    aoe_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_trimmed),
        cmocka_unit_test(test_reordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
