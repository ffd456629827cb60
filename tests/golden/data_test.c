/* SPDX-License-Identifier: MIT
 * Tests the table readers with published data sets. The numbers of rows and pairs are compared with the numbers that
 * the authors of the data sets state. A test is skipped if its data set is not available.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_data.h"
#include "table/columns.h"
#include "table/table.h"
#include "eval/senteval.h"

typedef struct table_case {
    const char *path;
    const char *label_map;
    size_t pairs;     /* expected number of pairs */
    size_t dropped;   /* expected number of rows that the label map drops */
    double label_sum; /* expected sum of all labels; a negative number: the sum is not checked */
} table_case;

static void expect_table(const table_case *c) {
    aoe_error err = {0};
    aoe_pairs *p;
    char *path = test_shared_path(c->path);
    if (!path)
        skip();
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .label_map = c->label_map};
    if (aoe_pairs_load(&p, path, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_pairs_count(p), c->pairs);
    assert_int_equal(aoe_pairs_dropped(p), c->dropped);
    assert_int_equal(aoe_pairs_skipped(p), 0);
    double sum = 0;
    for (size_t i = 0; i < c->pairs; i++) {
        sum += aoe_pairs_label(p, i);
        assert_true(aoe_pairs_text1(p, i).len > 0 && aoe_pairs_text2(p, i).len > 0);
    }
    if (c->label_sum >= 0)
        assert_true(sum == c->label_sum);
    assert_int_equal(aoe_pairs_line(p, c->pairs - 1) >= c->pairs + 1, 1);
    aoe_pairs_free(p);
    free(path);
}

#define TABLE_TEST(name, ...)                                                                                          \
    static void test_##name(void **state) {                                                                            \
        (void)state;                                                                                                   \
        const table_case c = {__VA_ARGS__};                                                                            \
        expect_table(&c);                                                                                              \
    }

TABLE_TEST(stsb_train, "data/stsb/train.tsv", NULL, 5749, 0, -1)
TABLE_TEST(stsb_dev, "data/stsb/dev.tsv", NULL, 1500, 0, -1)
TABLE_TEST(stsb_test, "data/stsb/test.tsv", NULL, 1379, 0, -1)
TABLE_TEST(mrpc_train, "data/mrpc/train.tsv", NULL, 4076, 0, 2753)
TABLE_TEST(mrpc_test, "data/mrpc/test.tsv", NULL, 1725, 0, 1147)
TABLE_TEST(qnli_dev, "data/qnli/dev.tsv", NULL, 5463, 0, 2702)
TABLE_TEST(qqp_dev, "data/qqp_part/dev.tsv", NULL, 7600, 0, -1)
TABLE_TEST(snli_dev, "data/snli/dev.tsv", NULL, 3329 + 3278, 3235, 3329)
TABLE_TEST(snli_dev_graded, "data/snli/dev.tsv", "neutral=0.5", 9842, 0, 3329 + 0.5 * 3235)
TABLE_TEST(joci, "data/joci/joci.tsv", "0=drop", 39092 - 54, 54, 5 * 7155 + 4 * 4098 + 3 * 9783 + 2 * 8735 + 9267)
TABLE_TEST(joci_binary, "data/joci/joci.tsv", "5=1,4=1,3=drop,2=0,1=0,0=drop", 39092 - 54 - 9783, 54 + 9783,
           7155 + 4098)
TABLE_TEST(long_pairs, "data/long_pairs/dev.tsv.zst", NULL, 400, 0, -1)

/* Reads a table row by row as examples of the given kind, and returns the number of rows. */
static size_t count_rows(const char *relative, aoe_example_kind kind) {
    aoe_error err = {0};
    aoei_table *t;
    char *path = test_shared_path(relative);
    if (!path)
        skip();
    if (aoei_table_open(&t, path, NULL, &err) || aoei_columns_select(t, kind, NULL, &err))
        fail_msg("%s", err.message);
    aoei_row row;
    size_t n = 0;
    int rc;
    while ((rc = aoei_table_next(t, &row, &err)) == 1)
        n++;
    assert_int_equal(rc, 0);
    aoei_table_close(t);
    free(path);
    return n;
}

static void test_nli_pairs(void **state) {
    (void)state;
    size_t rows = count_rows("data/nli_part/pairs_train.tsv", AOE_EXAMPLES_PAIRS);
    assert_int_equal(rows, 43908);
    char *path = test_shared_path("data/nli_part/pairs_train.tsv");
    aoe_pairs *p;
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .label_map = "entailment=1,contradiction=drop"};
    size_t kept = 0, with_neutral = 0;
    assert_int_equal(aoe_pairs_load(&p, path, NULL, NULL), 0);
    kept = aoe_pairs_count(p);
    assert_int_equal(kept + aoe_pairs_dropped(p), rows);
    /* The file has three classes of 14,500 to 14,800 pairs each. By default, the class "neutral" is dropped. */
    assert_in_range(aoe_pairs_dropped(p), 14500, 14800);
    aoe_pairs_free(p);
    assert_int_equal(aoe_pairs_load(&p, path, &o, NULL), 0);
    with_neutral = aoe_pairs_count(p);
    assert_in_range(with_neutral, 14500, 14800);
    assert_int_equal(with_neutral + aoe_pairs_dropped(p), rows);
    aoe_pairs_free(p);
    free(path);
}

static void test_triplets_and_texts(void **state) {
    (void)state;
    assert_int_equal(count_rows("data/nli_part/triples.tsv", AOE_EXAMPLES_TRIPLETS), 11839);
    assert_int_equal(count_rows("data/corpus_books/books_20k_sample.txt", AOE_EXAMPLES_TEXTS), 20000);
}

typedef struct subset_case {
    const char *name;
    size_t pairs; /* expected number of pairs with a score */
    size_t lines; /* number of lines of the input file */
} subset_case;

static void expect_folder(const char *format, const char *year, const subset_case *want, size_t n) {
    char relative[100];
    snprintf(relative, sizeof relative, "data/sts12_14_15/%s/%s", format, year);
    char *path = test_shared_path(relative);
    if (!path)
        skip();
    aoei_senteval s;
    aoe_error err = {0};
    if (aoei_senteval_load(&s, path, 0, &err))
        fail_msg("%s", err.message);
    assert_int_equal(s.n, n);
    assert_int_equal(s.without_input, 0);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(s.subset[i].name, want[i].name);
        assert_int_equal(aoe_pairs_count(s.subset[i].pairs), want[i].pairs);
        assert_int_equal(s.subset[i].unscored, want[i].lines - want[i].pairs);
    }
    aoei_senteval_free(&s);
    free(path);
}

static void test_sts12(void **state) {
    (void)state;
    const subset_case want[] = {{"MSRpar", 750, 750},
                                {"MSRvid", 750, 750},
                                {"SMTeuroparl", 459, 459},
                                {"surprise.OnWN", 750, 750},
                                {"surprise.SMTnews", 399, 399}}; /* total: 3108 pairs */
    expect_folder("senteval", "STS12-en-test", want, 5);
    expect_folder("raw", "STS12-en-test", want, 5);
}

static void test_sts14(void **state) {
    (void)state;
    const subset_case want[] = {{"OnWN", 750, 750},
                                {"deft-forum", 450, 450},
                                {"deft-news", 300, 300},
                                /* total: 3750 pairs */
                                {"headlines", 750, 750},
                                {"images", 750, 750},
                                {"tweet-news", 750, 750}};
    expect_folder("senteval", "STS14-en-test", want, 6);
    expect_folder("raw", "STS14-en-test", want, 6);
}

static void test_sts15(void **state) {
    (void)state;
    const subset_case want[] = {{"answers-forums", 375, 2000},
                                {"answers-students", 750, 1500},
                                {"belief", 375, 2000},
                                {"headlines", 750, 1500},
                                {"images", 750, 1500}}; /* total: 3000 pairs */
    expect_folder("senteval", "STS15-en-test", want, 5);
    expect_folder("raw", "STS15-en-test", want, 5);
}

static void test_senteval_table_gets_a_helpful_message(void **state) {
    (void)state;
    char *path = test_shared_path("data/stsb/senteval/sts-test.csv");
    if (!path)
        skip();
    aoe_pairs *p;
    aoe_error err = {0};
    assert_int_equal(aoe_pairs_load(&p, path, NULL, &err), AOE_EFORMAT);
    /* The reader detects the TAB delimiter of this .csv file. The first line of the file contains no column names, so
     * the message shows the fields of this line. */
    assert_non_null(strstr(err.message, "no column for text1"));
    assert_non_null(strstr(err.message, "found main-captions, MSRvid"));
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stsb_train),      cmocka_unit_test(test_stsb_dev),
        cmocka_unit_test(test_stsb_test),       cmocka_unit_test(test_mrpc_train),
        cmocka_unit_test(test_mrpc_test),       cmocka_unit_test(test_qnli_dev),
        cmocka_unit_test(test_qqp_dev),         cmocka_unit_test(test_snli_dev),
        cmocka_unit_test(test_snli_dev_graded), cmocka_unit_test(test_joci),
        cmocka_unit_test(test_joci_binary),     cmocka_unit_test(test_long_pairs),
        cmocka_unit_test(test_nli_pairs),       cmocka_unit_test(test_triplets_and_texts),
        cmocka_unit_test(test_sts12),           cmocka_unit_test(test_sts14),
        cmocka_unit_test(test_sts15),           cmocka_unit_test(test_senteval_table_gets_a_helpful_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
