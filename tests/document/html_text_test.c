/* SPDX-License-Identifier: MIT
 * Tests the visible text of HTML: block elements, tables, lists, preformatted text, hidden elements, character
 * references, malformed HTML, line numbers, headings, and the time for deeply nested and repeated tags.
 * covers: document/html_entities document/html_outline
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "document/html_entities.h"
#include "document/html_outline.h"
#include "document/html_text.h"

static void check(const char *html, const char *expected) {
    aoei_html_text h = {0};
    aoe_error err;
    assert_int_equal(aoei_html_text_read(&h, aoe_text_of(html), &err), 0);
    const char *text = h.text.data ? h.text.data : "";
    if (strcmp(text, expected) != 0)
        fail_msg("%s\nexpected '%s'\nfound '%s'", html, expected, text);
    size_t lines = h.text.len > 0;
    for (const char *s = text; *s; s++)
        lines += *s == '\n';
    assert_int_equal(h.n_lines, lines);
    aoei_html_text_free(&h);
}

static void test_blocks(void **state) {
    (void)state;
    check("", "");
    check("  \n ", "");
    check("plain", "plain");
    check("a  b\t c", "a b c");
    check("<p>one</p><p>two</p>three", "one\n\ntwo\n\nthree");
    check("<p>one<p>two", "one\n\ntwo");
    check("<div>a<div>b</div>c</div>", "a\nb\nc");
    check("a<br>b<BR/>c<br>\n<br>d", "a\nb\nc\nd");
    check("one\n  two\n\n\nthree", "one\ntwo\nthree"); /* lines of the source remain */
    check("<h1>A\n<b>big</b>  title</h1><p>x", "A big title\n\nx");
    check("a<b>b</b><i> c </i>d<unknown-element>e</unknown-element>", "ab c de");
    check("a<hr>b", "a\n\nb");
    check("x <img src=a.png alt='the &lt;image>' > y<img alt=\"\">", "x the <image> y");
    check("<dl><dt>T<dd>D<dt>U</dl>", "T\nD\nU");
    check("<ul><li>a<li>b<ol><li>c</li></ol></li><li></ul>after", "- a\n- b\n  - c\n\nafter");
    check("<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ul>", "- a\n\nb");
    check("<select><option>a<option>b</select>", "a\nb");
    check("a\xC2\xA0"
          "b&nbsp;&nbsp;c",
          "a b c");
}

static void test_preformatted(void **state) {
    (void)state;
    check("x<pre>\nint  f;\n  <b>g</b>\tz;\n\n\n\ny\n</pre>after", "x\n\nint  f;\n  g\tz;\n\ny\n\nafter");
    check("<pre>a<br>b\n    c</pre>", "a\nb\n    c");
    check("<textarea> a\n  b</textarea>", " a\n  b");
    check("<xmp><b>\n</b></xmp>", "<b>\n</b>");
}

static void test_tables(void **state) {
    (void)state;
    check("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2\n3</td></tr></table>x", "A | B\n1 | 2 3\n\nx");
    check("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a | b\nc | d"); /* end tags are optional */
    check("<table><tbody><tr><td><p>a</p></td><td><div>b</div></td></tr></tbody></table>", "a | b");
    check("<table><tr><td>a<td><td>c<tr><td><td>d<tr><td><tr><td>e</table>", "a |  | c\nd\ne");
    check("<table><tr><td><h2>T</h2><p>a<p>b</td><td>c</td></tr></table>", "T\n\na\n\nb\n\nc"); /* a layout table */
    check("<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>", "a\n\nb | c\n\nd");
    check("<table><caption>C</caption><tr><td>a</div></td></tr></table>", "C\na");
}

static void test_hidden(void **state) {
    (void)state;
    check("a<script>if (a</b) x = '<p>';</SCRIPT >b<style>p{}</style>c", "abc");
    check("a<!-- <p> -- > x -->b<!-->c<!DOCTYPE x>d<?xml y?>e</ z>f", "abcdef");
    check("<p hidden>x<b>y</b><p>a<span hidden>b<span>c</span>d</span>e", "ae");
    check("a<div style='color:red; DISPLAY : none'>x<div>y</div>z</div>b", "ab");
    check("a<template><div></div></div>x</template>b<svg><text>t</text></svg>c<svg/>d", "abcd");
    check("<noscript><p>x</p></noscript>a<iframe><p></iframe>b<object>x</object>c", "abc");
    check("a<div><span hidden>x</div>b", "a\nb");
    check("<head><title>T</title><meta name=x></head><body>a", "a");
    check("a<script>x", "a");
    check("a<!-- x", "a");
}

static void test_malformed(void **state) {
    (void)state;
    check("a < b && c > d <3 <", "a < b && c > d <3 <");
    check("a<b", "a");
    check("a<p class=\"x", "a");
    check("</p></div></table></nothing>a", "a");
    check("<p><table><tr></p><td>a</table>b", "a\n\nb");
    check("<a href=x>y>z</a>", "y>z");
    check("<a title='>'b=\">\" = c>y</a>", "y");
    check("<h2>open<p>text", "open\n\ntext");
    check("<ul><p>a<li>b</p>c</ul>", "a\n- b\n\nc");
}

static void test_references(void **state) {
    (void)state;
    static const struct {
        const char *s;
        size_t len;
        uint32_t cp;
    } cases[] = {
        {"&amp;", 5, '&'},
        {"&amp", 4, '&'},
        {"&ampx;", 0, 0},
        {"&eacute;x", 8, 0xE9},
        {"&euro;", 6, 0x20AC},
        {"&euro", 0, 0},
        {"&hellip;", 8, 0x2026},
        {"&Scaron;", 8, 0x160},
        {"&#65;", 5, 'A'},
        {"&#65", 4, 'A'},
        {"&#x20ac;", 8, 0x20AC},
        {"&#X41;", 6, 'A'},
        {"&#0;", 4, 0xFFFD},
        {"&#xD800;", 8, 0xFFFD},
        {"&#x110000;", 10, 0xFFFD},
        {"&#99999999999;", 14, 0xFFFD},
        {"&#150;", 6, 0x2013},
        {"&#;", 0, 0},
        {"&#x;", 0, 0},
        {"&", 0, 0},
        {"&nothing;", 0, 0},
        {"&apos;", 6, '\''},
        {"&copy=1", 0, 0},
        {"&zwnj;", 6, 0x200C},
        {"&AElig;", 7, 0xC6},
        {"&thetasym;", 10, 0x3D1},
        {"&ZeroWidthSpace;", 16, 0x200B},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t cp = 0;
        const size_t n = aoei_html_entity(cases[i].s, strlen(cases[i].s), &cp);
        if (n != cases[i].len || (n && cp != cases[i].cp))
            fail_msg("%s: %zu bytes, U+%04X", cases[i].s, n, cp);
    }
    check("&lt;p&gt; &#x1F600; caf&eacute; &shy;&#1;x &bogus; &", "<p> \xF0\x9F\x98\x80 caf\xC3\xA9 x &bogus; &");
}

/* Line numbers, headings, blocks and the title in the outline. */
static void test_outline(void **state) {
    (void)state;
    static const char html[] =
        "<html>\n<title>\n Title &amp; more </title>\n<body>\n<h1>One</h1>\n<p>first\nsecond\n"
        "<h2>Two <a>\xC2\xB6</a></h2>\n<pre>\ncode\n</pre>\n<table>\n<tr><td>a</td>\n<td>b</td>\n"
        "<tr><td>c</table>\n<ul>\n<li>\nitem</ul><h1>Three</h1>";
    static const struct {
        const char *text;
        uint32_t line;
        const char *path;
        int weight;
    } lines[] = {
        {"One", 5, "Title & more > One", AOEI_BREAK_HEADING},
        {"first", 6, "Title & more > One", AOEI_BREAK_BAD},
        {"second", 7, "Title & more > One", AOEI_BREAK_LINE},
        {"Two \xC2\xB6", 8, "Title & more > One > Two", AOEI_BREAK_HEADING + 20},
        {"code", 10, "Title & more > One > Two", AOEI_BREAK_BAD},
        {"a | b", 13, "Title & more > One > Two", AOEI_BREAK_BLOCK},
        {"c", 15, "Title & more > One > Two", AOEI_BREAK_LINE + 4},
        {"- item", 18, "Title & more > One > Two", AOEI_BREAK_BLOCK},
        {"Three", 18, "Title & more > Three", AOEI_BREAK_HEADING + 25},
    };
    aoei_outline o = {0};
    aoe_error err;
    size_t shortened = 1;
    assert_int_equal(aoei_buffer_append(&o.text, html, sizeof html - 1), 0);
    assert_int_equal(aoei_html_outline(&o, &shortened, &err), 0);
    assert_int_equal(shortened, 0);
    assert_string_equal(o.title, "Title & more");
    assert_int_equal(o.n_lines, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < o.n_lines; i++) {
        char path[240];
        const aoei_outline_line *line = &o.line[i];
        assert_int_equal(line->len, strlen(lines[i].text));
        assert_memory_equal(o.text.data + line->start, lines[i].text, line->len);
        aoei_outline_path(&o, o.title, line->section, path, sizeof path);
        assert_string_equal(path, lines[i].path);
        if (line->line != lines[i].line || line->weight != lines[i].weight)
            fail_msg("'%s': line %u, weight %d", lines[i].text, line->line, line->weight);
    }
    assert_int_not_equal(o.line[4].block, 0);
    assert_int_not_equal(o.line[4].block, o.line[5].block);
    assert_int_equal(o.line[5].block, o.line[6].block);
    aoei_outline_free(&o);
    assert_int_equal(aoei_alloc_live(), 0);
}

/* Repeated pieces of HTML take linear time: 1 MB each within the time limit of the tests. */
static void test_linear_time(void **state) {
    (void)state;
    static const char *const pieces[] = {"<div>",   "<p hidden>", "</div>", "<table><tr><td>", "<",    "<!--",
                                         "<a b='",  "&amp",       "<li>",   "<span hidden>",   "<h1>", "<script>",
                                         "<pre>\n", "x\n",        "<title>"};
    const size_t size = TEST_SANITIZED ? 100000 : 1000000;
    char *html = malloc(size + 16);
    assert_non_null(html);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const size_t n = strlen(pieces[i]);
        size_t len = 0;
        for (; len + n < size; len += n)
            memcpy(html + len, pieces[i], n);
        aoei_html_text h = {0};
        aoe_error err;
        assert_int_equal(aoei_html_text_read(&h, (aoe_text){html, len}, &err), 0);
        assert_int_equal(aoei_utf8_valid(h.text.data, h.text.len), h.text.len);
        assert_true(h.text.len <= len);
        aoei_html_text_free(&h);
    }
    free(html);
}

static int read_once(void *arg) {
    aoei_outline o = {0};
    aoe_error err = {0};
    size_t shortened;
    int rc = aoei_buffer_append(&o.text, arg, strlen(arg));
    if (!rc)
        rc = aoei_html_outline(&o, &shortened, &err);
    aoei_outline_free(&o);
    return rc;
}

static void test_failed_allocations(void **state) {
    (void)state;
    assert_true(test_alloc_failures(read_once,
                                    "<title>T</title><h1>a</h1><p>b<table><tr><td>c<td>d</table>"
                                    "<p>0<p>1<p>2<p>3<p>4<p>5<p>6<p>7<p>8<p>9<p>10<p>11<p>12<p>13<p>14<p>15<p>16",
                                    0) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),  cmocka_unit_test(test_preformatted), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_hidden),  cmocka_unit_test(test_malformed),    cmocka_unit_test(test_references),
        cmocka_unit_test(test_outline), cmocka_unit_test(test_linear_time),  cmocka_unit_test(test_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
