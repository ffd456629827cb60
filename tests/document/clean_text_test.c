/* SPDX-License-Identifier: MIT
 * Tests the conversion of bytes to clean text: invalid UTF-8, line ends, control characters, and data that is
 * shortened.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/utf8.h"
#include "document/clean_text.h"

static void test_clean(void **state) {
    (void)state;
    static const struct {
        const char *from;
        size_t len;
        const char *to;
    } cases[] = {
        {"", 0, ""},
        {"a\tb\n", 4, "a\tb\n"},
        {"a\r\nb\rc\r\r\n", 9, "a\nb\nc\n\n"},
        {"\r", 1, "\n"},
        {"\xEF\xBB\xBFtext", 7, "text"},
        {"caf\xE9 ol\xE9", 8, "caf\xEF\xBF\xBD ol\xEF\xBF\xBD"},
        {"a\xFF\xFE\xFD z", 6, "a\xEF\xBF\xBD z"}, /* one for each run */
        {"\xE2\x82", 2, "\xEF\xBF\xBD"},           /* a truncated character */
        {"\xE2\x82\xAC\xC3\xA9", 5, "\xE2\x82\xAC\xC3\xA9"},
        {"a\0b\x1B[1m\x7F\f", 9, "a b [1m  "},
        {"a\xC2\x9B"
         "31m",
         6, "a 31m"},                                 /* U+009B begins an escape sequence on some terminals */
        {"re\xC2\xADnew\xEF\xBB\xBF!", 11, "renew!"}, /* soft hyphen and byte order mark */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_buffer out = {0};
        aoe_error err;
        assert_int_equal(aoei_clean_text(&out, (aoe_text){cases[i].from, cases[i].len}, &err), 0);
        if (out.len != strlen(cases[i].to) || memcmp(out.data, cases[i].to, out.len) != 0)
            fail_msg("case %zu: expected '%s', found '%.*s'", i, cases[i].to, (int)out.len, out.data);
        aoei_buffer_free(&out);
    }
}

/* Random bytes become valid UTF-8 without control characters, with the same number of lines. */
static void test_random_bytes(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        char bytes[60];
        size_t len = (size_t)round % sizeof bytes, lines = 0, found = 0;
        for (size_t i = 0; i < len; i++) {
            seed = seed * 1664525u + 1013904223u;
            const unsigned b = seed >> 24;
            bytes[i] = (char)(round % 3 == 0 ? b : round % 3 == 1 ? b % 16 : 0xC0 + b % 64);
        }
        for (size_t i = 0; i < len; i++)
            lines += bytes[i] == '\r' || (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r'));
        aoei_buffer out = {0};
        aoe_error err;
        assert_int_equal(aoei_clean_text(&out, (aoe_text){bytes, len}, &err), 0);
        assert_int_equal(aoei_utf8_valid(out.data, out.len), out.len);
        for (size_t i = 0; i < out.len; i++) {
            found += out.data[i] == '\n';
            assert_true((unsigned char)out.data[i] >= ' ' || out.data[i] == '\n' || out.data[i] == '\t');
        }
        assert_int_equal(found, lines);
        aoei_buffer_free(&out);
    }
}

static void test_shorten(void **state) {
    (void)state;
    aoei_buffer text = {0};
    char *data = malloc(10000);
    assert_int_equal(aoei_shorten_data(&text, 0), 0); /* no memory */
    memset(data, 'x', 10000);
    aoei_buffer_append(&text, "begin ", 6);
    aoei_buffer_append(&text, data, AOEI_LONGEST_RUN + 4); /* not longer than the marker */
    aoei_buffer_append(&text, "\n", 1);
    assert_int_equal(aoei_shorten_data(&text, 0), 0);
    assert_int_equal(text.len, 7 + AOEI_LONGEST_RUN + 4);
    aoei_buffer_append(&text, data, 5000);
    aoei_buffer_append(&text, " end\n", 5);
    assert_int_equal(aoei_shorten_data(&text, 0), 5000 - AOEI_LONGEST_RUN - 4);
    assert_string_equal(text.data + 7 + AOEI_LONGEST_RUN + 4 + AOEI_LONGEST_RUN - 1, "x ... end\n");
    aoei_buffer_clear(&text);
    for (int i = 0; i < 1000; i++)
        aoei_buffer_append(&text, "\xE6\x97\xA5", 3); /* a long Japanese text */
    assert_int_equal(aoei_shorten_data(&text, 0), 0);
    assert_int_equal(aoei_shorten_data(&text, 1000), 3000 - 1002 - 4); /* not inside a character */
    assert_int_equal(aoei_utf8_valid(text.data, text.len), text.len);
    assert_string_equal(text.data + 999, "\xE6\x97\xA5 ...");
    aoei_buffer_free(&text);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean), cmocka_unit_test(test_random_bytes),
                                       cmocka_unit_test(test_shorten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
