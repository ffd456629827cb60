/* SPDX-License-Identifier: MIT
 * covers: base/hit_lines base/plain_number
 * Tests which parts of a text match the words of a query: with case, diacritics, parts of identifiers, stems, and
 * beginnings of words; and the lines and numbers of passages.
 */
#include "base/query_words.h"

#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/hit_lines.h"
#include "base/plain_number.h"

/* Checks the matches of words, which are in brackets in `expected`; those of beginnings are in braces. */
static void check(const char *const *terms, size_t n_terms, int stems, const char *query, const char *text,
                  const char *expected) {
    const aoe_index_hits found = {.struct_size = sizeof found, .term = terms, .n_terms = n_terms, .stems = stems};
    aoei_query_words w;
    aoei_word_match *match;
    aoe_error err = {0};
    char shown[256] = "";
    size_t n, at = 0, len = 0;
    assert_int_equal(aoei_query_words_create(&w, &found, aoe_text_of(query), &err), 0);
    assert_int_equal(aoei_query_words_find(&w, aoe_text_of(text), &match, &n, &err), 0);
    for (size_t i = 0; i < n; i++) {
        const int is_word = match[i].term < w.n_words;
        assert_true(match[i].start >= at && match[i].end > match[i].start);
        len += (size_t)snprintf(shown + len, sizeof shown - len, "%.*s%c%.*s%c", (int)(match[i].start - at), text + at,
                                is_word ? '[' : '{', (int)(match[i].end - match[i].start), text + match[i].start,
                                is_word ? ']' : '}');
        at = match[i].end;
    }
    snprintf(shown + len, sizeof shown - len, "%s", text + at);
    assert_string_equal(shown, expected);
    aoei_free(match);
    aoei_query_words_free(&w);
}

static void test_words(void **state) {
    (void)state;
    static const char *const terms[] = {"cafe", "read"};
    check(terms, 2, 0, "", "", "");
    check(terms, 2, 0, "", "the Café, cafes; READ_file readFile unread",
          "the [Café], cafes; [READ]_file [read]File unread");
    check(terms, 0, 0, "", "nothing to find", "nothing to find");
    check(terms, 2, 0, "",
          "\xff"
          "cafe\xc3",
          "\xff"
          "[cafe]\xc3");
    check(terms + 1, 1, 1, "", "reading, reader, reads", "[reading], reader, [reads]");
    check(terms + 1, 1, 0, "removal", "it removed what was read", "it {remo}ved what was [read]");
    static const char *const characters[] = {"\xe7\x8c\xab"};
    check(characters, 1, 0, "", "\xe9\xbb\x91\xe7\x8c\xab\xe3\x81\xa8", "\xe9\xbb\x91[\xe7\x8c\xab]\xe3\x81\xa8");
}

static void test_boundaries(void **state) {
    (void)state;
    uint32_t c;
    assert_true(aoei_is_word_boundary('a', ' ') && aoei_is_word_boundary('a', 'B') && !aoei_is_word_boundary('a', 'b'));
    assert_true(aoei_is_word_char('7') && !aoei_is_word_char('-'));
    assert_int_equal(aoei_word_decode((aoe_text){"\xc3\xa9", 2}, 0, &c), 2);
    assert_int_equal(c, 0xe9);
    assert_int_equal(aoei_word_decode((aoe_text){"a\xff", 2}, 1, &c), 1);
    assert_int_equal(c, 0xfffd);
}

static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *name, *path;
        size_t first, last;
        int is_document;
    } cases[] = {
        {"a", NULL, 3, 4, 1},
        {"docs/a.md", "/home/u/docs/a.md", 3, 4, 1},
        {"t.csv:17", "/home/u/t.csv", 17, 17, 0},
        {"id-7", "/home/u/t.csv", 0, 0, 0},
        {"t.csv:x", "/home/u/t.csv", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const aoe_index_hit hit = {.name = cases[i].name, .path = cases[i].path, .line = 3, .last_line = 4};
        size_t first, last;
        assert_int_equal(aoei_hit_lines(&hit, &first, &last), cases[i].is_document);
        assert_int_equal(first, cases[i].first);
        assert_int_equal(last, cases[i].last);
    }
}

static void test_numbers(void **state) {
    (void)state;
    static const char *const numbers[] = {"0", "-1.50", "123456789012345"}, *const texts[] = {"007",
                                                                                              "1234567890123456"};
    for (size_t i = 0; i < 3; i++)
        assert_true(aoei_is_exact_number(aoe_text_of(numbers[i])));
    for (size_t i = 0; i < 2; i++)
        assert_false(aoei_is_exact_number(aoe_text_of(texts[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
