/* SPDX-License-Identifier: MIT
 * Tests patterns of .gitignore files. The cases follow gitignore(5); git check-ignore gives the same answers for all of
 * them, except for `?` and sets with characters that are not ASCII, which git compares byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "document/ignore.h"

/* Compares a path with the patterns in `patterns`, one per line. A path that ends with a slash is a directory. */
static aoei_ignore_match find(const char *patterns, const char *path) {
    aoei_ignore list = {.n = 0};
    aoe_error err = {0};
    assert_int_equal(aoei_ignore_add_file(&list, aoe_text_of(patterns), "f", &err), 0);
    const size_t len = strlen(path);
    const int is_dir = len && path[len - 1] == '/';
    const aoei_ignore_match result = aoei_ignore_find(&list, (aoe_text){path, len - (size_t)is_dir}, is_dir);
    aoei_ignore_free(&list);
    return result;
}

typedef struct example {
    const char *patterns;
    const char *matching[6]; /* paths that are excluded */
    const char *other[6];    /* paths that no pattern matches */
} example;

static void check(const example *e, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 6 && e[i].matching[k]; k++)
            if (find(e[i].patterns, e[i].matching[k]) != AOEI_IGNORE_EXCLUDED)
                fail_msg("'%s' does not match '%s'", e[i].patterns, e[i].matching[k]);
        for (size_t k = 0; k < 6 && e[i].other[k]; k++)
            if (find(e[i].patterns, e[i].other[k]) != AOEI_IGNORE_NONE)
                fail_msg("'%s' matches '%s'", e[i].patterns, e[i].other[k]);
    }
}
#define CHECK(cases) check(cases, sizeof cases / sizeof *cases)

static void names_and_anchors(void **state) {
    (void)state;
    static const example cases[] = {
        {"foo", {"foo", "foo/", "a/foo", "a/b/foo/"}, {"food", "a/food", "foo.c"}},
        {"/foo", {"foo", "foo/"}, {"a/foo"}},
        {"foo/", {"foo/", "a/foo/"}, {"foo", "a/foo"}},
        {"/foo/", {"foo/"}, {"foo", "foobar/", "a/foo/"}},
        {"doc/frotz", {"doc/frotz"}, {"a/doc/frotz", "frotz"}},
        {"doc/frotz/", {"doc/frotz/"}, {"a/doc/frotz/", "doc/frotz"}},
        {"foo//", {NULL}, {"foo", "foo/"}},
        {"/", {NULL}, {"a", "a/"}},
        {"", {NULL}, {"a", ""}},
    };
    CHECK(cases);
}

static void wildcards(void **state) {
    (void)state;
    static const example cases[] = {
        {"*.o", {"a.o", ".o", "x/y.o", "a.o.o"}, {"a.op", "ao"}},
        {"*", {"a", "a/b/", ".x"}, {NULL}},
        {"foo/*", {"foo/a", "foo/a/"}, {"foo/a/b", "foo"}},
        {"a*b*c", {"abc", "aXbYc", "abbcc", "abcbc"}, {"ab", "acb", "abcd"}},
        {"/*.c", {"a.c"}, {"x/a.c"}},
        {"a?c",
         {"abc", "a.c",
          "a\xc3\xa4"
          "c"},
         {"ac", "abbc"}},
        {"a?c/d", {"abc/d"}, {"a/c/d"}},
        {"[abc]x", {"ax", "cx"}, {"dx", "x"}},
        {"[a-c]x", {"ax", "bx"}, {"-x", "dx"}},
        {"[!a-c]x", {"dx", "-x"}, {"ax"}},
        {"[^a]x", {"bx"}, {"ax"}},
        {"[]a]", {"]", "a"}, {"b"}},
        {"[!]a]", {"b"}, {"]", "a"}},
        {"[a-]", {"a", "-"}, {"b"}},
        {"[\\]]", {"]"}, {"\\"}},
        {"[[:digit:][:upper:]_]", {"0", "A", "_"}, {"a", ":"}},
        {"[[:space:]]x", {" x", "\tx"}, {"x"}},
        {"[[:x]", {"[", ":", "x"}, {"a"}},
        {"[\xc3\xa0-\xc3\xa9]", {"\xc3\xa4"}, {"\xc3\xb6", "\xc3"}},
        {"x[/]y", {NULL}, {"x/y", "xy"}},
    };
    CHECK(cases);
}

static void any_number_of_folders(void **state) {
    (void)state;
    static const example cases[] = {
        {"**/foo", {"foo", "a/foo", "a/b/foo/"}, {"afoo"}},
        {"**/foo/bar", {"foo/bar", "a/foo/bar"}, {"foo/a/bar"}},
        {"abc/**", {"abc/a", "abc/a/b"}, {"abc", "abc/", "x/abc/a"}},
        {"a/**/b", {"a/b", "a/x/b", "a/x/y/b"}, {"ab", "a/xb", "x/a/b"}},
        {"a/**/b/**/c", {"a/b/c", "a/x/b/y/z/c", "a/b/b/c"}, {"a/c", "a/b"}},
        {"a/**/b/*/c", {"a/b/x/c", "a/b/b/x/c", "a/b/x/b/y/c"}, {"a/b/c"}},
        {"**", {"a", "a/b"}, {NULL}},
        {"**/", {"a/", "a/b/"}, {"a", "a/b"}},
        {"a**/b", {"ax/b", "a/b"}, {"a/x/b"}},
        {"***/b", {"b", "a/x/b"}, {NULL}},
        {"x**y", {"xy", "xaby"}, {"x/y"}},
    };
    CHECK(cases);
}

static void escapes_comments_and_spaces(void **state) {
    (void)state;
    static const example cases[] = {
        {"# a\n\\#b", {"#b"}, {"# a", "a"}},
        {"\\!a", {"!a"}, {"a"}},
        {"\\*", {"*"}, {"a"}},
        {"a\\\\b", {"a\\b"}, {"ab"}},
        {"a\\/b", {"a/b"}, {"x/a/b"}},
        {"a  ", {"a"}, {"a "}},
        {"a\\ ", {"a "}, {"a"}},
        {"a b", {"a b"}, {"a"}},
        {"a\t", {"a\t"}, {"a"}},
        {"\xef\xbb\xbf"
         "a\r\nb\r\n\r\n",
         {"a", "b"},
         {"a\r", "\r"}},
        /* invalid patterns match nothing */
        {"a\\", {NULL}, {"a", "a\\"}},
        {"[a", {NULL}, {"[a", "a"}},
        {"[[:letter:]]", {NULL}, {"a", "l"}},
    };
    CHECK(cases);
}

static void last_pattern_wins(void **state) {
    (void)state;
    assert_int_equal(find("*.md\n!a.md", "a.md"), AOEI_IGNORE_INCLUDED);
    assert_int_equal(find("*.md\n!a.md", "b.md"), AOEI_IGNORE_EXCLUDED);
    assert_int_equal(find("!a.md\n*.md", "a.md"), AOEI_IGNORE_EXCLUDED);
    assert_int_equal(find("/*\n!/foo/", "foo/"), AOEI_IGNORE_INCLUDED);
    assert_int_equal(find("/*\n!/foo/", "foo"), AOEI_IGNORE_EXCLUDED);
    assert_int_equal(find("!", "a"), AOEI_IGNORE_NONE);
}

/* A long pattern is an error that names the line; the patterns before it stay. */
static void rejects_long_patterns(void **state) {
    (void)state;
    aoei_ignore list = {.n = 0};
    aoe_error err = {0};
    char *text = malloc(AOEI_IGNORE_LONGEST + 4);
    assert_non_null(text);
    memset(text, 'x', AOEI_IGNORE_LONGEST + 4);
    memcpy(text, "a\n", 2);
    assert_int_equal(aoei_ignore_add_file(&list, (aoe_text){text, AOEI_IGNORE_LONGEST + 2}, "f", &err), 0);
    assert_int_equal(list.n, 2);
    assert_int_equal(aoei_ignore_add_file(&list, (aoe_text){text, AOEI_IGNORE_LONGEST + 3}, "f", &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "f:2: a pattern has 4097 bytes"));
    assert_int_equal(list.n, 3);
    free(text);
    aoei_ignore_free(&list);
}

/* Patterns for which recursive comparisons need exponential time. */
static void takes_no_exponential_time(void **state) {
    (void)state;
    char pattern[300] = "", path[600] = "", deep[300] = "";
    for (int i = 0; i < 60; i++)
        strcat(pattern, "a*");
    strcat(pattern, "b");
    for (int i = 0; i < 250; i++)
        strcat(path, "a");
    for (int i = 0; i < 40; i++)
        strcat(deep, "**/a/");
    strcat(deep, "b");
    const double start = aoei_now();
    assert_int_equal(find(pattern, path), AOEI_IGNORE_NONE);
    for (int i = 0; i < 500; i++)
        path[i] = i % 2 ? '/' : 'a';
    path[499] = 0;
    assert_int_equal(find(deep, path), AOEI_IGNORE_NONE);
    path[498] = 'b';
    assert_int_equal(find(deep, path), AOEI_IGNORE_EXCLUDED);
    assert_true(aoei_now() - start < 1);
}

static int add_two(void *arg) {
    (void)arg;
    aoei_ignore list = {.n = 0};
    aoe_error err = {0};
    const int code = aoei_ignore_add_file(&list, aoe_text_of("a/*/b\n!c\n"), "f", &err);
    assert_int_equal(code, err.code);
    aoei_ignore_free(&list);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    assert_true(test_alloc_failures(add_two, NULL, 0) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_anchors),         cmocka_unit_test(wildcards),
        cmocka_unit_test(any_number_of_folders),     cmocka_unit_test(escapes_comments_and_spaces),
        cmocka_unit_test(last_pattern_wins),         cmocka_unit_test(rejects_long_patterns),
        cmocka_unit_test(takes_no_exponential_time), cmocka_unit_test(survives_failed_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
