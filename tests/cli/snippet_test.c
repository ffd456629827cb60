/* SPDX-License-Identifier: MIT
 * covers: cli/common/visible cli/search/hit_output cli/search/hit_json
 * Tests how passages are printed: escapes of characters that would change a terminal, words of the query, wrapped
 * lines, the choice of rows, links to files, and metadata as JSON.
 */
#include "cli/search/snippet.h"

#include <math.h>
#include <string.h>

#include "../support/support.h"
#include "cli/common/visible.h"
#include "cli/search/hit_output.h"

static const char *query_of_test = ""; /* query whose long words are searched by their beginnings */
static const char *headings_of_test;   /* headings of the passage, or NULL */
static int stems_of_test;              /* 1: words with equal stems match */

/* Checks the snippet of a text. terms: words separated by spaces. Highlighted words are printed in brackets. */
static void check_snippet(const char *text, size_t len, const char *terms, size_t width, size_t rows,
                          const char *expected) {
    aoei_buffer b = {0}, shown = {0};
    char copy[256];
    const char *term[16];
    size_t n = 0;
    aoei_query_words t;
    snprintf(copy, sizeof copy, "%s", terms);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
        term[n++] = w;
    const aoe_index_hits found = {.struct_size = sizeof found, .term = term, .n_terms = n, .stems = stems_of_test};
    cli_query_words(&t, &found, aoe_text_of(query_of_test));
    const cli_snippet o = {.width = width, .rows = rows, .highlight = 1, .terms = &t, .heading = headings_of_test};
    cli_append_snippet(&b, (aoe_text){text, len}, &o);
    for (size_t i = 0; i < b.len; i++) {
        const int on = strncmp(b.data + i, "\033[1;31m", 7) == 0, off = strncmp(b.data + i, "\033[0m", 4) == 0;
        aoei_buffer_putc(&shown, on ? '[' : off ? ']' : b.data[i]);
        i += on ? 6 : off ? 3 : 0;
    }
    assert_string_equal(shown.data ? shown.data : "", expected);
    aoei_buffer_free(&b);
    aoei_buffer_free(&shown);
    aoei_query_words_free(&t);
}

static void check(const char *text, const char *terms, size_t width, size_t rows, const char *expected) {
    check_snippet(text, strlen(text), terms, width, rows, expected);
}

static void test_visible(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
        size_t len;
    } cases[] = {
        {"a\033]0;title\007", "a\\x1b]0;title\\x07", 11},
        {"a\nb\tc\rd", "a\\nb\\tc\\rd", 7},
        {"\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\x7f\\u0080\\u009b\\u009f\xc2\xa0", 9},
        {"\xe2\x80\xa8\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "\\u2028\\u202a\\u202e\\u2066\\u2069", 15},
        {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", 12},
        {"\x9b\xff\xc2", "\\x9b\\xff\\xc2", 3},
        {"nul\0end", "nul\\x00end", 7},
        {"\xc3\xa9\xe9\x83\xa8\xf0\x9f\x98\x80", "\xc3\xa9\xe9\x83\xa8\xf0\x9f\x98\x80", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_buffer b = {0};
        cli_append_visible(&b, cases[i].text, cases[i].len);
        assert_string_equal(b.data, cases[i].shown);
        aoei_buffer_free(&b);
    }
    cli_visible v;
    cli_visible_char(&v, "\xe9\x83\xa8", 3);
    assert_int_equal(v.columns, 2);
    cli_visible_char(&v, "\xcc\x81", 2);
    assert_int_equal(v.columns, 0);
}

static void test_json(void **state) {
    (void)state;
    aoei_buffer b = {0};
    const char *json = "[\"\xc2\x9b\xe2\x80\xae\x7f\xc3\xa9\\u001b\"]";
    cli_append_visible_json(&b, json, strlen(json));
    assert_string_equal(b.data, "[\"\\u009b\\u202e\\u007f\xc3\xa9\\u001b\"]");
    aoei_buffer_free(&b);
}

static void test_words(void **state) {
    (void)state;
    check("Renew the certificate, renewal", "renew certificate", 0, 0, "[Renew] the [certificate], renewal\n");
    check("Caf\xc3\xa9 cafe\xcc\x81 CAFE", "cafe", 0, 0, "[Caf\xc3\xa9] [cafe\xcc\x81] [CAFE]\n");
    check("x=max_count; maxCount Maximum", "max", 0, 0, "x=[max]_count; [max]Count Maximum\n");
    check("max_count count", "max_count count", 0, 0, "[max_count] [count]\n");
    check("version 1.0.21, not 1.0.210", "1.0.21", 0, 0, "version [1.0.21], not 1.0.210\n");
    check("\xe9\x87\x8d\xe6\x96\xb0\xe9\x83\xa8\xe7\xbd\xb2itgc", "\xe9\x83\xa8\xe7\xbd\xb2 itgc", 0, 0,
          "\xe9\x87\x8d\xe6\x96\xb0[\xe9\x83\xa8\xe7\xbd\xb2itgc]\n");
    check("stra\xc3\x9f"
          "e",
          "strasse", 0, 0,
          "[stra\xc3\x9f"
          "e]\n");
    check("text", "", 0, 0, "text\n");
    check("", "text", 0, 0, "");
}

static void test_rows(void **state) {
    (void)state;
    check("one two three four five six", "", 20, 0, "one two three four\nfive six\n");
    check("aaaaaaaaaaaaaaaaaaaaaaaaa", "", 20, 0, "aaaaaaaaaaaaaaaaaaaa\naaaaa\n");
    check("\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8"
          "\xe9\x83\xa8\xe9\x83\xa8",
          "", 20, 0,
          "\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8\xe9\x83\xa8"
          "\xe9\x83\xa8\n\xe9\x83\xa8\n");
    check("a\r\n\r\n\tb  \n\n", "", 0, 0, "a\n\n    b\n");
    check("a\rb\033[31m", "", 0, 0, "a\\rb\\x1b[31m\n");
    check("A\n\nb\n\nc\n", "", 0, 2, "A\nb\n");
    check("a\nb\nrenew\nd\nthe renew of it\n", "renew it", 0, 1, "the [renew] of [it]\n");
    check("a\nb\nc\nrenew\nd\n", "renew", 0, 2, "[renew]\nd\n");
    check("a\nb\nc\nrenew\nd\ne\n", "renew", 0, 3, "c\n[renew]\nd\n"); /* in the middle */
    check("===\nA\n---\n\nb\n}\nc\n", "", 0, 3, "A\nb\nc\n");          /* rows without letters and digits */
    check("===\n---\n", "", 0, 1, "===\n");
    check("renew\nb\nrenew\n", "renew", 0, 1, "[renew]\n");
    check_snippet("a\0b", 3, "", 0, 0, "a\\x00b\n");
}

static void test_rows_by_meaning(void **state) {
    (void)state;
    /* words with the beginning of a long word of the query, which are not highlighted */
    query_of_test = "an accidental removal of the files";
    check("A\nb\nit was removed by accident\nc\nd\n", "", 0, 1, "it was removed by accident\n");
    check("A\nremove it\nthe file\nthe file is removed\n", "", 0, 1, "the file is removed\n");
    check("A\nthe filesystem\nit is removed\na file\n", "file", 0, 1, "a [file]\n"); /* words have priority */
    check("the fil\nrem\naccid\nx\n", "", 0, 2, "the fil\nrem\n");
    query_of_test = "\xc3\x84nderungen";
    check("A\nb\ndie \xc3\xa4nderung\nc\n", "", 0, 1, "die \xc3\xa4nderung\n");
    /* without such words: what follows headings, license lines and the end of a sentence */
    query_of_test = "";
    headings_of_test = "notes.md > Pets > Dogs & cats";
    check("## Pets\n\n### Dogs & cats ###\n\nThey sleep.\nEnd.\n", "", 0, 1, "They sleep.\n");
    check("Pets\n====\n\nThey sleep.\nAnd eat.\nEnd.\n", "", 0, 2, "They sleep.\nAnd eat.\n");
    check("# Petshop\n# include\nEnd.\n", "", 0, 2, "# Petshop\n# include\n");
    check("Pets\nPets\nPets\n", "", 0, 2, "Pets\nPets\n");
    check("/* SPDX-License-Identifier: MIT\n * Counts pets.\n */\nint pets;\n", "", 0, 1, " * Counts pets.\n");
    check("of a sentence. And\nthe end.\nThe next one\nand so on\nand on\nand on\n", "", 0, 1, "The next one\n");
    check("of a sentence. And\nso on\nThe next one\n\nEnd\n", "", 0, 1, "of a sentence. And\n");
    check("static int f(void) {\nreturn 1.\nint g;\nint h;\nint i;\nint j;\n", "", 0, 1, "static int f(void) {\n");
    headings_of_test = NULL;
}

static void test_stems(void **state) {
    (void)state;
    static const char text[] =
        "Certificates, renewed_certificate, CertificateFile certify pre-certified x/certificates.c";
    check(text, "certificate renewing", 0, 0,
          "Certificates, renewed_[certificate], [Certificate]File certify pre-certified x/certificates.c\n");
    stems_of_test = 1;
    check(text, "certificate renewing", 0, 0,
          "[Certificates], [renewed]_[certificate], [Certificate]File certify pre-certified x/[certificates].c\n");
    check("R\xC3\xA9sum\xC3\xA9s cafe\xCC\x81s caf\xC3\xA9\xE5\x8C\x97\n", "resume cafe", 0, 0,
          "[R\xC3\xA9sum\xC3\xA9s] [cafe\xCC\x81s] [caf\xC3\xA9]\xE5\x8C\x97\n");
    /* words with joiners, Chinese words and words without a stem match as they are */
    check("a.cats a.cat \xE5\x8C\x97\xE4\xBA\xAC is i s ss\n", "a.cat \xE5\x8C\x97 i", 0, 0,
          "a.cats [a.cat] [\xE5\x8C\x97]\xE4\xBA\xAC is [i] s ss\n");
    /* the rows with words of equal stem are chosen */
    check("one\ntwo\nrenewed certificates\nfour\nrenew\nsix\n", "certificate renewal", 0, 1,
          "[renewed] [certificates]\n");
    /* the beginning of a word of the query counts less than its stem */
    query_of_test = "renewing";
    check("renewtown\none\ntwo\nrenewed\n", "renewing", 0, 1, "[renewed]\n");
    query_of_test = "";
    stems_of_test = 0;
}

static void check_unused(const char *query, const char *const *terms, size_t n, const char *expected) {
    aoei_buffer b = {0};
    aoei_query_words t;
    const aoe_index_hits found = {.struct_size = sizeof found, .term = terms, .n_terms = n};
    cli_query_words(&t, &found, aoe_text_of(query));
    cli_append_unused_words(&b, &t, aoe_text_of(query));
    aoei_buffer_putc(&b, 0);
    assert_string_equal(b.data, expected);
    aoei_buffer_free(&b);
    aoei_query_words_free(&t);
}

static void test_unused_words(void **state) {
    (void)state;
    static const char *const terms[] = {"wolf", "Name", "\xE5\x8C\x97\xE4\xBA\xAC", "caf\xC3\xA9"};
    check_unused("", terms, 4, "");
    check_unused("the wolf, a wolves' den?", terms, 4, " the a wolves den");
    check_unused("Wolf fileName filename CAFE", terms, 4, " filename");
    check_unused("file_name x", terms, 4, " file x"); /* `name` was searched */
    check_unused("\xE5\x8C\x97\xE4\xBA\xAC\xE4\xBA\xBA", terms, 4, "");
    check_unused("wolf", terms, 0, " wolf");
    check_unused("\xFF wolf\xFF"
                 "den",
                 terms, 4, " den");
}

static void test_place(void **state) {
    (void)state;
    aoei_buffer b = {0};
    cli_hit_output o = {.links = 1, .here = (char[]){"/home/me"}, .host = (char[]){"host"}};
    aoe_index_hit hit = {
        .name = "\xc3\xa9.md", .path = "/home/me/a b\033%/\xc3\xa9.md", .heading = "A > \033B", .line = 3};
    hit.last_line = 9;
    cli_append_hit_place(&b, &o, &hit);
    assert_string_equal(b.data, "\033]8;;file://host/home/me/a%20b%1B%25/%C3%A9.md\033\\a b\\x1b%/\xc3\xa9.md:3-9"
                                "\033]8;;\033\\  A > \\x1bB");
    aoei_buffer_clear(&b);
    hit = (aoe_index_hit){.name = "t.tsv:7", .path = NULL, .heading = "", .line = 1, .last_line = 1};
    cli_append_hit_place(&b, &o, &hit);
    assert_string_equal(b.data, "t.tsv:7");
    aoei_buffer_clear(&b);
    hit.path = "/home/me/t.tsv"; /* a row of a table */
    cli_append_hit_place(&b, &o, &hit);
    assert_string_equal(b.data, "\033]8;;file://host/home/me/t.tsv\033\\t.tsv:7\033]8;;\033\\");
    aoei_buffer_clear(&b);
    hit.name = hit.heading = "x";
    hit.path = "/home/me2/x";
    o.links = 0;
    cli_append_hit_place(&b, &o, &hit);
    assert_string_equal(b.data, "/home/me2/x:1");
    aoei_buffer_free(&b);
}

/* Numbers keep their characters; values that a reader of JSON could not read back remain texts. */
static void test_metadata(void **state) {
    (void)state;
    static const char *const fields[][2] = {{"year", "1999"},
                                            {"price", "1.50"},
                                            {"low", "-0"},
                                            {"zip", "007"},
                                            {"e", "1e400"},
                                            {"most", "999999999999999"},
                                            {"more", "9999999999999999"},
                                            {"tag", "x"},
                                            {"tag", "2"},
                                            {"", "3"},
                                            {"tag", "2"},
                                            {"fields", "4"},
                                            {"long", "0.1234567890123456"},
                                            {"", "\"\033"},
                                            {"n", ""}};
    enum { N = sizeof fields / sizeof *fields };
    aoe_index_field field[N];
    char line[1024] = "", *at;
    for (size_t i = 0; i < N; i++)
        field[i] = (aoe_index_field){fields[i][0], aoe_text_of(fields[i][1])};
    const aoe_index_hit hit = {.id = "1", .name = "fields", .heading = "", .field = field, .n_fields = N};
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(cli_write_hit_json(f, json_pack("{s:[o,o]}", "hits", cli_hit_json(&hit, 0.1, 0),
                                                     cli_hit_json(&hit, (double)NAN, 0))),
                     0);
    rewind(f);
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    assert_non_null(at = strstr(line, "\"score\":0.1,\"text\":\"\",\"fields\":{"));
    static const char expected[] =
        "\"fields\":{\"year\":1999,\"price\":1.50,\"low\":-0,\"zip\":\"007\",\"e\":\"1e400\","
        "\"most\":999999999999999,\"more\":\"9999999999999999\",\"tag\":[\"x\",2,2],\"\":[3,\"\\\"\\u001B\"],"
        "\"fields\":4,\"long\":\"0.1234567890123456\",\"n\":\"\"}}";
    at = strstr(at, "\"fields\":{");
    assert_non_null(at);
    assert_memory_equal(at, expected, sizeof expected - 1);
    at = strstr(at + 1, "\"fields\":{"); /* of the second passage */
    assert_non_null(at);
    assert_memory_equal(at, expected, sizeof expected - 1);
    assert_string_equal(at + sizeof expected - 1, "]}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_visible),
                                       cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_rows_by_meaning),
                                       cmocka_unit_test(test_place),
                                       cmocka_unit_test(test_metadata),
                                       cmocka_unit_test(test_unused_words),
                                       cmocka_unit_test(test_stems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
