/* SPDX-License-Identifier: MIT
 * Tests the loading of labeled pairs. Labels may be numbers or names from a label map. The messages for bad rows are
 * compared word for word.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "aoe_data.h"
#include "table/labels.h"
#include "table/examples.h"
#include "table/pairs.h"

/* Writes text to the file `name` in the test directory and loads its pairs. The caller frees the result with
 * aoe_pairs_free. */
static aoe_pairs *load(const char *name, const char *text, const aoe_table_options *o) {
    aoe_error err = {0};
    aoe_pairs *p;
    char *path = test_write_text(test_dir, name, text);
    if (aoe_pairs_load(&p, path, o, &err))
        fail_msg("%s", err.message);
    free(path);
    return p;
}

static void expect_pair(const aoe_pairs *p, size_t i, const char *text1, const char *text2, double label, size_t line) {
    aoe_text a = aoe_pairs_text1(p, i), b = aoe_pairs_text2(p, i);
    assert_int_equal(a.len, strlen(text1));
    assert_memory_equal(a.data, text1, a.len);
    assert_int_equal(b.len, strlen(text2));
    assert_memory_equal(b.data, text2, b.len);
    assert_true(aoe_pairs_label(p, i) == label);
    assert_int_equal(aoe_pairs_line(p, i), line);
}

static void expect_error(const char *name, const char *text, const aoe_table_options *o, int code, const char *want) {
    aoe_error err = {0};
    aoe_pairs *p;
    char *path = test_write_text(test_dir, name, text);
    assert_int_equal(aoe_pairs_load(&p, path, o, &err), code);
    assert_null(p);
    assert_int_equal(err.code, code);
    size_t skip = memcmp(err.message, test_dir, strlen(test_dir)) == 0 ? strlen(test_dir) + 1 : 0;
    assert_string_equal(err.message + skip, want);
    assert_int_equal(aoe_pairs_load(&p, path, o, NULL), code);
    free(path);
}

#define ROW_REMEDY "; correct the row or set options.skip_bad_rows"
#define LABEL_REMEDY                                                                                                   \
    " is neither a number nor a known label name; correct it, give it a value in options.label_map, or set "           \
    "options.skip_bad_rows"

static void test_numbers(void **state) {
    (void)state;
    const struct {
        const char *text;
        aoei_label kind;
        double value;
    } cases[] = {
        {"5.000", AOEI_LABEL_VALUE, 5},   {"-0.5", AOEI_LABEL_VALUE, -0.5},    {"+3", AOEI_LABEL_VALUE, 3},
        {"1e-3", AOEI_LABEL_VALUE, 1e-3}, {".5", AOEI_LABEL_VALUE, 0.5},       {"2.", AOEI_LABEL_VALUE, 2},
        {"0.1", AOEI_LABEL_VALUE, 0.1},   {"1e999", AOEI_LABEL_NOT_FINITE, 0}, {"1e-999", AOEI_LABEL_VALUE, 0},
        {"", AOEI_LABEL_UNKNOWN, 0},      {" 1", AOEI_LABEL_UNKNOWN, 0},       {"1 ", AOEI_LABEL_UNKNOWN, 0},
        {"nan", AOEI_LABEL_UNKNOWN, 0},   {"inf", AOEI_LABEL_UNKNOWN, 0},      {"0x10", AOEI_LABEL_UNKNOWN, 0},
        {"1,5", AOEI_LABEL_UNKNOWN, 0},   {"1.2.3", AOEI_LABEL_UNKNOWN, 0},    {"e", AOEI_LABEL_UNKNOWN, 0},
        {"--1", AOEI_LABEL_UNKNOWN, 0},   {"1e", AOEI_LABEL_UNKNOWN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 0;
        aoei_label kind = aoei_number_of(aoe_text_of(cases[i].text), &value);
        if (kind != cases[i].kind || value != cases[i].value)
            fail_msg("'%s': found kind %d, value %g", cases[i].text, (int)kind, value);
    }
    double value;
    assert_int_equal(aoei_number_of((aoe_text){"1\0", 2}, &value), AOEI_LABEL_UNKNOWN);
    char digits[401];
    memset(digits, '1', sizeof digits);
    assert_int_equal(aoei_number_of((aoe_text){digits, 401}, &value), AOEI_LABEL_UNKNOWN);
    assert_int_equal(aoei_number_of((aoe_text){digits, 300}, &value), AOEI_LABEL_VALUE);
    assert_true(value > 1.1e299 && value < 1.2e299);
}

static void test_numbers_ignore_the_locale(void **state) {
    (void)state;
    const char *names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < 3; i++) { /* repeats the test for every locale that is installed */
        if (!setlocale(LC_ALL, names[i]))
            continue;
        double value = 0;
        assert_int_equal(aoei_number_of(aoe_text_of("2.5"), &value), AOEI_LABEL_VALUE);
        assert_true(value == 2.5);
    }
    setlocale(LC_ALL, "C");
}

static void test_scores(void **state) {
    (void)state;
    aoe_pairs *p =
        load("s.tsv", "score\tsentence1\tsentence2\tgenre\n5.000\tA \"b\"\tC\tx\n2.5\t\xC3\xA9\t d \tx", NULL);
    assert_int_equal(aoe_pairs_count(p), 2);
    assert_int_equal(aoe_pairs_skipped(p), 0);
    assert_int_equal(aoe_pairs_dropped(p), 0);
    expect_pair(p, 0, "A \"b\"", "C", 5, 2);
    expect_pair(p, 1, "\xC3\xA9", " d ", 2.5, 3);
    aoe_pairs_free(p);
    aoe_pairs_free(NULL);
}

static const char nli[] =
    "label\tpremise\thypothesis\nentailment\ta\tb\nneutral\t\t\nnot_entailment\te\tf\ncontradiction\tg\th\n";

static void test_label_names(void **state) {
    (void)state;
    aoe_pairs *p = load("nli.tsv", nli, NULL);
    assert_int_equal(aoe_pairs_count(p), 3);
    /* the row is dropped because of its label, before its texts are checked, so empty texts are not an error */
    assert_int_equal(aoe_pairs_dropped(p), 1);
    expect_pair(p, 0, "a", "b", 1, 2);
    expect_pair(p, 1, "e", "f", 0, 4);
    expect_pair(p, 2, "g", "h", 0, 5);
    aoe_pairs_free(p);
    aoe_table_options o = {
        .struct_size = sizeof(aoe_table_options), .label_map = "neutral=0.5,contradiction=drop", .allow_empty = 1};
    p = load("nli.tsv", nli, &o); /* labels that are not in the label map keep their default values */
    assert_int_equal(aoe_pairs_count(p), 3);
    assert_int_equal(aoe_pairs_dropped(p), 1);
    expect_pair(p, 0, "a", "b", 1, 2);
    expect_pair(p, 1, "", "", 0.5, 3);
    expect_pair(p, 2, "e", "f", 0, 4);
    aoe_pairs_free(p);
}

static void test_label_map_of_numbers(void **state) {
    (void)state;
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .label_map = "5=1,4=1,0=drop,a=b=-2"};
    aoe_pairs *p =
        load("joci.tsv", "label\tcontext\thypothesis\n5.0\ta\tb\n4\tc\td\n3\te\tf\n0\tg\th\na=b\ti\tj\n", &o);
    assert_int_equal(aoe_pairs_count(p), 4);
    assert_int_equal(aoe_pairs_dropped(p), 1);
    expect_pair(p, 0, "a", "b", 1, 2);
    expect_pair(p, 1, "c", "d", 1, 3);
    expect_pair(p, 2, "e", "f", 3, 4);
    expect_pair(p, 3, "i", "j", -2, 6);
    aoe_pairs_free(p);
}

static void test_json_labels(void **state) {
    (void)state;
    static const char text[] = "{\"text1\": \"a\", \"text2\": \"b\", \"label\": 4}\n"
                               "{\"text1\": \"a\", \"text2\": \"b\", \"label\": 0.25}\n"
                               "{\"text1\": \"a\", \"text2\": \"b\", \"label\": true}\n"
                               "{\"text1\": \"a\", \"text2\": \"b\", \"label\": false}\n"
                               "{\"text1\": \"a\", \"text2\": \"b\", \"label\": \"entailment\"}\n"
                               "{\"text1\": \"a\", \"text2\": \"b\", \"label\": \"2.5\"}\n";
    const double plain[] = {4, 0.25, 1, 0, 1, 2.5}, mapped[] = {7, 0.25, 9, 0, 1, 2.5};
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .label_map = "4=7,true=9"};
    aoe_pairs *p = load("l.jsonl", text, NULL), *q = load("l.jsonl", text, &o);
    assert_int_equal(aoe_pairs_count(p), 6);
    for (size_t i = 0; i < 6; i++) {
        expect_pair(p, i, "a", "b", plain[i], i + 1);
        expect_pair(q, i, "a", "b", mapped[i], i + 1);
    }
    aoe_pairs_free(p);
    aoe_pairs_free(q);
}

static void test_json_text_with_nul(void **state) {
    (void)state;
    aoe_pairs *p = load("n.jsonl", "{\"text1\": \"a\\u0000b\", \"text2\": \"\\u0000\", \"label\": 1}\n", NULL);
    assert_int_equal(aoe_pairs_text1(p, 0).len, 3);
    assert_memory_equal(aoe_pairs_text1(p, 0).data, "a\0b", 3);
    assert_int_equal(aoe_pairs_text2(p, 0).len, 1);
    assert_int_equal(aoe_pairs_text2(p, 0).data[0], 0);
    aoe_pairs_free(p);
}

static void test_bad_label_maps(void **state) {
    (void)state;
    const struct {
        const char *map, *message;
    } cases[] = {
        {"yes", "options.label_map: 'yes' is not NAME=NUMBER or NAME=drop; write for example neutral=0.5"},
        {"a=1,=2", "options.label_map: '=2' is not NAME=NUMBER or NAME=drop; write for example neutral=0.5"},
        {"a=1,,b=2", "options.label_map: '' is not NAME=NUMBER or NAME=drop; write for example neutral=0.5"},
        {"a=one", "options.label_map: 'a=one' is not NAME=NUMBER or NAME=drop; write for example neutral=0.5"},
        {"a=nan", "options.label_map: 'a=nan' is not NAME=NUMBER or NAME=drop; write for example neutral=0.5"},
        {"a=1,b=2,a=1", "options.label_map: 'a' is given twice; remove one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .label_map = cases[i].map};
        expect_error("nli.tsv", nli, &o, AOE_EARG, cases[i].message);
    }
}

static void test_bad_rows(void **state) {
    (void)state;
    expect_error("b.tsv", "score\tsentence1\tsentence2\n1\ta\tb\n2\ta\tb\n3\ta\tb\n4\ta\tb\n5\ta\tb\nabc\ta\tb\n", NULL,
                 AOE_EFORMAT, "b.tsv:7: column 'score': 'abc'" LABEL_REMEDY);
    expect_error("b.tsv", "score\tsentence1\tsentence2\nnan\ta\tb\n", NULL, AOE_EFORMAT,
                 "b.tsv:2: column 'score': 'nan'" LABEL_REMEDY);
    expect_error("b.tsv", "score\tsentence1\tsentence2\n1e999\ta\tb\n", NULL, AOE_EFORMAT,
                 "b.tsv:2: column 'score': '1e999' is too large" ROW_REMEDY);
    expect_error("b.tsv", "score\tsentence1\tsentence2\n\ta\tb\n", NULL, AOE_EFORMAT,
                 "b.tsv:2: column 'score': the label is empty" ROW_REMEDY);
    expect_error("b.tsv", "score\tsentence1\tsentence2\n1\ta\t\n", NULL, AOE_EFORMAT,
                 "b.tsv:2: column 'sentence2': the text is empty" ROW_REMEDY);
    expect_error("b.tsv", "score\tsentence1\tsentence2\n1\t  \tb\n", NULL, AOE_EFORMAT,
                 "b.tsv:2: column 'sentence1': the text is empty" ROW_REMEDY);
    expect_error("b.tsv", "score\tsentence1\tsentence2\n1\ta\n", NULL, AOE_EFORMAT,
                 "b.tsv:2: the row has 2 fields, but the header has 3" ROW_REMEDY);
    expect_error("b.csv", "text1,text2,label\na,\"b\nc\",maybe\n", NULL, AOE_EFORMAT,
                 "b.csv:2: column 'label': 'maybe'" LABEL_REMEDY);
    expect_error("b.jsonl", "{\"text1\": \"a\", \"text2\": \"b\", \"label\": null}\n", NULL, AOE_EFORMAT,
                 "b.jsonl:1: column 'label': the label is neither a number, a name nor a boolean" ROW_REMEDY);
    expect_error("b.jsonl", "{\"text1\": 3, \"text2\": \"b\", \"label\": 1}\n", NULL, AOE_EFORMAT,
                 "b.jsonl:1: column 'text1': the text is not a JSON string" ROW_REMEDY);
    expect_error("b.jsonl", "{\"text1\": \"a\", \"text2\": \"b\", \"label\": 1}\n{\"text1\": \"a\", \"label\": 1}\n",
                 NULL, AOE_EFORMAT, "b.jsonl:2: the object has no key 'text2'" ROW_REMEDY);
}

static void test_skip_bad_rows(void **state) {
    (void)state;
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .skip_bad_rows = 1};
    aoe_pairs *p = load("b.tsv", "text1\ttext2\tlabel\na\tb\tx\na\tb\n\tb\t1\nc\td\t1\na\tb\tneutral\n\ne\tf\t2\n", &o);
    assert_int_equal(aoe_pairs_count(p), 2);
    assert_int_equal(aoe_pairs_skipped(p), 3); /* the empty line is not a bad row */
    assert_int_equal(aoe_pairs_dropped(p), 1);
    expect_pair(p, 0, "c", "d", 1, 5);
    expect_pair(p, 1, "e", "f", 2, 8);
    aoe_pairs_free(p);
    p = load("b.csv", "text1,text2,label\na,x\"y,1\nc,d,1\n", &o);
    assert_int_equal(aoe_pairs_count(p), 1);
    assert_int_equal(aoe_pairs_skipped(p), 1);
    aoe_pairs_free(p);
    o.allow_empty = 1;
    p = load("b.tsv", "text1\ttext2\tlabel\n\t\t1\n", &o);
    assert_int_equal(aoe_pairs_skipped(p), 0);
    expect_pair(p, 0, "", "", 1, 2);
    aoe_pairs_free(p);
    expect_error("u.tsv", "text1\ttext2\tlabel\na\tb\t1\na\t\xC3\t1\n", &o, AOE_EFORMAT,
                 "u.tsv: invalid UTF-8 at byte 26, in line 3; convert the file to UTF-8, for example with iconv");
}

static void test_no_usable_row(void **state) {
    (void)state;
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .skip_bad_rows = 1};
    expect_error("e.tsv", "", NULL, AOE_EFORMAT,
                 "e.tsv: the file is empty; expected a header line with the names of the columns");
    expect_error("h.tsv", "text1\ttext2\tlabel\n", NULL, AOE_EFORMAT,
                 "h.tsv: the table has no rows; use a table with one row per pair");
    expect_error(
        "n.tsv", "text1\ttext2\tlabel\na\tb\tneutral\na\tb\tx\n", &o, AOE_EFORMAT,
        "n.tsv: the table has no valid rows (bad: 1, dropped because of their labels: 1); check options.columns and "
        "options.label_map, or correct the rows");
    expect_error("t.txt", "just text\n", NULL, AOE_EFORMAT,
                 "t.txt: a .txt file has no columns; use a .tsv, .csv or .jsonl table");
}

static void test_compressed(void **state) {
    (void)state;
    size_t size;
    char *gz = test_gzip(nli, sizeof nli - 1, &size);
    char *path = test_write(test_dir, "nli.tsv.gz", gz, size);
    aoe_pairs *p;
    assert_int_equal(aoe_pairs_load(&p, path, NULL, NULL), 0);
    assert_int_equal(aoe_pairs_count(p), 3);
    aoe_pairs_free(p);
    free(path);
    path = test_write(test_dir, "nli.tsv.gz", gz, size - 9);
    aoe_error err = {0};
    char want[300];
    snprintf(want, sizeof want,
             "%s: the gzip data are incomplete: the file ends at byte %zu; copy or download it again", path, size - 9);
    assert_int_equal(aoe_pairs_load(&p, path, NULL, &err), AOE_EFORMAT);
    assert_string_equal(err.message, want);
    free(path);
    free(gz);
}

/* Pairs are stored in chunks of memory. Tests more rows than fit in one chunk, and a text that is larger than a
 * chunk. */
static void test_many_and_large(void **state) {
    (void)state;
    enum { ROWS = 50000, LONG = 3000000 };
    char *text = malloc(ROWS * 64 + LONG + 100);
    assert_non_null(text);
    size_t len = (size_t)sprintf(text, "text1\ttext2\tlabel\n");
    for (int i = 0; i < ROWS; i++)
        len += (size_t)sprintf(text + len, "the first text of %d\tthe second %d\t%d\n", i, i, i);
    memset(text + len, 'z', LONG);
    len += LONG;
    sprintf(text + len, "\tend\t1\n");
    aoe_pairs *p = load("many.tsv", text, NULL);
    assert_int_equal(aoe_pairs_count(p), ROWS + 1);
    for (size_t i = 0; i < ROWS; i += 4999) {
        char a[64], b[64];
        snprintf(a, sizeof a, "the first text of %zu", i);
        snprintf(b, sizeof b, "the second %zu", i);
        expect_pair(p, i, a, b, (double)i, i + 2);
    }
    assert_int_equal(aoe_pairs_text1(p, ROWS).len, LONG);
    assert_int_equal(aoe_pairs_text1(p, ROWS).data[LONG - 1], 'z');
    aoe_pairs_free(p);
    free(text);
}

static void test_empty_texts(void **state) {
    (void)state;
    assert_true(aoei_text_is_empty((aoe_text){NULL, 0}));
    assert_true(aoei_text_is_empty(aoe_text_of(" \t\r\n\v\f")));
    assert_false(aoei_text_is_empty((aoe_text){"\0", 1}));
    assert_false(aoei_text_is_empty(aoe_text_of(" x ")));
    assert_true(aoei_text_is_empty(aoe_text_of(" \xC2\xA0\xE3\x80\x80"))); /* white space of Unicode */
}

/* Tests options.decimal_comma. Numbers with a decimal point and names are still labels. */
static void test_decimal_comma(void **state) {
    static const aoe_table_options comma = {
        .struct_size = sizeof(aoe_table_options), .decimal_comma = 1, .label_map = "0.25=drop"};
    (void)state;
    aoe_pairs *p =
        load("comma.csv", "text1;text2;label\na;b;0,5\nc;d;-1,25e1\ne;f;2.5\ng;h;0,25\ni;j;entailment\n", &comma);
    assert_int_equal(aoe_pairs_count(p), 4);
    expect_pair(p, 0, "a", "b", 0.5, 2);
    expect_pair(p, 1, "c", "d", -12.5, 3);
    expect_pair(p, 2, "e", "f", 2.5, 4);
    expect_pair(p, 3, "i", "j", 1, 6);
    assert_int_equal(aoe_pairs_dropped(p), 1);
    aoe_pairs_free(p);
    expect_error("two.csv", "text1;text2;label\na;b;1,000,5\n", &comma, AOE_EFORMAT,
                 "two.csv:2: column 'label': '1,000,5'" LABEL_REMEDY);
    expect_error(
        "point.csv", "text1;text2;label\na;b;0,5\n", NULL, AOE_EFORMAT,
        "point.csv:2: column 'label': '0,5' has a decimal comma; set options.decimal_comma, or write a decimal point");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal_comma),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_numbers_ignore_the_locale),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_label_names),
        cmocka_unit_test(test_label_map_of_numbers),
        cmocka_unit_test(test_json_labels),
        cmocka_unit_test(test_json_text_with_nul),
        cmocka_unit_test(test_bad_label_maps),
        cmocka_unit_test(test_bad_rows),
        cmocka_unit_test(test_skip_bad_rows),
        cmocka_unit_test(test_no_usable_row),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_many_and_large),
        cmocka_unit_test(test_empty_texts),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
