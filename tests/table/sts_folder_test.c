/* SPDX-License-Identifier: MIT
 * covers: table/sts_columns
 * Tests reading the sentences of SentEval's STS folders as texts: the names of the files, their columns, the order of
 * the texts, bad lines, and folders without such files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/dir.h"
#include "table/texts.h"

/* Writes a file in the folder test_dir/sub. */
static void write_file(const char *sub, const char *name, const char *text) {
    char *dir = test_path(test_dir, sub);
    aoei_make_dir(dir, NULL);
    free(test_write_text(dir, name, text));
    free(dir);
}

/* Asserts that n_files files in the folder test_dir/sub have the expected texts, each followed by '|'. */
static void expect(const char *sub, const aoe_table_options *o, const char *want, size_t skipped, size_t n_files) {
    char got[400] = "", *dir = test_path(test_dir, sub);
    aoei_examples e;
    aoe_error err = {0};
    if (aoei_texts_load(&e, dir, o, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < e.n; i++) {
        const size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%.*s|", (int)e.text[i].len, e.text[i].data);
    }
    assert_string_equal(got, want);
    assert_int_equal(e.skipped, skipped);
    assert_int_equal(e.files, n_files);
    assert_int_equal(e.kind, AOE_EXAMPLES_TEXTS);
    aoei_examples_free(&e);
    free(dir);
}

static void expect_error(const char *sub, const aoe_table_options *o, int code, const char *fragment) {
    char *dir = test_path(test_dir, sub);
    aoei_examples e;
    aoe_error err = {0};
    assert_int_equal(aoei_texts_load(&e, dir, o, &err), code);
    if (!strstr(err.message, fragment))
        fail_msg("%s", err.message);
    aoei_examples_free(&e);
    free(dir);
}

/* The folder has subfolders, files with gold scores, of which some are missing, and other files, which are ignored. */
static void files(void **state) {
    (void)state;
    write_file("all", "notes.txt", "no\tpair\n");
    write_file("all", "sts-dev.csv", "g\tf\t2012\t1\t5.0\tcsv one\tcsv two\nmain\tf\t2013\t2\t\tthree\tfour\tsource\n");
    write_file("all", "sts-other.csv", "g\tf\t2012\t1\t5.0\tx\ty\n");
    write_file("all/STS16", "STS.gs.b.txt", "5\n\n");
    write_file("all/STS16", "STS.input.b.txt", "first\tsecond\nno gold\tneither\tsource\n\n");
    write_file("all/STS16", "STS.input.a.txt", "\"quoted\t text\r\n");
    write_file("all/STS16", "STS.input.txt", "x\ty\n");
    write_file("all/SICK", "SICK_trial.txt", "pair_ID\tsentence_A\tsentence_B\tscore\n7\ttrial a\ttrial b\t4.5\n");
    expect("all", NULL, "trial a|trial b|\"quoted| text|first|second|no gold|neither|csv one|csv two|three|four|", 0,
           4);
    expect("all/STS16", NULL, "\"quoted| text|first|second|no gold|neither|", 0, 2);
}

static void bad_lines(void **state) {
    (void)state;
    const aoe_table_options skip = {.struct_size = sizeof skip, .skip_bad_rows = 1},
                            empty = {.struct_size = sizeof empty, .allow_empty = 1},
                            columns = {.struct_size = sizeof columns, .columns = "text"};
    write_file("bad", "STS.input.a.txt", "a\tb\nonly one\n\td\n");
    expect_error("bad", NULL, AOE_EFORMAT, "STS.input.a.txt:2: the line has too few columns; correct the row");
    expect("bad", &skip, "a|b|", 2, 1);
    write_file("gap", "STS.input.a.txt", "a\tb\n\td\n");
    expect_error("gap", NULL, AOE_EFORMAT, "STS.input.a.txt:2: a sentence is empty");
    expect("gap", &empty, "a|b||d|", 0, 1);
    expect_error("gap", &columns, AOE_EARG, "is a folder, whose files have no named columns");
    write_file("none", "readme.txt", "a\tb\n");
    expect_error("none", NULL, AOE_EFORMAT, "the folder contains no files with pairs");
    write_file("blank", "STS.input.a.txt", "");
    expect_error("blank", NULL, AOE_EFORMAT, "contains no texts");
}

/* Tests a folder that contains a symbolic link to itself. */
static void cycles(void **state) {
    (void)state;
    write_file("cycle", "STS.input.a.txt", "a\tb\n");
    char *dir = test_path(test_dir, "cycle"), *link = test_path(dir, "again");
    assert_int_equal(symlink(dir, link), 0);
    expect_error("cycle", NULL, AOE_EFORMAT, "nested more than");
    assert_int_equal(remove(link), 0);
    expect("cycle", NULL, "a|b|", 0, 1);
    free(link);
    free(dir);
}

/* Tests which files and folders are recognized as plain texts. */
static void plain_texts(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
        int plain;
    } cases[] = {{"STS.input.a.txt", "a\tb\n", 1},         {"a.txt", "one text\n", 1},
                 {"a.tsv", "id\ttext\n1\ta\n", 1},         {"pairs.tsv", "text1\ttext2\tlabel\na\tb\t1\n", 0},
                 {"texts.tsv", "text1\ttext2\na\tb\n", 0}, {"half.tsv", "label\tsentence1\n1\ta\n", 0},
                 {"other.tsv", "first\tsecond\na\tb\n", 0}};
    write_file("plain", cases[0].name, cases[0].text);
    char *folder = test_path(test_dir, "plain"), *missing = test_path(folder, "missing.txt");
    assert_true(aoei_texts_are_plain(folder, NULL));
    assert_false(aoei_texts_are_plain(missing, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = test_write_text(folder, cases[i].name, cases[i].text);
        if (aoei_texts_are_plain(path, NULL) != cases[i].plain)
            fail_msg("%s", cases[i].name);
        free(path);
    }
    free(missing);
    free(folder);
    write_file("empty", "readme.txt", "a\n");
    folder = test_path(test_dir, "empty");
    assert_false(aoei_texts_are_plain(folder, NULL));
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files), cmocka_unit_test(bad_lines), cmocka_unit_test(cycles),
                                       cmocka_unit_test(plain_texts)};
    return cmocka_run_group_tests_name("sts_folder", tests, test_dir_set_up, test_dir_tear_down);
}
