/* SPDX-License-Identifier: MIT
 * Tests BertNormalizer: each option, the canonical order of the combining marks that remain, the origin of each output
 * byte, and linear running time on long sequences of combining marks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/clock.h"
#include "tokenizer/normalizer.h"

/* Asserts that text [len] is normalized to `want`, and that every recorded origin is the start of a character of text.
 * switches consists of four characters, each '0' or '1':
 * - switches[0]: clean_text
 * - switches[1]: handle_chinese_chars
 * - switches[2]: strip_accents
 * - switches[3]: lowercase */
static void check(const char *switches, const char *text, size_t len, const char *want) {
    aoei_normalizer n = {0};
    aoei_normalized out = {0}, tracked = {.track = 1};
    assert_int_equal(aoei_normalizer_add_bert(&n, switches[0] == '1', switches[1] == '1', switches[2] == '1',
                                              switches[3] == '1', NULL),
                     0);
    assert_int_equal(aoei_normalize(&n, text, len, &out, NULL), 0);
    if (out.len != strlen(want) || memcmp(out.data, want, out.len) != 0)
        fail_msg("%s: \"%s\" was normalized to \"%.*s\", expected \"%s\"", switches, text, (int)out.len, out.data,
                 want);
    for (size_t i = 0; i < AOEI_NORMALIZED_SLACK; i++)
        assert_int_equal(out.data[out.len + i], 0);
    assert_int_equal(aoei_normalize(&n, text, len, &tracked, NULL), 0);
    assert_int_equal(tracked.len, out.len);
    assert_memory_equal(tracked.data, out.data, out.len);
    for (size_t i = 0; i < tracked.len; i++) {
        assert_true(tracked.origin[i] < len);
        assert_true(((unsigned char)text[tracked.origin[i]] & 0xC0) != 0x80); /* the origin is not a continuation
                                                                                 byte */
    }
    aoei_normalized_free(&out);
    aoei_normalized_free(&tracked);
    aoei_normalizer_free(&n);
}

static void test_switches(void **state) {
    (void)state;
    static const struct {
        const char *switches, *text, *want;
    } cases[] = {
        {"1111", "Héllo\tWORLD", "hello world"},
        {"0000", "Héllo\tWORLD", "Héllo\tWORLD"},
        {"1000",
         "a\x01"
         "b\x7f\xc2\x85"
         "c\xe2\x80\x8b"
         "d\xef\xbf\xbd"
         "e\xee\x80\x80"
         "f\x0b"
         "g",
         "abcdefg"},
        {"1000",
         "a\nb\rc\xc2\xa0"
         "d\xe3\x80\x80"
         "e\xe2\x80\xa8"
         "f",
         "a b c d e f"},
        {"1000", "\xcd\xb8", "\xcd\xb8"}, /* U+0378, which is unassigned, is kept */
        {"0100", "a中b", "a 中 b"},
        {"0100", "あ一", "あ 一 "},
        /* first, spaces are added around a compatibility ideograph; then the ideograph is decomposed */
        {"0110", "\xef\xa4\x80", " \xe8\xb1\x88 "},
        {"0010", "éÅİ", "eAI"},
        {"0010", "\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8"}, /* the syllable is decomposed into three
                                                                             jamo */
        {"0001", "ÀÉİΣẞǅ",
         "àé"
         "i\xcc\x87"
         "σßǆ"},
        {"0011", "İΑΣ", "iασ"}, /* a capital sigma at the end of a word becomes the ordinary small sigma */
        {"1101", "Ünïcode", "ünïcode"},
        {"0001", "\xe2\x84\xaa", "k"}, /* the Kelvin sign becomes the letter k */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i].switches, cases[i].text, strlen(cases[i].text), cases[i].want);
    check("1000", "a\0b", 3, "ab");
    check("1111", "", 0, "");
}

static void test_canonical_order(void **state) {
    (void)state;
    /* Spacing marks are not removed. If they have a combining class, they are sorted by this class: U+302E has class
     * 224, and U+1D165 has class 216. */
    check("0010", "a\xe3\x80\xae\xf0\x9d\x85\xa5", 8, "a\xf0\x9d\x85\xa5\xe3\x80\xae");
    /* a removed nonspacing mark of class 0 (U+0941) between two marks prevents sorting */
    check("0010", "a\xe3\x80\xae\xe0\xa5\x81\xf0\x9d\x85\xa5", 11, "a\xe3\x80\xae\xf0\x9d\x85\xa5");
    /* a removed mark of another class (U+0301) does not prevent sorting */
    check("0010", "a\xe3\x80\xae\xcc\x81\xf0\x9d\x85\xa5", 10, "a\xf0\x9d\x85\xa5\xe3\x80\xae");
    /* a control character that clean_text removes does not prevent sorting, whereas a space and a letter prevent it */
    check("1010", "\xe3\x80\xae\x01\xf0\x9d\x85\xa5", 8, "\xf0\x9d\x85\xa5\xe3\x80\xae");
    check("1010", "\xe3\x80\xae \xf0\x9d\x85\xa5", 8, "\xe3\x80\xae \xf0\x9d\x85\xa5");
    check("1010", "\xe3\x80\xae\xc2\xa0\xf0\x9d\x85\xa5", 9, "\xe3\x80\xae \xf0\x9d\x85\xa5");
    check("1110", "\xe3\x80\xae中\xf0\x9d\x85\xa5", 10, "\xe3\x80\xae 中 \xf0\x9d\x85\xa5");
}

static void test_origins(void **state) {
    (void)state;
    aoei_normalizer n = {0};
    aoei_normalized out = {.track = 1};
    assert_int_equal(aoei_normalizer_add_bert(&n, 1, 1, -1, 1, NULL), 0);
    assert_int_equal(aoei_normalize(&n,
                                    "\x01"
                                    "É中x",
                                    7, &out, NULL),
                     0);
    /* origins of the output bytes: "e", space, ideograph (3 bytes), space, "x" */
    static const size_t want[] = {1, 3, 3, 3, 3, 3, 6};
    assert_int_equal(out.len, sizeof want / sizeof *want);
    for (size_t i = 0; i < out.len; i++)
        assert_int_equal(out.origin[i], want[i]);
    aoei_normalized_free(&out);
    aoei_normalizer_free(&n);
}

static void test_none(void **state) {
    (void)state;
    aoei_normalizer n = {0};
    aoei_normalized out = {.track = 1};
    assert_int_equal(aoei_normalizer_read(&n, NULL, "f", NULL), 0);
    assert_int_equal(aoei_normalize(&n, "É\tx", 4, &out, NULL), 0);
    assert_int_equal(out.len, 4);
    assert_memory_equal(out.data, "É\tx", 4);
    assert_int_equal(out.origin[1], 0);
    assert_int_equal(out.origin[3], 3);
    aoei_normalized_free(&out);
}

/* Tests that 1 MB of combining marks, in the worst order for sorting, is normalized within a time limit. */
static void test_linear_time(void **state) {
    (void)state;
    enum { PAIRS = 150000 };
    char *text = malloc(PAIRS * 7);
    assert_non_null(text);
    for (size_t i = 0; i < PAIRS; i++)
        memcpy(text + i * 7, "\xe3\x80\xae\xf0\x9d\x85\xa5", 7);
    aoei_normalizer n = {0};
    aoei_normalized out = {0};
    assert_int_equal(aoei_normalizer_add_bert(&n, 1, 1, -1, 1, NULL), 0);
    double start = aoei_now();
    assert_int_equal(aoei_normalize(&n, text, PAIRS * 7, &out, NULL), 0);
    assert_true(aoei_now() - start < 5.0);
    assert_int_equal(out.len, PAIRS * 7);
    assert_memory_equal(out.data, "\xf0\x9d\x85\xa5\xf0\x9d\x85\xa5", 8);
    assert_memory_equal(out.data + out.len - 6, "\xe3\x80\xae\xe3\x80\xae", 6);
    aoei_normalized_free(&out);
    aoei_normalizer_free(&n);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switches), cmocka_unit_test(test_canonical_order), cmocka_unit_test(test_origins),
        cmocka_unit_test(test_none),     cmocka_unit_test(test_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
