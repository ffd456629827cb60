/* SPDX-License-Identifier: MIT
 * Tests the outline of Markdown and of plain text: headings, code blocks, tables, front matter, and weights of breaks.
 */
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "document/markdown_outline.h"

static void read_text(aoei_outline *o, const char *text, int markdown) {
    aoe_error err;
    *o = (aoei_outline){0};
    assert_int_equal(aoei_buffer_append(&o->text, text, strlen(text)), 0);
    if (markdown ? aoei_markdown_outline(o, &err) : aoei_text_outline(o, &err))
        fail_msg("%s", err.message);
}

/* Line of the outline with this line number. */
static const aoei_outline_line *at(const aoei_outline *o, uint32_t line) {
    for (size_t i = 0; i < o->n_lines; i++)
        if (o->line[i].line == line)
            return &o->line[i];
    fail_msg("line %u is not in the outline", line);
    return NULL;
}

static void check_path(const aoei_outline *o, uint32_t line, const char *path) {
    char found[240];
    aoei_outline_path(o, o->title, at(o, line)->section, found, sizeof found);
    assert_string_equal(found, path);
}

static void test_headings(void **state) {
    (void)state;
    aoei_outline o;
    read_text(&o,
              "Before.\n# One ##\n\nText.\n\nTwo `code`\n---\n\n### Three\n#no heading\n    # code\n####### seven\n"
              "# <a name=\"x\"></a>Four [link](http://x) {#id}\n####\nEnd\n===\n- item\n---\n\nlong\nparagraph\n---\n",
              1);
    check_path(&o, 1, "");
    check_path(&o, 4, "One");
    check_path(&o, 6, "One > Two code");
    check_path(&o, 7, "One > Two code");
    check_path(&o, 10, "One > Two code > Three");
    check_path(&o, 11, "One > Two code > Three");
    check_path(&o, 12, "One > Two code > Three");
    check_path(&o, 13, "Four link");
    check_path(&o, 14, "Four link");
    check_path(&o, 17, "End");
    check_path(&o, 22, "End"); /* a paragraph of two lines is no heading */
    assert_int_equal(at(&o, 2)->weight, AOEI_BREAK_HEADING + 25);
    assert_int_equal(at(&o, 6)->weight, AOEI_BREAK_HEADING + 20);
    assert_int_equal(at(&o, 7)->weight, AOEI_BREAK_BAD); /* the underline, and the line below a heading */
    assert_int_equal(at(&o, 4)->weight, AOEI_BREAK_BAD);
    assert_int_equal(at(&o, 9)->weight, AOEI_BREAK_BAD); /* a lower heading directly below a heading */
    assert_true(at(&o, 2)->flags & AOEI_LINE_FRESH);
    assert_true(at(&o, 18)->flags & AOEI_LINE_RULE);
    aoei_outline_free(&o);
}

static void test_blocks(void **state) {
    (void)state;
    aoei_outline o;
    read_text(&o,
              "Text.\n\n````c\n# code\n```\n\n# code\n````\nAfter:\n~~~\n~~~\n\n    indented\n\n    more\nNot.\n\n"
              "- item\n\n    of the item\n\nEnd.\n\n| a | b |\n| - | - |\n| 1 | 2 |\nText.\n\nx | y\n--|--\n1 | 2\n\n"
              "```\nopen",
              1);
    const uint32_t fence = at(&o, 3)->block;
    assert_int_not_equal(fence, 0);
    for (uint32_t i = 4; i <= 8; i++)
        if (i != 6)
            assert_int_equal(at(&o, i)->block, fence);
    assert_int_equal(o.n_sections, 1); /* no heading in a fence */
    assert_int_equal(at(&o, 9)->block, 0);
    assert_int_not_equal(at(&o, 10)->block, fence);
    assert_int_equal(at(&o, 3)->weight, AOEI_BREAK_BLOCK);
    assert_int_equal(at(&o, 9)->weight, AOEI_BREAK_BLOCK);
    assert_int_equal(at(&o, 10)->weight, AOEI_BREAK_INTRO);
    assert_int_not_equal(at(&o, 13)->block, 0);
    assert_int_equal(at(&o, 13)->block, at(&o, 15)->block);
    assert_int_equal(at(&o, 16)->block, 0);
    assert_int_equal(at(&o, 20)->block, 0); /* indented text of an item */
    assert_int_not_equal(at(&o, 24)->block, 0);
    assert_int_equal(at(&o, 24)->block, at(&o, 26)->block);
    assert_int_equal(at(&o, 27)->block, 0);
    assert_int_not_equal(at(&o, 29)->block, 0); /* a table without outer bars */
    assert_int_equal(at(&o, 29)->block, at(&o, 31)->block);
    assert_int_not_equal(at(&o, 34)->block, 0); /* an open fence ends at the end */
    assert_int_equal(o.n_blocks, 6);
    aoei_outline_free(&o);
}

/* The order of weights: heading, fence, blank line, item, end of a sentence, line. */
static void test_weights(void **state) {
    (void)state;
    aoei_outline o;
    read_text(&o, "First\nsecond.\nThird\n\nfourth\n```\n```\n\n###### Six\n\nx\n- item\n", 1);
    const int order[] = {at(&o, 9)->weight, at(&o, 6)->weight, at(&o, 5)->weight, at(&o, 12)->weight,
                         at(&o, 3)->weight, at(&o, 2)->weight, at(&o, 11)->weight};
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        assert_true(order[i] < order[i - 1]);
    aoei_outline_free(&o);
}

static void test_front_matter(void **state) {
    (void)state;
    static const struct {
        const char *text, *title;
        uint32_t first;
    } cases[] = {
        {"---\ntitle: 'My  notes'\ntags:\n- a\n  b: c\n---\n\nText\n", "My notes", 8},
        {"+++\n# comment\ntitle = \"T\"\n+++\nText\n", "T", 5},
        {"---\ndate: 2020\n...\nText\n", NULL, 4},
        {"---\nNo key.\n---\nText\n", NULL, 1},
        {"---\n# Heading\n---\nText\n", NULL, 1},
        {"---\ntitle: open\nText\n", NULL, 1},
        {"\n---\ntitle: late\n---\nText\n", NULL, 2},
        {"---\ntitle: alone\n---\n", NULL, 1},
        {"---\ntitle:\nsubtitle: x\n---\nText\n", NULL, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_outline o;
        read_text(&o, cases[i].text, 1);
        if (o.line[0].line != cases[i].first || (o.title == NULL) != (cases[i].title == NULL) ||
            (o.title && strcmp(o.title, cases[i].title) != 0))
            fail_msg("case %zu: first line %u, title '%s'", i, o.line[0].line, o.title ? o.title : "");
        aoei_outline_free(&o);
    }
}

static void test_plain_text(void **state) {
    (void)state;
    aoei_outline o;
    read_text(
        &o,
        "=====\nTitle\n=====\n\nText.\n\nPart\n----\n\n# no heading\n\nOther\n~~~~~\nEnd.\n\nLast\n====\n\na\nb\n---\n",
        0);
    check_path(&o, 5, "Title");
    check_path(&o, 10, "Title > Part");
    check_path(&o, 14, "Title > Part > Other");
    check_path(&o, 16, "Last");
    check_path(&o, 20, "Last");
    aoei_outline_free(&o);
}

/* Titles and paths that are too long are truncated between characters. */
static void test_paths(void **state) {
    (void)state;
    aoei_outline o = {0};
    aoe_error err;
    uint32_t section = 0;
    char path[240], title[16];
    assert_int_equal(aoei_outline_lines(&o, &err), 0);
    for (uint32_t i = 1; i <= 6; i++)
        assert_int_equal(aoei_outline_section(&o, section, i, " \xC3\xA4\xC3\xB6  b\n", 8, &section, &err), 0);
    aoei_outline_path(&o, "first", section, path, sizeof path);
    assert_string_equal(path,
                        "first > \xC3\xA4\xC3\xB6 b > \xC3\xA4\xC3\xB6 b > \xC3\xA4\xC3\xB6 b > \xC3\xA4\xC3\xB6 b > "
                        "\xC3\xA4\xC3\xB6 b > \xC3\xA4\xC3\xB6 b");
    aoei_outline_path(&o, "first", section, path, 30);
    assert_string_equal(path, "first > \xC3\xA4\xC3\xB6 b > \xC3\xA4\xC3\xB6 b");
    assert_int_equal(aoei_outline_section(&o, 0, 1, "Setup", 5, &section, &err), 0);
    static const char *const repeats[] = {"Setup", "Setup - Manual", "Manual | Setup", "Setup: all",
                                          "A \xE2\x80\x94 Setup"};
    for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) {
        aoei_outline_path(&o, repeats[i], section, path, sizeof path);
        assert_string_equal(path, repeats[i]);
    }
    aoei_outline_path(&o, "Setup guide", section, path, sizeof path);
    assert_string_equal(path, "Setup guide > Setup");
    aoei_outline_path(&o, NULL, 0, path, sizeof path);
    assert_string_equal(path, "");
    aoei_outline_title("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 16, title, 16);
    assert_string_equal(title, "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4...");
    aoei_outline_title("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4 ", 15, title, 16);
    assert_string_equal(title, "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4");
    aoei_outline_title("\n \t", 3, title, 16);
    assert_string_equal(title, "");
    aoei_outline_free(&o);
    assert_int_equal(aoei_alloc_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headings),     cmocka_unit_test(test_blocks),     cmocka_unit_test(test_weights),
        cmocka_unit_test(test_front_matter), cmocka_unit_test(test_plain_text), cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
