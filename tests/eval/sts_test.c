/* SPDX-License-Identifier: MIT
 * covers: eval/similarities eval/eval_model eval/senteval
 * Tests the STS evaluation. An encoder for tests maps each text to a unit vector: the text is the angle in degrees, so
 * that every cosine is known. Other tests cover the folders of SentEval: which files and lines are read, skipped or
 * rejected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/circle.h"
#include "../support/support.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/dir.h"
#include "eval/senteval.h"
#include "eval/sts.h"
#include "table/pairs.h"

/* ------------------------------------------------- collecting the results */

typedef struct reports {
    size_t n;
    aoe_sts_result result[16];
    char name[16][100];
} reports;

static void collect(void *user, const aoe_sts_result *result) {
    reports *r = user;
    assert_true(r->n < 16);
    r->result[r->n] = *result;
    snprintf(r->name[r->n++], sizeof r->name[0], "%s", result->name);
}

static void expect_report(const reports *r, size_t i, aoe_sts_row row, const char *name, size_t pairs, size_t skipped,
                          size_t empty, double spearman, double pearson) {
    assert_true(i < r->n);
    assert_int_equal(r->result[i].row, row);
    assert_string_equal(r->name[i], name);
    assert_int_equal(r->result[i].pairs, pairs);
    assert_int_equal(r->result[i].skipped, skipped);
    assert_int_equal(r->result[i].empty, empty);
    if (!(fabs(r->result[i].spearman - spearman) < 1e-12))
        fail_msg("the Spearman correlation of %s is %.17g, expected %.17g", name, r->result[i].spearman, spearman);
    if (!(fabs(r->result[i].pearson - pearson) < 1e-6)) /* the cosines of float32 vectors have rounding errors */
        fail_msg("the Pearson correlation of %s is %.17g, expected %.17g", name, r->result[i].pearson, pearson);
}

/* Computes the expected correlations from the angles. */
static void correlate(const double *degrees, const double *gold, size_t n, double *spearman, double *pearson) {
    double cosine[64];
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        cosine[i] = cos(degrees[i] * CIRCLE_RADIANS);
    *spearman = aoe_spearman(cosine, gold, n);
    *pearson = aoe_pearson(cosine, gold, n);
}

static void write_in(const char *folder, const char *name, const char *text) {
    char *sub = test_path(test_dir, folder);
    assert_int_equal(aoei_make_dir(sub, NULL), 0);
    free(test_write_text(sub, name, text));
    free(sub);
}

/* ---------------------------------------------------------------- folders */

static void write_good_folder(const char *name) {
    write_in(name, "STS.input.b.txt", "0\t10\n0\t20\thttp://source\tmore\n\n5\t77\r\n");
    write_in(name, "STS.gs.b.txt", "5.0\n4\n\n0.5\r\n");
    write_in(name, "STS.input.a-x.txt", "0\t60\n0\t90\n");
    write_in(name, "STS.gs.a-x.txt", "1\n3\n");
    write_in(name, "STS.input.a.txt", "0\t30\n\t40\n");
    write_in(name, "STS.gs.a.txt", "4\n2");
    write_in(name, "STS.gs.SMT.txt", "1\n2\n3\n");
    write_in(name, "readme.txt", "not a subset");
    write_in(name, "STS.input.txt", "not a subset");
    write_in(name, "STS.gs..txt", "not a subset");
}

static void test_folder_is_read(void **state) {
    (void)state;
    write_good_folder("good");
    aoei_senteval s;
    aoe_error err = {0};
    char *path = test_path(test_dir, "good");
    if (aoei_senteval_load(&s, path, 0, &err))
        fail_msg("%s", err.message);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.without_input, 1);
    assert_string_equal(s.subset[0].name, "a");
    assert_string_equal(s.subset[1].name, "a-x");
    assert_string_equal(s.subset[2].name, "b");
    assert_int_equal(s.subset[0].unscored, 0);
    assert_int_equal(s.subset[2].unscored, 1);
    const aoe_pairs *b = s.subset[2].pairs;
    assert_int_equal(aoe_pairs_count(b), 3);
    assert_int_equal(aoe_pairs_line(b, 2), 4);
    assert_memory_equal(aoe_pairs_text2(b, 1).data, "20", 2);
    assert_int_equal(aoe_pairs_text2(b, 1).len, 2);
    assert_int_equal(aoe_pairs_text2(b, 2).len, 2);
    assert_true(aoe_pairs_label(b, 2) == 0.5);
    aoei_senteval_free(&s);
    free(path);
}

static void expect_folder_error(const char *folder, int skip, const char *want) {
    aoei_senteval s;
    aoe_error err = {0};
    char *path = test_path(test_dir, folder), relative[sizeof err.message] = "";
    assert_int_equal(aoei_senteval_load(&s, path, skip, &err), AOE_EFORMAT);
    assert_int_equal(err.code, AOE_EFORMAT);
    assert_int_equal(s.n, 0);
    for (size_t i = 0, n = 0; err.message[i]; i++) { /* removes the path of the test directory from the message */
        if (strncmp(err.message + i, test_dir, strlen(test_dir)) == 0)
            i += strlen(test_dir) + 1;
        relative[n++] = err.message[i];
    }
    assert_string_equal(relative, want);
    assert_int_equal(aoei_senteval_load(&s, path, skip, NULL), AOE_EFORMAT);
    free(path);
}

static void test_folder_errors(void **state) {
    (void)state;
    write_in("none", "STS.gs.x.txt", "1\n");
    expect_folder_error(
        "none", 0,
        "none: no SentEval files found; give a folder with STS.input.SUBSET.txt and STS.gs.SUBSET.txt, or "
        "give tables");
    write_in("nogold", "STS.input.x.txt", "1\t2\n");
    expect_folder_error("nogold", 0,
                        "nogold/STS.input.x.txt: the gold file STS.gs.x.txt is missing; add it or remove the input");
    write_in("count", "STS.input.x.txt", "1\t2\n1\t2\n");
    write_in("count", "STS.gs.x.txt", "1\n2\n3\n4\n5\n");
    expect_folder_error(
        "count", 1,
        "count/STS.input.x.txt has 2 lines but count/STS.gs.x.txt has 5; the files must match line by line, "
        "so download both again");
    write_in("count", "STS.gs.x.txt", "1\n");
    expect_folder_error(
        "count", 0,
        "count/STS.input.x.txt has 2 lines but count/STS.gs.x.txt has 1; the files must match line by line, "
        "so download both again");
    write_in("tab", "STS.input.x.txt", "1\t2\nno tab\n");
    write_in("tab", "STS.gs.x.txt", "1\n2\n");
    expect_folder_error(
        "tab", 0, "tab/STS.input.x.txt:2: no TAB between two sentences; correct the row or set options.skip_bad_rows");
    write_in("score", "STS.input.x.txt", "1\t2\n1\t2\n");
    write_in("score", "STS.gs.x.txt", "1\ngood\n");
    expect_folder_error("score", 0,
                        "score/STS.gs.x.txt:2: 'good' is not a score; give a number or an empty line, "
                        "or set options.skip_bad_rows");
    write_in("unscored", "STS.input.x.txt", "1\t2\n1\t2\n");
    write_in("unscored", "STS.gs.x.txt", "\n\n");
    expect_folder_error("unscored", 0, "unscored/STS.gs.x.txt: no line has a score; download the gold file again");
}

static void test_folder_skips_bad_rows(void **state) {
    (void)state;
    write_in("skip", "STS.input.x.txt", "1\t2\nno tab\n1\t2\n");
    write_in("skip", "STS.gs.x.txt", "bad\n2\n3\n");
    aoei_senteval s;
    char *path = test_path(test_dir, "skip");
    assert_int_equal(aoei_senteval_load(&s, path, 1, NULL), 0);
    assert_int_equal(s.subset[0].bad, 2);
    assert_int_equal(aoe_pairs_count(s.subset[0].pairs), 1);
    aoei_senteval_free(&s);
    free(path);
}

/* ------------------------------------------------------------- evaluation */

static int record_progress(void *user, size_t done, size_t total) {
    size_t *seen = user;
    assert_true(done > seen[0]);
    seen[0] = done;
    seen[1] = total;
    return done == seen[2];
}

static void test_run_of_tables_and_folders(void **state) {
    (void)state;
    write_good_folder("STS99-en-test");
    char *table = test_write_text(test_dir, "t.tsv",
                                  "text1\ttext2\tlabel\n0\t15\t5\n0\t80\t3\n0\t50\tneutral\n0\t45\t4\n0\t\t2\n");
    char *folder = test_path(test_dir, "STS99-en-test//");
    const char *paths[] = {table, folder};
    circle c = {.specials = 2};
    aoei_eval_model e = circle_encoder(&c);
    reports r = {0};
    aoe_error err = {0};
    if (aoei_sts_run(&e, paths, 2, NULL, collect, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.n, 6);
    /* all pairs in the order in which their results are reported: first the table, then the subsets a, a-x and b */
    const double degrees[] = {15, 80, 45, 0, 30, 40, 60, 90, 10, 20, 72}, gold[] = {5, 3, 4, 2, 4, 2, 1, 3, 5, 4, 0.5};
    double s, p;
    correlate(degrees, gold, 4, &s, &p);
    expect_report(&r, 0, AOE_STS_FILE, "t.tsv", 4, 1, 1, s, p);
    correlate(degrees + 4, gold + 4, 2, &s, &p);
    expect_report(&r, 1, AOE_STS_SUBSET, "STS99-en-test/a", 2, 0, 1, s, p);
    expect_report(&r, 2, AOE_STS_SUBSET, "STS99-en-test/a-x", 2, 0, 0, -1, -1);
    correlate(degrees + 8, gold + 8, 3, &s, &p);
    expect_report(&r, 3, AOE_STS_SUBSET, "STS99-en-test/b", 3, 1, 0, 1, p);
    correlate(degrees + 4, gold + 4, 7, &s, &p);
    expect_report(&r, 4, AOE_STS_FOLDER, "STS99-en-test", 7, 2, 1, s, p);
    correlate(degrees, gold, 11, &s, &p);
    expect_report(&r, 5, AOE_STS_ALL, "all", 11, 3, 2, s, p);
    /* the encoder for tests reports texts of two or more characters as truncated */
    const size_t truncated[] = {3, 2, 2, 3, 7, 10};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(r.result[i].truncated, truncated[i]);
    size_t seen[3] = {0};
    const aoe_sts_options o = {.struct_size = sizeof(aoe_sts_options), .progress = record_progress, .user = seen};
    assert_int_equal(aoei_sts_run(&e, paths, 2, &o, NULL, NULL, &err), 0);
    assert_true(seen[0] == 11 && seen[1] == 11);
    seen[0] = 0;
    seen[2] = 4; /* cancels the evaluation after 4 pairs, which is the size of the table, the first input */
    assert_int_equal(aoei_sts_run(&e, paths, 2, &o, NULL, NULL, &err), AOE_ECANCELLED);
    r = (reports){0};
    assert_int_equal(aoei_sts_run(&e, paths + 1, 1, NULL, collect, &r, NULL), 0);
    assert_int_equal(r.n, 4); /* only one input was evaluated, so the results do not include the total of all inputs */
    free(table);
    free(folder);
}

static void test_check_inputs(void **state) {
    (void)state;
    write_good_folder("STS98-en-test");
    char *folder = test_path(test_dir, "STS98-en-test");
    char *table = test_write_text(test_dir, "good.tsv", "text1\ttext2\tlabel\n0\t15\t5\n0\t80\t3\n");
    char *equal = test_write_text(test_dir, "equal.tsv", "text1\ttext2\tlabel\n0\t15\t5\n0\t80\t5\n");
    char *other = test_write_text(test_dir, "other.tsv", "left\tright\tlabel\n0\t15\t5\n0\t80\t3\n");
    const char *good[] = {table, folder}, *flat[] = {table, equal}, *foreign[] = {other};
    const aoe_table_options columns = {.struct_size = sizeof(aoe_table_options), .columns = "text1=left,text2=right"};
    aoe_error err = {0};
    assert_int_equal(aoe_sts_check(good, 2, NULL, &err), 0);
    assert_int_equal(aoe_sts_check(flat, 2, NULL, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "equal.tsv: all scores are equal"));
    assert_int_equal(aoe_sts_check(foreign, 1, NULL, &err), AOE_EFORMAT);
    assert_int_equal(aoe_sts_check(foreign, 1, &columns, &err), 0);
    assert_int_equal(aoe_sts_check(NULL, 0, NULL, &err), AOE_EARG);
    free(folder);
    free(table);
    free(equal);
    free(other);
}

static void test_inputs_are_read_before_results(void **state) {
    (void)state;
    char *good = test_write_text(test_dir, "g.tsv", "text1\ttext2\tlabel\n0\t15\t5\n0\t80\t3\n");
    char *bad = test_write_text(test_dir, "b.tsv", "text1\ttext2\tlabel\n0\t15\t5\n0\t80\tabc\n");
    const char *paths[] = {good, bad};
    circle c = {.specials = 2};
    aoei_eval_model e = circle_encoder(&c);
    reports r = {0};
    aoe_error err = {0};
    assert_int_equal(aoei_sts_run(&e, paths, 2, NULL, collect, &r, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "b.tsv:3: column 'label': 'abc' is neither a number"));
    assert_int_equal(r.n + c.calls, 0);
    aoe_sts_options o = {.struct_size = sizeof(aoe_sts_options), .table = {.skip_bad_rows = 1}};
    assert_int_equal(aoei_sts_run(&e, paths, 2, &o, collect, &r, NULL), 0);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.result[1].skipped, 1);
    assert_true(isnan(r.result[1].spearman)); /* the correlation of a single pair is undefined */
    assert_int_equal(aoei_sts_run(&e, paths, 0, NULL, collect, &r, &err), AOE_EARG);
    free(good);
    free(bad);
}

static void test_texts_without_tokens(void **state) {
    (void)state;
    char *good = test_write_text(test_dir, "g.tsv", "text1\ttext2\tlabel\n0\t15\t5\n0\t80\t3\n");
    char *empty = test_write_text(test_dir, "e.tsv", "text1\ttext2\tlabel\n0\t15\t5\n0\t80\t3\n0\t \t3\n");
    const char *paths[] = {good, empty};
    circle c = {.specials = 0};
    aoei_eval_model e = circle_encoder(&c);
    reports r = {0};
    aoe_error err = {0};
    char want[300];
    snprintf(want, sizeof want, "%s:4: text2 has no token; correct or remove the row", empty);
    assert_int_equal(aoei_sts_run(&e, paths, 2, NULL, collect, &r, &err), AOE_EFORMAT);
    assert_string_equal(err.message, want);
    assert_int_equal(r.n, 0);
    c.specials = 1;
    assert_int_equal(aoei_sts_run(&e, paths, 2, NULL, collect, &r, NULL), 0);
    assert_int_equal(r.n, 3);
    assert_int_equal(r.result[1].empty, 1);
    free(good);
    free(empty);
}

static void test_failure_names_the_line(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "f.tsv", "text1\ttext2\tlabel\n10\t15\t5\n0\t80\t3\n80\t7\t3\n");
    const char *paths[] = {path};
    circle c = {.specials = 2, .poisoned = "80"};
    aoei_eval_model e = circle_encoder(&c);
    aoe_error err = {0};
    char want[300];
    snprintf(want, sizeof want, "%s:3: text2: the vector is not finite", path);
    assert_int_equal(aoei_sts_run(&e, paths, 1, NULL, NULL, NULL, &err), AOE_ENUMERIC);
    assert_int_equal(err.code, AOE_ENUMERIC);
    assert_string_equal(err.message, want);
    assert_int_equal(aoei_sts_run(&e, paths, 1, NULL, NULL, NULL, NULL), AOE_ENUMERIC);
    free(path);
}

/* Tests blocks of pairs. Equal texts of a block are embedded only once. The results must not depend on the number of
 * blocks. */
static void test_blocks_of_pairs_and_equal_texts(void **state) {
    (void)state;
    enum { PAIRS = 10000 };
    aoe_pairs *p;
    assert_int_equal(aoei_pairs_create(&p, "made", NULL), 0);
    double *cosine = malloc(PAIRS * sizeof *cosine), *gold = malloc(PAIRS * sizeof *gold);
    assert_true(cosine && gold);
    for (size_t i = 0; i < PAIRS; i++) {
        char a[32], b[32];
        snprintf(a, sizeof a, "%zu", i % 7);
        snprintf(b, sizeof b, "%zu.5", (i * 7919) % 170);
        float x[2] = {(float)cos((double)(i % 7) * CIRCLE_RADIANS), (float)sin((double)(i % 7) * CIRCLE_RADIANS)};
        double degrees = (double)((i * 7919) % 170) + 0.5;
        float y[2] = {(float)cos(degrees * CIRCLE_RADIANS), (float)sin(degrees * CIRCLE_RADIANS)};
        gold[i] = (double)((i * 31) % 997) - degrees;
        cosine[i] = aoe_cosine(x, y, 2);
        assert_int_equal(aoei_pairs_append(p, aoe_text_of(a), aoe_text_of(b), gold[i], i + 1, NULL), 0);
    }
    circle c = {.specials = 2};
    aoei_eval_model e = circle_encoder(&c);
    aoe_sts_result r = {.struct_size = sizeof r};
    assert_int_equal(aoei_sts_pairs(&e, p, &r, NULL), 0);
    assert_int_equal(r.row, AOE_STS_FILE);
    assert_string_equal(r.name, "");
    assert_int_equal(r.pairs, PAIRS);
    assert_true(r.spearman == aoe_spearman(cosine, gold, PAIRS));
    assert_true(r.pearson == aoe_pearson(cosine, gold, PAIRS));
    assert_int_equal(c.calls, 3);
    assert_int_equal(c.texts, 3 * (7 + 170));
    c.poisoned = "3";
    aoe_error err = {0};
    assert_int_equal(aoei_sts_pairs(&e, p, &r, &err), AOE_ENUMERIC);
    assert_string_equal(err.message, "made:4: text1: the vector is not finite");
    aoe_pairs_free(p);
    free(cosine);
    free(gold);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_is_read),
        cmocka_unit_test(test_folder_errors),
        cmocka_unit_test(test_folder_skips_bad_rows),
        cmocka_unit_test(test_run_of_tables_and_folders),
        cmocka_unit_test(test_check_inputs),
        cmocka_unit_test(test_inputs_are_read_before_results),
        cmocka_unit_test(test_texts_without_tokens),
        cmocka_unit_test(test_failure_names_the_line),
        cmocka_unit_test(test_blocks_of_pairs_and_equal_texts),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
