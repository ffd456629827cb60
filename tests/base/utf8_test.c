/* SPDX-License-Identifier: MIT
 * Tests UTF-8. Every code point is encoded and decoded, and every kind of invalid sequence is rejected. All strings of
 * two bytes and many longer strings are compared with utf8proc.
 */
#include <string.h>

#include <utf8proc.h>

#include "../support/support.h"
#include "base/utf8.h"

static void test_every_code_point(void **state) {
    (void)state;
    for (uint32_t cp = 0; cp <= 0x110010; cp++) {
        char s[4];
        size_t n = aoei_utf8_encode(cp, s);
        int is_scalar = cp <= 0x10ffff && !(cp >= 0xd800 && cp <= 0xdfff);
        size_t want = !is_scalar ? 0 : cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
        if (n != want)
            fail_msg("U+%04X: expected %zu bytes, found %zu", cp, want, n);
        if (n == 0)
            continue;
        uint32_t back = 0;
        if (aoei_utf8_decode(s, n, &back) != n || back != cp || aoei_utf8_valid(s, n) != n)
            fail_msg("U+%04X: decoding the encoded bytes gives another code point", cp);
        if (n > 1 && (aoei_utf8_decode(s, n - 1, &back) != 0 || aoei_utf8_valid(s, n - 1) != 0))
            fail_msg("U+%04X without its last byte is accepted", cp);
    }
    assert_int_equal(aoei_utf8_encode(UINT32_MAX, (char[4]){0}), 0);
}

/* White space is the Unicode property White_Space, and U+001C to U+001F, as in Python. */
static void test_spaces(void **state) {
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
        const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
        const int want = (cp >= 0x09 && cp <= 0x0d) || (cp >= 0x1c && cp <= 0x1f) || cp == 0x85 ||
                         c == UTF8PROC_CATEGORY_ZS || c == UTF8PROC_CATEGORY_ZL || c == UTF8PROC_CATEGORY_ZP;
        if (aoei_utf8_is_space(cp) != want)
            fail_msg("U+%04X: expected %d", cp, want);
    }
    static const char *const blank[] = {"", " ", "\xc2\xa0", " \xe3\x80\x80\t\n\x1f\xe2\x80\xa9"}, *const text[] = {
                                                                                                       "a",
                                                                                                       "\xc2\xa0"
                                                                                                       "a",
                                                                                                       "a ",
                                                                                                       "\xe2\x80\x8b",
                                                                                                       "\xc2",
                                                                                                       "\xc2\xa0\xff"};
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++)
        assert_true(aoei_utf8_is_blank(blank[i], strlen(blank[i])));
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        assert_false(aoei_utf8_is_blank(text[i], strlen(text[i])));
    assert_false(aoei_utf8_is_blank("\0", 1));
}

static void test_invalid(void **state) {
    (void)state;
    static const struct {
        const char *s;
        size_t len, at;
    } cases[] = {
        {"\x80", 1, 0},                 /* first continuation byte, without a lead byte */
        {"\xbf", 1, 0},                 /* last continuation byte, without a lead byte */
        {"a\xc3", 2, 1},                /* the text ends inside a character */
        {"a\xc3z", 3, 1},               /* continuation byte missing */
        {"\xe2\x82", 2, 0},             /* three-byte character, truncated */
        {"\xe2\x82z", 3, 0},            /* third byte invalid */
        {"\xf0\x9f\x98", 3, 0},         /* four-byte character, truncated */
        {"\xf0\x9f\x98z", 4, 0},        /* fourth byte invalid */
        {"\xf0\x9fz\x80", 4, 0},        /* third byte invalid */
        {"\xc0\x80", 2, 0},             /* overlong NUL */
        {"\xc1\xbf", 2, 0},             /* overlong U+007F */
        {"\xe0\x9f\xbf", 3, 0},         /* overlong U+07FF */
        {"\xf0\x8f\xbf\xbf", 4, 0},     /* overlong U+FFFF */
        {"\xed\xa0\x80", 3, 0},         /* first surrogate */
        {"\xed\xbf\xbf", 3, 0},         /* last surrogate */
        {"\xf4\x90\x80\x80", 4, 0},     /* U+110000 */
        {"\xf5\x80\x80\x80", 4, 0},     /* lead byte of values above U+10FFFF */
        {"\xf8\x88\x80\x80\x80", 5, 0}, /* five-byte sequence */
        {"\xfe", 1, 0},
        {"\xff", 1, 0},
        {"abcdefg\xff", 8, 7}, /* the invalid byte is the last of the eight bytes that are read at a time */
        {"abcdefgh\xff", 9, 8},
        {"abcdefghi\xc3\xa9jklmnop\xc3", 19, 18},
        {"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xa9", 9, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = aoei_utf8_valid(cases[i].s, cases[i].len);
        if (at != cases[i].at)
            fail_msg("case %zu: expected the first invalid byte at %zu, found %zu", i, cases[i].at, at);
        uint32_t cp;
        assert_int_equal(aoei_utf8_decode(cases[i].s + at, cases[i].len - at, &cp), 0);
    }
}

static void test_valid(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "plain",
                                        "longer than eight bytes, plain",
                                        "caf\xc3\xa9",
                                        "\xe4\xb8\xad\xe6\x96\x87",
                                        "\xf0\x9f\x98\x80 twelve \xef\xbf\xbf",
                                        "\xee\x80\x80",
                                        "\xed\x9f\xbf",
                                        "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(aoei_utf8_valid(texts[i], strlen(texts[i])), strlen(texts[i]));
    assert_int_equal(aoei_utf8_valid("a\0b", 3), 3);
    assert_int_equal(aoei_utf8_valid(NULL, 0), 0);
}

/* Compares the decoding of the first character of s with utf8proc. s: 4 bytes, of which the first len are passed. */
static void compare(const unsigned char *s, size_t len) {
    utf8proc_int32_t want = -1;
    utf8proc_ssize_t n = utf8proc_iterate(s, (utf8proc_ssize_t)len, &want);
    uint32_t cp = 0;
    size_t got = aoei_utf8_decode((const char *)s, len, &cp);
    if (got != (n > 0 ? (size_t)n : 0) || (got && cp != (uint32_t)want))
        fail_msg("%02x %02x %02x %02x: decoded %zu bytes, but utf8proc decodes %td", s[0], s[1], s[2], s[3], got,
                 (ptrdiff_t)n);
}

static void test_against_utf8proc(void **state) {
    (void)state;
    static const unsigned char edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    for (unsigned int a = 0; a < 256; a++)
        for (unsigned int b = 0; b < 256; b++)
            for (size_t c = 0; c < sizeof edges; c++)
                for (size_t d = 0; d < sizeof edges; d++) {
                    const unsigned char s[4] = {(unsigned char)a, (unsigned char)b, edges[c], edges[d]};
                    for (size_t len = 1; len <= 4; len++)
                        compare(s, len);
                }
}

static void test_characters(void **state) {
    (void)state;
    static const char text[] = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80z"; /* 1, 2, 3, 4 and 1 bytes */
    static const size_t prefix[] = {0, 1, 3, 6, 10, 11, 11};
    assert_int_equal(aoei_utf8_chars(text, strlen(text)), 5);
    assert_int_equal(aoei_utf8_chars("", 0), 0);
    for (size_t n = 0; n < sizeof prefix / sizeof *prefix; n++)
        assert_int_equal(aoei_utf8_prefix(text, strlen(text), n), prefix[n]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point), cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_invalid),          cmocka_unit_test(test_valid),
        cmocka_unit_test(test_against_utf8proc), cmocka_unit_test(test_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
