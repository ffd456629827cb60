/* SPDX-License-Identifier: MIT
 * covers: eval/suite_sets
 * Tests the evaluation suite. An encoder for tests maps each text to a unit vector: the text is the angle in degrees.
 * The results for the three settings of SentEval (all, mean, wmean) are compared with their definitions. Other tests
 * cover the table of evaluation sets, the folders in which the sets are searched for, missing files, and the published
 * numbers of pairs in the real data.
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
#include "eval/suite.h"
#include "eval/suite_sets.h"

typedef struct reports {
    size_t n;
    aoe_suite_result result[40];
    char name[40][64], path[40][300];
} reports;

static void collect(void *user, const aoe_suite_result *result) {
    reports *r = user;
    assert_true(r->n < 40);
    r->result[r->n] = *result;
    snprintf(r->name[r->n], sizeof r->name[0], "%s", result->name);
    snprintf(r->path[r->n++], sizeof r->path[0], "%s", result->path ? result->path : "");
}

static int run(reports *r, const char *const *dirs, size_t n, const aoe_suite_options *o, aoe_error *err) {
    static const aoe_suite_options none = {.struct_size = sizeof(aoe_suite_options)};
    circle c = {.specials = 2};
    const aoei_eval_model e = circle_encoder(&c);
    *r = (reports){0};
    return aoei_suite_run(&e, dirs, n, o ? o : &none, collect, r, err);
}

static const aoe_suite_result *result_of(const reports *r, const char *name) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->name[i], name) == 0)
            return &r->result[i];
    fail_msg("no result for %s", name);
    return NULL;
}

static void assert_near(double got, double want, const char *what) {
    if (!(fabs(got - want) < 1e-6)) /* the cosines of float32 vectors have rounding errors */
        fail_msg("%s is %.17g, expected %.17g", what, got, want);
}

/* Writes text to the file dir/name in the test directory. Creates its parent directories if they are missing. */
static void write_file(const char *dir, const char *name, const char *text) {
    char *folder = test_path(test_dir, dir);
    assert_int_equal(aoei_make_dir(folder, NULL), 0);
    free(test_write_text(folder, name, text));
    free(folder);
}

enum { PAIRS = 7 };

/* degrees_of returns the angle between the two texts of pair i, and score_of returns the gold score of this pair. Pair
 * i belongs to subset k of the year `year`. All subsets are different. */
static double degrees_of(size_t year, size_t k, size_t i) {
    return (double)((i * 37 + k * 11 + year * 5) % 83) + 0.5 * (double)k;
}

static double score_of(size_t year, size_t k, size_t i) {
    return 5 - degrees_of(year, k, i) / 20 + (double)((i * 13 + k) % 4);
}

static size_t pairs_of(size_t k) {
    return PAIRS - k % 3; /* the subsets have three different sizes */
}

/* Writes the data set of the year `year` to its folder inside the folder `below`. Each subset has one line without a
 * gold score. */
static void write_year(const char *below, size_t year) {
    const aoei_suite_set *s = &aoei_suite_sets[year];
    char dir[200], name[100], input[1000], gold[1000];
    snprintf(dir, sizeof dir, "%s/%s", below, s->path);
    for (size_t k = 0; k < s->n; k++) {
        size_t in = (size_t)snprintf(input, sizeof input, "1\t2\n"), out = (size_t)snprintf(gold, sizeof gold, "\n");
        for (size_t i = 0; i < pairs_of(k); i++) {
            in += (size_t)snprintf(input + in, sizeof input - in, "0\t%.17g\n", degrees_of(year, k, i));
            out += (size_t)snprintf(gold + out, sizeof gold - out, "%.17g\n", score_of(year, k, i));
        }
        snprintf(name, sizeof name, "STS.input.%s.txt", s->part[k].name);
        write_file(dir, name, input);
        snprintf(name, sizeof name, "STS.gs.%s.txt", s->part[k].name);
        write_file(dir, name, gold);
    }
}

/* Computes the expected correlations of a year for every setting. */
static void settings_of(size_t year, double spearman[AOE_SETTING_COUNT], double pearson[AOE_SETTING_COUNT]) {
    double cosine[AOEI_SUITE_PARTS * PAIRS], gold[AOEI_SUITE_PARTS * PAIRS], weight = 0;
    size_t n = 0, parts = aoei_suite_sets[year].n;
    for (int i = 0; i < AOE_SETTING_COUNT; i++)
        spearman[i] = pearson[i] = 0;
    for (size_t k = 0; k < parts; k++) {
        const size_t count = pairs_of(k);
        for (size_t i = 0; i < count; i++) {
            cosine[n + i] = cos(degrees_of(year, k, i) * CIRCLE_RADIANS);
            gold[n + i] = score_of(year, k, i);
        }
        const double s = aoe_spearman(cosine + n, gold + n, count), p = aoe_pearson(cosine + n, gold + n, count);
        spearman[AOE_SETTING_MEAN] += s / (double)parts;
        pearson[AOE_SETTING_MEAN] += p / (double)parts;
        spearman[AOE_SETTING_WMEAN] += (double)count * s;
        pearson[AOE_SETTING_WMEAN] += (double)count * p;
        weight += (double)count;
        n += count;
    }
    spearman[AOE_SETTING_WMEAN] /= weight;
    pearson[AOE_SETTING_WMEAN] /= weight;
    spearman[AOE_SETTING_ALL] = aoe_spearman(cosine, gold, n);
    pearson[AOE_SETTING_ALL] = aoe_pearson(cosine, gold, n);
}

static void test_table_of_sets(void **state) {
    (void)state;
    size_t parts = 0;
    for (size_t i = 0; i < AOEI_SUITE_SETS; i++) {
        const aoei_suite_set *s = &aoei_suite_sets[i];
        size_t pairs = 0;
        for (size_t k = 0; k < s->n; k++)
            pairs += s->part[k].pairs;
        assert_int_equal(pairs, s->n ? s->pairs : 0);
        assert_int_equal(s->n > 0, i < AOEI_SUITE_YEARS);
        parts += s->n;
    }
    assert_int_equal(parts, 24);
    assert_string_equal(aoe_setting_name(AOE_SETTING_ALL), "all");
    assert_string_equal(aoe_setting_name(AOE_SETTING_WMEAN), "wmean");
    assert_null(aoe_setting_name(AOE_SETTING_COUNT));
}

static void test_settings(void **state) {
    (void)state;
    write_year("two", 0);
    write_year("two", 3);
    char *dir = test_path(test_dir, "two");
    const char *dirs[] = {dir};
    reports r;
    aoe_error err = {0};
    double s0[3], p0[3], s3[3], p3[3];
    if (run(&r, dirs, 1, NULL, &err))
        fail_msg("%s", err.message);
    settings_of(0, s0, p0);
    settings_of(3, s3, p3);
    assert_int_equal(r.n, 5 + 5 + 7 + 1); /* 5 subsets of STS12, 5 subsets of STS15, 7 sets, and 1 average */
    assert_string_equal(r.name[0], "STS12/MSRpar");
    assert_string_equal(r.name[5], "STS12");
    assert_string_equal(r.name[6], "STS13");
    assert_string_equal(r.name[r.n - 1], "average");
    const aoe_suite_result *a = result_of(&r, "STS12"), *b = result_of(&r, "STS15"), *missing = result_of(&r, "STS-B");
    const aoe_suite_result *mean = result_of(&r, "average");
    for (int k = 0; k < AOE_SETTING_COUNT; k++) {
        assert_near(a->spearman[k], s0[k], "spearman of STS12");
        assert_near(a->pearson[k], p0[k], "pearson of STS12");
        assert_near(b->spearman[k], s3[k], "spearman of STS15");
        assert_near(b->pearson[k], p3[k], "pearson of STS15");
        assert_near(mean->spearman[k], (s0[k] + s3[k]) / 2, "average spearman");
        assert_near(mean->pearson[k], (p0[k] + p3[k]) / 2, "average pearson");
        assert_true(isnan(missing->spearman[k]) && isnan(missing->pearson[k]));
    }
    assert_true(fabs(s0[0] - s0[1]) > 1e-3 && fabs(s0[1] - s0[2]) > 1e-4); /* the three settings must give different
                                                                              values */
    assert_int_equal(a->row, AOE_SUITE_SET);
    assert_int_equal(a->parts, 5);
    assert_int_equal(a->pairs, 7 + 6 + 5 + 7 + 6);
    assert_int_equal(a->skipped, 5);
    assert_int_equal(a->published_pairs, 3108);
    assert_int_equal(r.result[0].published_pairs, 750);
    assert_int_equal(missing->parts + missing->pairs, 0);
    assert_int_equal(mean->parts, 2);
    assert_int_equal(mean->pairs, a->pairs + b->pairs);
    free(dir);
}

static const char stsb[] =
    "g\tf\t2012\t1\t5.0\t0\t10\nmain\tf\t2012\t2\t4\t0\t\"20\tx\ty\nmain\tf\t2012\t3\t4.5\t0\t15\n";
static const char sick[] = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
                           "1\t0\t10\t4.5\tNEUTRAL\n2\t0\t20\t3.6\tNEUTRAL\n3\t0\t30\t4\tENTAILMENT\r\n";

/* Tests files whose columns are in another order. Each file contains the three pairs of `sick`, for which the
 * coefficient is 0.5. */
static void test_columns(void **state) {
    (void)state;
    static const struct {
        const char *set, *folder, *file, *text;
    } files[] = {
        {"SICK-R", "zenodo", "SICK_test_annotated.txt",
         "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
         "1\t0\t10\tNEUTRAL\t4.5\tTEST\n2\t0\t20\tNEUTRAL\t3.6\tTEST\n3\t0\t30\tENTAILMENT\t4\tTEST\n"},
        {"SICK-R", "votes", "SICK_test_annotated.txt",
         "Votes\tRelatedness_Score\tSentence_B\tSentence_A\n1\t4.5\t10\t0\n2\t3.6\t20\t0\n3\t4\t30\t0\n"},
        {"SICK-R", "bare", "SICK_test_annotated.txt", "1\t0\t10\t4.5\n2\t0\t20\t3.6\n3\t0\t30\t4\n"},
        {"STS-B", "glue", "sts-test.csv",
         "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
         "0\tg\tf\t2012\t1\tx\ty\t0\t10\t4.5\n1\tg\tf\t2012\t1\tx\ty\t0\t20\t3.6\n2\tg\tf\t2012\t1\tx\ty\t0\t30\t4\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        reports r;
        aoe_error err = {0};
        write_file(files[i].folder, files[i].file, files[i].text);
        char *dir = test_path(test_dir, files[i].folder);
        if (run(&r, (const char *const[]){dir}, 1, NULL, &err))
            fail_msg("%s: %s", files[i].folder, err.message);
        assert_int_equal(result_of(&r, files[i].set)->pairs, 3);
        assert_near(result_of(&r, files[i].set)->spearman[0], 0.5, files[i].folder);
        free(dir);
    }
}

/* Tests the messages for files whose first line has neither the names of the columns nor a pair. */
static void test_column_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } files[] = {
        {"pair_ID\tsentence_A\tsentence_B\tentailment_label\n1\t0\t10\tNEUTRAL\n",
         ":1: the header has no column relatedness_score"},
        {"id\tA\tB\trelated\n1\t0\t10\t4.5\n", ":1: the first line is neither a header with the columns sentence_A"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        reports r;
        aoe_error err = {0};
        write_file("names", "SICK_test_annotated.txt", files[i].text);
        char *dir = test_path(test_dir, "names");
        assert_int_equal(run(&r, (const char *const[]){dir}, 1, NULL, &err), AOE_EFORMAT);
        assert_non_null(strstr(err.message, files[i].want));
        free(dir);
    }
}

/* Tests the folders in which the sets are searched for. All seven sets must be found in the folders of SentEval. If a
 * set is missing in the first folder, it must be read from the second folder. */
static void test_locations(void **state) {
    (void)state;
    for (size_t year = 0; year < AOEI_SUITE_YEARS; year++)
        write_year("senteval/data/downstream/STS", year);
    write_file("senteval/data/downstream/STS/STSBenchmark", "sts-test.csv", stsb);
    write_file("senteval/data/downstream/SICK", "SICK_test_annotated.txt", sick);
    write_file("stsb/senteval", "sts-test.csv", "g\tf\t2012\t1\t5.0\t0\t10\nmain\tf\t2012\t2\t4\t0\t20\n");
    static const char *const folders[] = {"senteval", "senteval/data", "senteval/data/downstream"};
    reports r;
    for (size_t i = 0; i < 3; i++) {
        char *dir = test_path(test_dir, folders[i]);
        const char *dirs[] = {dir};
        aoe_error err = {0};
        if (run(&r, dirs, 1, NULL, &err))
            fail_msg("%s", err.message);
        assert_int_equal(result_of(&r, "average")->parts, 7);
        assert_int_equal(result_of(&r, "STS-B")->pairs, 3);
        /* the ranks of the cosines are 3 2 1, and the ranks of the gold scores are 3 1 2 */
        assert_near(result_of(&r, "SICK-R")->spearman[0], 0.5, "spearman of SICK-R");
        assert_near(result_of(&r, "SICK-R")->spearman[2], 0.5, "spearman of SICK-R");
        free(dir);
    }
    char *first = test_path(test_dir, "stsb"), *second = test_path(test_dir, "senteval");
    const char *dirs[] = {first, second};
    assert_int_equal(run(&r, dirs, 2, NULL, NULL), 0);
    assert_int_equal(result_of(&r, "STS-B")->pairs, 2);
    assert_int_equal(result_of(&r, "SICK-R")->pairs, 3);
    assert_int_equal(run(&r, dirs, 1, NULL, NULL), 0);
    assert_int_equal(result_of(&r, "average")->parts, 1);
    assert_near(result_of(&r, "average")->spearman[1], 1, "average of one");
    free(first);
    free(second);
}

/* Asserts that the evaluation of the folder `name` in the test directory fails with the error `code` and the message
 * `want`. */
static void expect_error(const char *name, const aoe_suite_options *o, int code, const char *want) {
    char *dir = test_path(test_dir, name), relative[1024] = "";
    const char *dirs[] = {dir};
    reports r;
    aoe_error err = {0};
    assert_int_equal(run(&r, dirs, 1, o, &err), code);
    for (size_t i = 0, n = 0; err.message[i]; i++) { /* removes the path of the test directory from the message */
        if (strncmp(err.message + i, test_dir, strlen(test_dir)) == 0)
            i += strlen(test_dir) + 1;
        relative[n++] = err.message[i];
    }
    assert_string_equal(relative, want);
    assert_int_equal(r.n, 0);
    free(dir);
}

static void test_errors(void **state) {
    (void)state;
    write_file("empty", "readme", "");
    expect_error("empty", NULL, AOE_ENOENT,
                 "empty: the folder contains none of the sets; give a folder of SentEval's data, which contains "
                 "STS12-en-test to "
                 "STS16-en-test, STSBenchmark and SICK");
    write_year("less", 1);
    char *path = test_path(test_dir, "less/STS13-en-test/STS.input.FNWN.txt");
    assert_int_equal(remove(path), 0);
    free(path);
    expect_error(
        "less", NULL, AOE_EFORMAT,
        "less/STS13-en-test: STS.input.FNWN.txt, one of the 3 subsets of STS13, is missing; download it, or remove "
        "the folder");
    write_file("stsb_bad", "sts-test.csv", "g\tf\t2012\t1\t5.0\t0\n");
    expect_error("stsb_bad", NULL, AOE_EFORMAT,
                 "stsb_bad/sts-test.csv:1: the line has 6 columns but must have at least 7; correct the row or set "
                 "options.skip_bad_rows");
    write_file("stsb_bad", "sts-test.csv", "g\tf\t2012\t1\tgood\t0\t1\n");
    expect_error("stsb_bad", NULL, AOE_EFORMAT,
                 "stsb_bad/sts-test.csv:1: 'good' is not a score; correct the row or set options.skip_bad_rows");
    const aoe_suite_options skip = {.struct_size = sizeof(aoe_suite_options), .skip_bad_rows = 1};
    expect_error("stsb_bad", &skip, AOE_EFORMAT, "stsb_bad/sts-test.csv: the file contains no pair; download it again");
    write_file("stsb_bad", "sts-test.csv",
               "g\tf\t2012\t1\tgood\t0\t1\ng\tf\t2012\t1\t2\t0\t1\ng\tf\t2012\t1\t3\t0\t0\n");
    char *dir = test_path(test_dir, "stsb_bad");
    const char *dirs[] = {dir};
    reports r;
    assert_int_equal(run(&r, dirs, 1, &skip, NULL), 0);
    assert_int_equal(result_of(&r, "STS-B")->skipped, 1);
    assert_int_equal(result_of(&r, "STS-B")->pairs, 2);
    assert_int_equal(run(&r, dirs, 0, NULL, NULL), AOE_EARG);
    free(dir);
}

/* Tests that the subset SMT of STS13 is ignored, because SentEval does not use it. */
static void test_additional_subsets(void **state) {
    (void)state;
    write_year("more", 1);
    char *dir = test_path(test_dir, "more");
    const char *dirs[] = {dir};
    reports before, after;
    assert_int_equal(run(&before, dirs, 1, NULL, NULL), 0);
    write_file("more/STS13-en-test", "STS.input.SMT.txt", "0\t1\n");
    write_file("more/STS13-en-test", "STS.gs.SMT.txt", "0\n");
    assert_int_equal(run(&after, dirs, 1, NULL, NULL), 0);
    assert_int_equal(after.n, before.n);
    assert_true(result_of(&after, "STS13")->spearman[0] == result_of(&before, "STS13")->spearman[0]);
    assert_int_equal(result_of(&after, "STS13")->pairs, result_of(&before, "STS13")->pairs);
    assert_int_equal(result_of(&after, "STS13")->skipped, result_of(&before, "STS13")->skipped + 1);
    free(dir);
}

static int count_calls(void *user, size_t done, size_t total) {
    size_t *calls = user;
    assert_true(done <= total && total == 31);
    return ++*calls == 3;
}

static void test_cancelling(void **state) {
    (void)state;
    write_year("stop", 0);
    char *dir = test_path(test_dir, "stop");
    const char *dirs[] = {dir};
    size_t calls = 0;
    const aoe_suite_options o = {.struct_size = sizeof(aoe_suite_options), .progress = count_calls, .user = &calls};
    reports r;
    assert_int_equal(run(&r, dirs, 1, &o, NULL), AOE_ECANCELLED);
    assert_int_equal(r.n, 2);
    free(dir);
}

/* Returns the first integer after the first occurrence of `name` in text. */
static size_t number_after(const char *text, const char *name) {
    const char *at = strstr(text, name);
    if (!at)
        fail_msg("no %s in the README", name);
    at += strlen(name);
    while (*at && !(at[0] == ' ' && at[1] >= '0' && at[1] <= '9'))
        at++;
    return strtoul(at, NULL, 10);
}

/* Compares the table of 24 subsets, which contains the numbers of pairs, with the README of the data sets. For the
 * subsets whose files are available, also compares the table with the numbers of pairs in the files. */
static void test_published_counts(void **state) {
    (void)state;
    char *path = test_shared_path("data/sts12_14_15/README.txt");
    if (!path)
        skip();
    char *readme = test_read(path, NULL);
    const char *counts = strstr(readme, "Scored pairs");
    size_t checked = 0;
    assert_non_null(counts);
    for (size_t i = 0; i < AOEI_SUITE_YEARS; i++) {
        const aoei_suite_set *s = &aoei_suite_sets[i];
        char folder[100];
        const char *year = strstr(counts, s->name);
        assert_non_null(year);
        assert_int_equal(number_after(year, s->name), s->pairs);
        for (size_t k = 0; k < s->n; k++)
            assert_int_equal(number_after(year, s->part[k].name), s->part[k].pairs);
        if (i == 1 || i == 4) /* the files of STS13 and STS16 are not in this folder */
            continue;
        snprintf(folder, sizeof folder, "data/sts12_14_15/senteval/%s", s->path);
        char *dir = test_shared_path(folder);
        aoei_senteval read;
        assert_non_null(dir);
        assert_int_equal(aoei_senteval_load(&read, dir, 0, NULL), 0);
        assert_int_equal(read.n, s->n);
        for (size_t k = 0; k < s->n; k++, checked++) {
            assert_string_equal(read.subset[k].name, s->part[k].name);
            assert_int_equal(aoe_pairs_count(read.subset[k].pairs), s->part[k].pairs);
            /* only STS15 has lines without a score; its README says, for example, "answers-forums 375 (of 2000
             * lines)" */
            assert_int_equal(read.subset[k].unscored > 0, i == 3);
        }
        aoei_senteval_free(&read);
        free(dir);
    }
    assert_int_equal(checked, 16);
    free(readme);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_of_sets),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_column_errors),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_additional_subsets),
        cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_published_counts),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
