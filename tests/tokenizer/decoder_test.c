/* SPDX-License-Identifier: MIT
 * covers: tokenizer/decode tokenizer/decoder_read
 * Tests that token ids become the texts that Hugging Face tokenizers 0.23.3 returns, for every decoder. A decoder that
 * is not supported must be rejected when it is used, and must not prevent encoding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/tokenizer_files.h"

/* Opens a tokenizer with the tokens of a JSON array, whose ids are their positions, and with a decoder. added: contents
 * of the array of added tokens. */
static aoe_tokenizer *open_tokens(const char *decoder, const char *tokens, const char *added) {
    char json[4096];
    const int n = snprintf(json, sizeof json,
                           "{\"added_tokens\":[%s],\"normalizer\":{\"type\":\"Lowercase\"},\"decoder\":%s,\"model\":"
                           "{\"type\":\"BPE\",\"merges\":[],\"vocab\":{%s}}}",
                           added, decoder, tokens);
    assert_in_range(n, 1, sizeof json - 1);
    return test_tokenizer_of(json);
}

/* Decodes n ids and compares the text with `want`. */
static void expect_ids(const aoe_tokenizer *t, const int32_t *ids, size_t n, int skip, const char *want) {
    aoe_decoded d = {0};
    aoe_error err = {0};
    if (aoe_tokenizer_decode(t, ids, n, skip, &d, &err))
        fail_msg("%s", err.message);
    assert_string_equal(d.text, want);
    assert_int_equal(d.len, strlen(want));
    aoe_decoded_free(&d);
}

/* Decodes the tokens `tokens`, which are separated by "|", with a decoder. */
static void expect(const char *decoder, const char *tokens, const char *want) {
    char *vocab = NULL;
    size_t size, n = 0;
    int32_t ids[16];
    FILE *f = open_memstream(&vocab, &size);
    assert_non_null(f);
    for (const char *at = tokens; *at; n++) {
        const size_t len = strcspn(at, "|");
        fprintf(f, "%s\"%.*s\":%zu", n ? "," : "", (int)len, at, n);
        ids[n] = (int32_t)n;
        at += at[len] ? len + 1 : len;
    }
    assert_int_equal(fclose(f), 0);
    aoe_tokenizer *t = open_tokens(decoder, vocab, "");
    expect_ids(t, ids, n, 0, want);
    aoe_tokenizer_close(t);
    free(vocab);
}

#define E_ACUTE "\xc3\xa9"
#define UNKNOWN "\xef\xbf\xbd" /* U+FFFD */
#define SPACE   "\xe2\x96\x81" /* the letter of SentencePiece for a space */

static void test_wordpiece(void **state) {
    (void)state;
#define WORDPIECE "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}"
    expect(WORDPIECE, "a|##b|.|####c", "ab.##c");
    expect(WORDPIECE, "##b|a|do not|##", "##b a don't");
    expect(WORDPIECE, "a|n't|'m|'|x .?", "an't'm ' x.?");
    expect(WORDPIECE, "a| .", "a .");
    expect(WORDPIECE, " ' |'s", "''s");
    expect("{\"type\":\"WordPiece\",\"prefix\":\"@\",\"cleanup\":false}", "a|@b|.|##", "ab . ##");
}

static void test_bytes(void **state) {
    (void)state;
#define BYTE_LEVEL "{\"type\":\"ByteLevel\"}"
    expect(BYTE_LEVEL, "\xc3\x83|\xc2\xa9|\xc4\xa0z", E_ACUTE " z");
    expect(BYTE_LEVEL, "\xc3\x83|a", UNKNOWN "a");
    expect(BYTE_LEVEL, "a|" E_ACUTE, "a" UNKNOWN);
    /* a token with a character that is no letter of a byte stands for itself */
    expect(BYTE_LEVEL, "\xc3\x83x \xe4\xb8\xad", "\xc3\x83x \xe4\xb8\xad");
    expect(BYTE_LEVEL, "\xc4\x80\xc4\xa1\xc5\x82\xc5\x83\xc5\x84", "\xc4\x80\xc4\xa1\xc5\x82\xc5\x83\xc5\x84");
    expect(BYTE_LEVEL, "\xc3\xb0\xc5\x81|\xc4\xba|a", UNKNOWN "a");          /* F0 9F 98: one incomplete character */
    expect(BYTE_LEVEL, "\xc3\xad\xc5\x82\xc4\xa2", UNKNOWN UNKNOWN UNKNOWN); /* ED A0 80: a surrogate */
#define FALLBACK "{\"type\":\"ByteFallback\"}"
    expect(FALLBACK, "a|<0xC3>|<0xa9>|<0x41>", "a" E_ACUTE "A");
    expect(FALLBACK, "<0xC3>|<0x43>|a|<0xA9>", UNKNOWN UNKNOWN "a" UNKNOWN);
    expect(FALLBACK, "<0xgg>|<0x+1>|<0x411>", "<0xgg>\001<0x411>");
}

static void test_spaces(void **state) {
    (void)state;
#define METASPACE(more) "{\"type\":\"Metaspace\",\"replacement\":\"" SPACE "\"" more "}"
    expect(METASPACE(""), SPACE "a" SPACE "b|" SPACE "c", "ab c");
    expect(METASPACE(",\"prepend_scheme\":\"first\""), SPACE "a|" SPACE "c", "a c");
    expect(METASPACE(",\"prepend_scheme\":\"never\""), SPACE "a|" SPACE "c", " a c");
    expect(METASPACE(",\"add_prefix_space\":false"), SPACE "a", " a");
    expect("{\"type\":\"BPEDecoder\",\"suffix\":\"</w>\"}", "a</w>|b|</w></w>c|d</w>", "a b  cd");
    expect("{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"" SPACE
           "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":"
           "\" \",\"start\":1,\"stop\":0}]}",
           SPACE SPACE "a|<0xC3>|<0xA9>|" SPACE "b", " a" E_ACUTE " b");
    expect("{\"type\":\"Strip\",\"content\":\"a\",\"start\":2,\"stop\":1}", "aaa|baa|aaca", "bac");
    expect("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"b*\"},\"content\":\"-\"}", "abbc|b", "-a-c--");
    expect("{\"type\":\"Sequence\",\"decoders\":[]}", "a|b", "ab");
    expect("null", "a|b", "a b");
}

static void test_special(void **state) {
    (void)state;
    aoe_tokenizer *t = open_tokens("{\"type\":\"WordPiece\"}", "\"a\":0,\"[S]\":1",
                                   "{\"content\":\"[S]\",\"special\":true},{\"content\":\"[New]\"},"
                                   "{\"content\":\"[Raw]\",\"normalized\":false}");
    const int32_t ids[] = {1, 0, 2, 3, 1};
    expect_ids(t, ids, 5, 1, "a [new] [Raw]"); /* the text of a normalized added token is its normalized text */
    expect_ids(t, ids, 5, 0, "[S] a [new] [Raw] [S]");
    expect_ids(t, ids, 0, 0, "");
    aoe_decoded d = {0};
    const int32_t wrong[] = {-1, 0, 4, INT32_MAX};
    assert_int_equal(aoe_tokenizer_decode(t, wrong, 4, 0, &d, NULL), 0);
    assert_string_equal(d.text, "a");
    assert_int_equal(d.unknown, 3);
    assert_int_equal(aoe_tokenizer_decode(t, ids, 1, 1, &d, NULL), 0); /* the contents are replaced */
    assert_string_equal(d.text, "");
    assert_int_equal(d.unknown, 0);
    aoe_decoded_free(&d);
    aoe_decoded_free(NULL);
    aoe_tokenizer_close(t);
}

/* Without tokenizer.json, the decoder is that of the class of the tokenizer. */
static void test_vocabulary_files(void **state) {
    (void)state;
    const aoei_vocab_files lines = {.vocab = aoe_text_of("[UNK]\n[CLS]\n[SEP]\na\n##b\n.\n")},
                           bytes = {.vocab_json = aoe_text_of("{\"a\":0,\"\xc4\xa0\":1,\"\xc4\xa0"
                                                              "a\":2}"),
                                    .merges = aoe_text_of("\xc4\xa0 a\n")};
    aoe_tokenizer *t;
    assert_int_equal(aoei_tokenizer_parse_vocab(&t, &lines, "dir", NULL), 0);
    expect_ids(t, (const int32_t[]){1, 3, 4, 5, 2}, 5, 1, "ab.");
    aoe_tokenizer_close(t);
    assert_int_equal(aoei_tokenizer_parse_vocab(&t, &bytes, "dir", NULL), 0);
    expect_ids(t, (const int32_t[]){0, 2}, 2, 1, "a a");
    aoe_tokenizer_close(t);
}

static void expect_rejected(const char *decoder, int code, const char *part) {
    aoe_tokenizer *t = open_tokens(decoder, "\"a\":0", "");
    aoe_decoded d = {0};
    aoe_error err = {0};
    assert_string_equal(test_tokens(t, "a", NULL), "a");
    assert_int_equal(aoe_tokenizer_decode(t, &(const int32_t){0}, 1, 0, &d, &err), code);
    if (!strstr(err.message, part) || !strstr(err.message, "tokenizer.json"))
        fail_msg("error message \"%s\": expected \"%s\"", err.message, part);
    assert_null(d.text);
    aoe_tokenizer_close(t);
}

static void test_rejected(void **state) {
    (void)state;
    expect_rejected("{\"type\":\"CTC\"}", AOE_EUNSUPPORTED, "decoder \"CTC\" is not supported");
    expect_rejected("{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"X\"}]}", AOE_EUNSUPPORTED,
                    "decoder \"X\"");
    expect_rejected("3", AOE_EFORMAT, "\"decoder\" is not an object");
    expect_rejected("{\"type\":\"Sequence\"}", AOE_EFORMAT, "no array \"decoders\"");
    expect_rejected("{\"type\":\"Metaspace\",\"replacement\":\"ab\"}", AOE_EFORMAT, "not one character");
    expect_rejected("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}", AOE_EUNSUPPORTED,
                    "\"prepend_scheme\" \"last\"");
    expect_rejected("{\"type\":\"Strip\",\"start\":1}", AOE_EFORMAT, "not one character");
    expect_rejected("{\"type\":\"Strip\",\"content\":\"a\",\"start\":-1}", AOE_EFORMAT, "\"start\"");
    expect_rejected("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}", AOE_EUNSUPPORTED, "(");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wordpiece), cmocka_unit_test(test_bytes),    cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_special),   cmocka_unit_test(test_rejected), cmocka_unit_test(test_vocabulary_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
