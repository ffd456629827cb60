/* SPDX-License-Identifier: MIT
 * covers: tokenizer/pattern_syntax
 * Tests the regular expressions of tokenizer files. They have the syntax of Oniguruma, and PCRE2 executes them. The
 * tests cover the matches in a text, expressions that Oniguruma and PCRE2 interpret differently, and expressions that
 * must be rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/support.h"
#include "tokenizer/pattern.h"

/* Returns the CPU time of the process in seconds. Unlike wall-clock time, CPU time does not depend on other
 * processes. */
static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Returns the matches of p in s [len], joined with '|'. The result is in static memory and is valid until the next
 * call. */
static const char *matches(const aoei_pattern *p, const char *s, size_t len) {
    static char out[4096];
    aoei_pattern_search search = {0};
    size_t at = 0, start, end;
    int rc;
    out[0] = 0;
    aoei_pattern_begin(&search, p, s, len);
    while ((rc = aoei_pattern_next(&search, &start, &end, NULL)) > 0)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s", search.n_matches > 1 || at ? "|" : "",
                               (int)(end - start), s + start);
    assert_int_equal(rc, 0);
    aoei_pattern_end(&search);
    return out;
}

static void expect(const char *expression, const char *s, const char *want) {
    aoei_pattern p = {0};
    aoe_error err = {0};
    if (aoei_pattern_regex(&p, expression, strlen(expression), &err))
        fail_msg("%s", err.message);
    const char *got = matches(&p, s, strlen(s));
    if (strcmp(got, want) != 0)
        fail_msg("\"%s\" matches \"%s\" in \"%s\", expected \"%s\"", expression, got, s, want);
    aoei_pattern_free(&p);
}

static void test_matches(void **state) {
    (void)state;
    expect("a+", "aabab", "aa|a");
    expect("'s|'t| ?\\p{L}+", "it's d\xc3\xa9j\xc3\xa0 vu", "it|'s| d\xc3\xa9j\xc3\xa0| vu");
    expect("\\s+(?!\\S)|\\s+", "a   b  ", "  | |  ");
    expect("\\p{N}{1,3}", "12345", "123|45");
    expect("(?i:'s|'LL)", "'S'll's", "'S|'ll|'s");
    expect("(?i)ab|C", "ABc", "AB|c");
    expect("x*", "axb", "|x|");  /* directly after the match "x", there is no empty match */
    expect("", "\xc3\xa9", "|"); /* an empty expression matches before and after the character, but not between its
                                    bytes */
    expect("^b|a$", "a\nb\na", "a|b|a"); /* ^ and $ match at the start and end of every line */
    expect(".", "a\n\r", "a|\r");
    expect("(?m:.)", "a\n", "a|\n");
    expect("[^\\r\\n\\p{L}\\p{N}]?\\p{L}+", "-ab c1d", "-ab| c|d");
    expect("(?<=a)b(?=c)", "abcb", "b");
    /* a combining mark is a word character, so there is no word boundary between "ab" and the mark */
    expect("\\bab\\b", "ab cab ab\xcc\x81 ab", "ab|ab");
    expect("\\Bb", "ab b", "b");
}

static void test_classes(void **state) {
    (void)state;
    /* U+0085 and U+3000 are white space, but U+180E is not */
    expect("\\s", "\xe1\xa0\x8e \xc2\x85\xe3\x80\x80", " |\xc2\x85|\xe3\x80\x80");
    expect("[\\s]", "\xe1\xa0\x8e\xc2\xa0", "\xc2\xa0");
    expect("\\S", "\xe1\xa0\x8e ", "\xe1\xa0\x8e");
    expect("[\\S]", "\xe2\x80\xaf\xe1\xa0\x8e", "\xe1\xa0\x8e");
    expect("[^\\S]", "a\xe2\x80\xa8", "\xe2\x80\xa8");
    expect("\\w+", "a_1\xcc\x81\xe2\x82\xac", "a_1\xcc\x81"); /* marks and connectors are word characters */
    expect("[^\\w]", "a\xcc\x81-", "-");
    expect("\\W", "a\xcc\x81-", "-");
    expect("\\h+", "xaF0g", "aF0");
    expect(" ?[^(\\s|[.,!?])]+", "(ab |cd.) e", "ab|cd| e"); /* a class inside a class adds its members to the outer
                                                                class */
    expect("[a[bc]d]+", "xabcd]", "abcd");
    expect("\\d+", "1\xd9\xa1x", "1\xd9\xa1");
    expect("\\D", "1x", "x");
    expect("[\\s-x]", "-y x", "-| |x"); /* after a class such as \s, the character - is a literal and does not form a
                                           range */
    expect("[[:alpha:]]+",
           "a\xc3\xa9"
           "1",
           "a\xc3\xa9");
    expect("[[:space:][:digit:]]+", "a 1", " 1");
    expect("\\p{Letter}+|\\P{L}", "ab1", "ab|1");
    expect("\\p{^L}", "a1", "1");
    expect("\\p{Han}+", "a\xe4\xb8\xad\xe3\x80\x81\xe6\x96\x87",
           "\xe4\xb8\xad|\xe6\x96\x87"); /* U+3001 does not match, because its script is Common */
    expect("\\p{Lu}", "aB", "B");
    expect("[\\u4e00-\\u9fff]", "a\xe4\xb8\xad", "\xe4\xb8\xad");
    expect("\\x{4e2d}|\\x41", "A\xe4\xb8\xad", "A|\xe4\xb8\xad");
    expect("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]", "a]b[-", "]|[|-");
}

static void test_repetitions(void **state) {
    (void)state;
    expect("a{2}", "aaaaa", "aa|aa");
    expect("a{,2}b", "aaab", "aab");
    expect("a{2,}?", "aaaa", "aa|aa");
    expect("a{1,2}+b", "aaaab", "aaaab"); /* the + repeats a{1,2}; it does not make the repetition possessive */
    expect("(?:ab){1,2}+c", "ababababc", "ababababc");
    expect("[ab]{1,2}+c", "abbac", "abbac");
    expect("a++a", "aaa", "");
    expect("a?+a", "a", "");
    expect("a+?", "aa", "a|a");
    expect("a{1,2}{2}b", "aaaab", "aaaab");
    expect("a+{2}b", "aab", "aab");
    expect("x{a}{", "x{a}{", "x{a}{");
    expect("x}", "x}", "x}");
}

static void expect_rejected(const char *expression, const char *why) {
    aoei_pattern p = {0};
    aoe_error err = {0};
    if (aoei_pattern_regex(&p, expression, strlen(expression), &err) != AOE_EUNSUPPORTED)
        fail_msg("\"%s\": expected AOE_EUNSUPPORTED", expression);
    if (!strstr(err.message, why) || !strstr(err.message, expression))
        fail_msg("error message \"%s\": expected \"%s\" and \"%s\"", err.message, why, expression);
    aoei_pattern_free(&p);
}

static void test_rejected(void **state) {
    (void)state;
    expect_rejected("a\\", "backslash at the end");
    expect_rejected("(a", "not closed");
    expect_rejected("a)", "closing parenthesis");
    expect_rejected("[a", "closing bracket");
    expect_rejected("[]a]", "closing bracket at the start");
    expect_rejected("[a[^bc]]", "nested brackets");
    expect_rejected("[a-[b]]", "nested brackets");
    expect_rejected("[[a]-b]", "nested brackets");
    expect_rejected("[a[]", "nested brackets");
    expect_rejected("[a[b]", "closing bracket");
    expect_rejected("[a-z&&b]", "&&");
    expect_rejected("[\\W]", "\\W between brackets");
    expect_rejected("[[:punct:]]", "[:class:]");
    expect_rejected("\\pL", "\\p{...}");
    expect_rejected("\\p{L=1}", "property name");
    expect_rejected("\\p{Nonsense}", "\\p{Nonsense}");
    expect_rejected("\\1", "escape");
    expect_rejected("\\k<a>", "escape");
    expect_rejected("\\xE9", "bytes above");
    expect_rejected("\\x{41 42}", "more than one");
    expect_rejected("\\u41", "code point");
    expect_rejected("(?<n>a)", "a group other than");
    expect_rejected("(?x:a)", "a group other than");
    expect_rejected("a(?i)b|c", "options");
    expect_rejected("(*FAIL)", "(*...)");
    expect_rejected("(?#x)", "comments");
    expect_rejected("*", "a quantifier without");
    expect_rejected("(|+)", "a quantifier without");
    expect_rejected("a{2}?", "{n}?");
    expect_rejected("a{70000}", "a{70000}");
    expect_rejected("(?<=a+)b", "(?<=a+)b");
    char deep[80];
    memset(deep, '(', 40);
    memset(deep + 40, ')', 39);
    deep[79] = 0;
    expect_rejected(deep, "32 deep");
}

static void test_literal(void **state) {
    (void)state;
    aoei_pattern p = {0};
    assert_int_equal(aoei_pattern_literal(&p, ".*", 2, NULL), 0);
    assert_string_equal(matches(&p, "a.*.*b.", 7), ".*|.*");
    assert_string_equal(matches(&p, "", 0), "");
    aoei_pattern_free(&p);
    assert_int_equal(aoei_pattern_literal(&p, "\0", 1, NULL), 0);
    assert_string_equal(matches(&p, "a\0b", 3), "");
    aoei_pattern_free(&p);
    assert_int_equal(aoei_pattern_literal(&p, "", 0, NULL), 0);
    assert_string_equal(matches(&p, "ab", 2), "||");
    aoei_pattern_free(&p);
}

/* Tests that matching 1 MiB of one repeated character takes linear time, and that matching ends with an error if an
 * expression would backtrack exponentially. */
static void test_time(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    static const char llama3[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                                 "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                                 "\\s+(?!\\S)|\\s+";
    char *text = malloc(SIZE);
    assert_non_null(text);
    static const char fill[] = {'a', ' ', '\n', '!', '1'};
    aoei_pattern p = {0};
    assert_int_equal(aoei_pattern_regex(&p, llama3, sizeof llama3 - 1, NULL), 0);
    const double begin = cpu_seconds();
    for (size_t i = 0; i < sizeof fill; i++) {
        aoei_pattern_search search = {0};
        size_t start, end;
        memset(text, fill[i], SIZE);
        aoei_pattern_begin(&search, &p, text, SIZE);
        while (aoei_pattern_next(&search, &start, &end, NULL) > 0)
            assert_true(end > start);
        assert_int_equal(search.n_matches, fill[i] == '1' ? SIZE / 3 + 1 : 1);
        aoei_pattern_end(&search);
    }
    assert_true(cpu_seconds() - begin < 20.0);
    aoei_pattern_free(&p);
    aoei_pattern_search search = {0};
    aoe_error err = {0};
    size_t start, end;
    assert_int_equal(aoei_pattern_regex(&p, "(a|aa)+[bc]", 11, NULL), 0);
    memset(text, 'a', 4096);
    aoei_pattern_begin(&search, &p, text, 4096);
    assert_int_equal(aoei_pattern_next(&search, &start, &end, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "match limit"));
    aoei_pattern_end(&search);
    aoei_pattern_free(&p);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),  cmocka_unit_test(test_classes), cmocka_unit_test(test_repetitions),
        cmocka_unit_test(test_rejected), cmocka_unit_test(test_literal), cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
