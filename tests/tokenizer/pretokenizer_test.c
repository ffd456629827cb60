/* SPDX-License-Identifier: MIT
 * covers: tokenizer/pretokenizer_read tokenizer/splitter
 * Tests pre-tokenizers, which split a text into words, alone and in sequences. The tests cover all options, the five
 * behaviors of Split, batches of words, and the origin of each byte of a word in the text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/error.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pretokenizer_read.h"

static void open_json(aoei_pretokenizer *p, const char *json) {
    json_t *section = json_loads(json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    aoe_error err = {0};
    assert_non_null(section);
    *p = (aoei_pretokenizer){0};
    if (aoei_pretokenizer_read(p, section, "f", &err))
        fail_msg("%s", err.message);
    json_decref(section);
}

/* Returns the words of s[start, len), each in parentheses. The result is in static memory and is valid until the next
 * call. s may be a part of a longer text; base is the offset in bytes of s in this text. */
static const char *words_of(const aoei_pretokenizer *p, const char *s, size_t len, size_t start, size_t base) {
    static char out[8192];
    const aoei_normalizer none = {0};
    aoei_normalized text = {.track = 1};
    aoei_pretokenizing g = {0};
    aoei_words words;
    size_t at = 0;
    int rc;
    out[0] = 0;
    assert_int_equal(aoei_normalize(&none, s, len, &text, NULL), 0);
    aoei_pretokenizing_begin(&g, p, &text, start, len, base);
    while ((rc = aoei_pretokenizing_next(&g, &words, NULL)) > 0) {
        assert_true(words.n > 0 && words.n <= AOEI_WORDS);
        for (size_t i = 0; i < words.n; i++) {
            assert_true(words.start[i] < words.end[i]);
            at += (size_t)snprintf(out + at, sizeof out - at, "(%.*s)", (int)(words.end[i] - words.start[i]),
                                   words.s + words.start[i]);
            for (size_t b = words.start[i]; b < words.end[i]; b++)
                assert_true(words.origin[b] >= start && words.origin[b] < len);
        }
    }
    assert_int_equal(rc, 0);
    aoei_pretokenizing_end(&g);
    aoei_normalized_free(&text);
    return out;
}

static void expect(const char *json, const char *s, const char *want) {
    aoei_pretokenizer p;
    open_json(&p, json);
    const char *got = words_of(&p, s, strlen(s), 0, 0);
    if (strcmp(got, want) != 0)
        fail_msg("%s: \"%s\" was split into %s, expected %s", json, s, got, want);
    aoei_pretokenizer_free(&p);
}

#define SPLIT(pattern, behavior, invert)                                                                               \
    "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\",\"invert\":" invert "}"
#define DASH "{\"String\":\"-\"}"

static void test_behaviors(void **state) {
    (void)state;
    static const char text[] = "the-final--countdown";
    expect(SPLIT(DASH, "Removed", "false"), text, "(the)(final)(countdown)");
    expect(SPLIT(DASH, "Isolated", "false"), text, "(the)(-)(final)(-)(-)(countdown)");
    expect(SPLIT(DASH, "MergedWithPrevious", "false"), text, "(the-)(final-)(-)(countdown)");
    expect(SPLIT(DASH, "MergedWithNext", "false"), text, "(the)(-final)(-)(-countdown)");
    expect(SPLIT(DASH, "Contiguous", "false"), text, "(the)(-)(final)(--)(countdown)");
    expect(SPLIT(DASH, "Removed", "true"), text, "(-)(-)(-)");
    expect(SPLIT(DASH, "MergedWithPrevious", "true"), text, "(the)(-final)(-)(-countdown)");
    expect(SPLIT(DASH, "MergedWithNext", "true"), text, "(the-)(final-)(-)(countdown)");
    expect(SPLIT(DASH, "Contiguous", "true"), text, "(the)(-)(final)(--)(countdown)");
    expect(SPLIT(DASH, "Removed", "false"), "--", "");
    expect(SPLIT(DASH, "MergedWithPrevious", "false"), "--a--", "(-)(-)(a-)(-)");
    expect(SPLIT(DASH, "MergedWithNext", "false"), "--a--", "(-)(-a)(-)(-)");
    expect(SPLIT(DASH, "Contiguous", "false"), "--a--", "(--)(a)(--)");
    expect(SPLIT("{\"Regex\":\"\"}", "Isolated", "false"), "a\xc3\xa9", "(a)(\xc3\xa9)");
    expect(SPLIT("{\"Regex\":\"\\\\d|\\\\s\"}", "MergedWithNext", "false"), "a1b2 c", "(a)(1b)(2)( c)");
}

static void test_byte_level(void **state) {
    (void)state;
#define G "\xc4\xa0" /* the letter to which byte-level pre-tokenization maps a space */
    expect("{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", "Hi  you're 12,",
           "(Hi)(" G ")(" G "you)('re)(" G "12)(,)");
    expect("{\"type\":\"ByteLevel\"}", "Hi", "(" G "Hi)");
    expect("{\"type\":\"ByteLevel\"}", " Hi", "(" G "Hi)");
    expect("{\"type\":\"ByteLevel\",\"use_regex\":false}", "Hi you", "(" G "Hi" G "you)");
    expect("{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true}", "\xc3\xa9\n\x7f\xc2\xad",
           "(\xc3\x83\xc2\xa9)(\xc4\x8a)(\xc4\xa1\xc3\x82\xc5\x83)");
    expect("{\"type\":\"Sequence\",\"pretokenizers\":["
           "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{N}\"},\"behavior\":\"Isolated\",\"invert\":false},"
           "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":false}]}",
           "a1 2", "(" G "a)(" G "1)(" G ")(" G "2)"); /* add_prefix_space adds a space to each piece of the split */
    /* ByteLevel maps each byte to a letter; the Split after it is applied to these letters */
    expect("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
           "{\"type\":\"Split\",\"pattern\":{\"String\":\"" G "\"},\"behavior\":\"Removed\"}]}",
           "a b", "(a)(b)");
}

static void test_metaspace(void **state) {
    (void)state;
#define U                  "\xe2\x96\x81"
#define METASPACE(options) "{\"type\":\"Metaspace\",\"replacement\":\"" U "\"" options "}"
    expect(METASPACE(""), "Hey  friend!", "(" U "Hey)(" U ")(" U "friend!)");
    expect(METASPACE(",\"prepend_scheme\":\"always\",\"split\":true"), " Hey", "(" U "Hey)");
    expect(METASPACE(",\"prepend_scheme\":\"never\""), "Hey you", "(Hey)(" U "you)");
    expect(METASPACE(",\"add_prefix_space\":false"), "Hey you", "(Hey)(" U "you)");
    expect(METASPACE(",\"add_prefix_space\":true,\"str_rep\":\"" U "\""), "Hey", "(" U "Hey)");
    expect(METASPACE(",\"split\":false"), "Hey you", "(" U "Hey" U "you)");
    expect(METASPACE(""), U "Hey " U "x", "(" U "Hey)(" U ")(" U "x)");
    expect("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"}," METASPACE("") "]}", "a \n b",
           "(" U "a)(" U "b)");
    expect("{\"type\":\"Metaspace\",\"replacement\":\"_\"}", "a b_c", "(_a)(_b)(_c)");
    aoei_pretokenizer p;
    open_json(&p, METASPACE(",\"prepend_scheme\":\"first\""));
    assert_true(p.needs_first);
    assert_string_equal(words_of(&p, "a b", 3, 0, 0), "(" U "a)(" U "b)");
    /* s is not at the start of the text, so no U+2581 is added before its first word */
    assert_string_equal(words_of(&p, "a b", 3, 0, 5), "(a)(" U "b)");
    assert_string_equal(words_of(&p, "xa b", 4, 1, 0), "(a)(" U "b)");
    aoei_pretokenizer_free(&p);
}

static void test_classes(void **state) {
    (void)state;
    expect("{\"type\":\"Whitespace\"}", "a_b, c\xcc\x81--d 1", "(a_b)(,)(c\xcc\x81)(--)(d)(1)");
    expect("{\"type\":\"WhitespaceSplit\"}",
           " a,b\xc2\xa0\xe3\x80\x80"
           "c ",
           "(a,b)(c)");
    expect("{\"type\":\"Punctuation\"}", "a,,b\xe2\x80\x94", "(a)(,)(,)(b)(\xe2\x80\x94)");
    expect("{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}", "a,,b", "(a)(,,)(b)");
    expect("{\"type\":\"Digits\"}",
           "a12\xc2\xbd"
           "b",
           "(a)(12\xc2\xbd)(b)");
    expect("{\"type\":\"Digits\",\"individual_digits\":true}", "a12", "(a)(1)(2)");
    expect("{\"type\":\"BertPreTokenizer\"}", "a b,c", "(a)(b)(,)(c)");
    expect("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"BertPreTokenizer\"},{\"type\":\"Digits\"}]}", "a1 b,",
           "(a)(1)(b)(,)");
    expect("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"|\"}", "a||b c", "(a)(b c)");
    expect("{\"type\":\"Sequence\",\"pretokenizers\":[]}", "a b", "(a b)");
    expect("null", "a b", "(a b)");
    expect("{\"type\":\"Whitespace\"}", "   ", "");
}

/* Tests texts with more words than fit in a batch. In some texts, all words of a batch are removed. */
static void test_batches(void **state) {
    (void)state;
    char text[2049], want[8192] = "";
    aoei_pretokenizer p;
    open_json(&p, "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},"
                  "{\"type\":\"Split\",\"pattern\":{\"String\":\"7\"},\"behavior\":\"Removed\"}]}");
    for (size_t n = 1; n < sizeof text; n += 127) {
        want[0] = 0;
        for (size_t i = 0; i < n; i++) {
            text[i] = i % 500 < 300 ? '7' : '1';
            strcat(want, text[i] == '1' ? "(1)" : "");
        }
        text[n] = 0;
        assert_string_equal(words_of(&p, text, n, 0, 0), want);
    }
    aoei_pretokenizer_free(&p);
}

static void expect_rejected(const char *json, int code, const char *part) {
    json_t *section = json_loads(json, JSON_DECODE_ANY, NULL);
    aoei_pretokenizer p = {0};
    aoe_error err = {0};
    assert_non_null(section);
    assert_int_equal(aoei_pretokenizer_read(&p, section, "f", &err), code);
    if (strncmp(err.message, "f: ", 3) != 0 || !strstr(err.message, part))
        fail_msg("error message \"%s\": expected the file name at its start, and \"%s\"", err.message, part);
    aoei_pretokenizer_free(&p);
    json_decref(section);
}

static void test_rejected(void **state) {
    (void)state;
    expect_rejected("{\"type\":\"UnicodeScripts\"}", AOE_EUNSUPPORTED, "\"UnicodeScripts\"");
    expect_rejected("{\"type\":\"Sequence\"}", AOE_EFORMAT, "\"pretokenizers\"");
    expect_rejected("{\"type\":\"Sequence\",\"pretokenizers\":[7]}", AOE_EFORMAT, "\"pre_tokenizer\"");
    expect_rejected("{\"type\":\"Split\"}", AOE_EFORMAT, "\"pattern\"");
    expect_rejected("{\"type\":\"Split\",\"pattern\":\"x\"}", AOE_EFORMAT, "\"pattern\"");
    expect_rejected("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"}}", AOE_EUNSUPPORTED, "\"(\"");
    expect_rejected("{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"},\"behavior\":\"Kept\"}", AOE_EUNSUPPORTED,
                    "\"Kept\"");
    expect_rejected("{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"},\"invert\":1}", AOE_EFORMAT, "\"invert\"");
    expect_rejected("{\"type\":\"Metaspace\"}", AOE_EFORMAT, "\"replacement\"");
    expect_rejected("{\"type\":\"Metaspace\",\"replacement\":\"ab\"}", AOE_EFORMAT, "\"replacement\"");
    expect_rejected("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}", AOE_EUNSUPPORTED,
                    "\"last\"");
    expect_rejected(
        "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"first\",\"add_prefix_space\":false}",
        AOE_EFORMAT, "\"first\"");
    expect_rejected("{\"type\":\"Digits\",\"individual_digits\":\"no\"}", AOE_EFORMAT, "\"individual_digits\"");
    expect_rejected("{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"\"}", AOE_EFORMAT, "\"delimiter\"");
#define SEQUENCE(x) "{\"type\":\"Sequence\",\"pretokenizers\":[" x "]}"
    expect_rejected(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(""))))))))),
                    AOE_EUNSUPPORTED, "deep");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behaviors), cmocka_unit_test(test_byte_level), cmocka_unit_test(test_metaspace),
        cmocka_unit_test(test_classes),   cmocka_unit_test(test_batches),    cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
