/* SPDX-License-Identifier: MIT
 * covers: eval/triplets
 * Tests the evaluations of binary pairs and of triplets. An encoder for tests maps each text to a vector on a circle:
 * the text is the angle in degrees. Metrics are compared with values computed by hand. Other tests cover labels,
 * several files, counts of rows and of texts, and rejected inputs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/circle.h"
#include "../support/support.h"
#include "aoe_eval.h"
#include "eval/binary.h"
#include "eval/triplets.h"

typedef struct reports {
    size_t n; /* number of results that were reported */
    aoe_binary_result pairs[4];
    aoe_triplet_result triplets[4];
    char name[4][100];
} reports;

static void collect_pairs(void *user, const aoe_binary_result *result) {
    reports *r = user;
    assert_true(r->n < 4);
    r->pairs[r->n] = *result;
    snprintf(r->name[r->n++], sizeof r->name[0], "%s", result->name);
}

static void collect_triplets(void *user, const aoe_triplet_result *result) {
    reports *r = user;
    assert_true(r->n < 4);
    r->triplets[r->n] = *result;
    snprintf(r->name[r->n++], sizeof r->name[0], "%s", result->name);
}

static int run_pairs(reports *r, const char *const *paths, size_t n, const aoe_binary_options *o, aoe_error *err) {
    circle c = {.specials = 2};
    const aoei_eval_model e = circle_encoder(&c);
    *r = (reports){0};
    return aoei_binary_run(&e, paths, n, o, collect_pairs, r, err);
}

static int run_triplets(reports *r, circle *c, const char *const *paths, size_t n, const aoe_triplet_options *o,
                        aoe_error *err) {
    const aoei_eval_model e = circle_encoder(c);
    *r = (reports){0};
    return aoei_triplets_run(&e, paths, n, o, collect_triplets, r, err);
}

static void near(double got, double want, const char *what) {
    if (!(fabs(got - want) < 1e-6)) /* the cosines of float32 vectors have rounding errors */
        fail_msg("%s: expected %.17g, found %.17g", what, want, got);
}

/* The columns have the names that QNLI uses. The five pairs have the labels 1 1 0 1 0 and the angles 10 20 30 40 50.
 * Accuracy is highest, 4/5, if the threshold accepts angles up to 20 or up to 40. The higher threshold on the cosine
 * must be chosen. F1 is highest if the threshold accepts angles up to 40: recall 3/3, precision 3/4. */
static void test_pairs_by_hand(void **state) {
    (void)state;
    char *path =
        test_write_text(test_dir, "qnli.tsv",
                        "label\tquestion\tsentence\tindex\nentailment\t0\t10\t0\nentailment\t0\t20\t1\n"
                        "not_entailment\t0\t30\t2\nentailment\t\t40\t3\nnot_entailment\t0\t50\t4\nneutral\t0\t1\t5\n");
    const char *const paths[] = {path, path};
    const double cosine[] = {cos(10 * CIRCLE_RADIANS), cos(20 * CIRCLE_RADIANS), cos(30 * CIRCLE_RADIANS),
                             cos(40 * CIRCLE_RADIANS), cos(50 * CIRCLE_RADIANS)},
                 label[] = {1, 1, 0, 1, 0};
    aoe_binary_options o;
    reports r;
    aoe_error err = {0};
    aoe_binary_options_defaults(&o);
    if (run_pairs(&r, paths, 2, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const aoe_binary_result *p = &r.pairs[i];
        assert_string_equal(r.name[i], "qnli.tsv");
        assert_int_equal(p->pairs, 5);
        assert_int_equal(p->skipped, 1);
        assert_int_equal(p->empty, 1);
        assert_int_equal(p->metrics.positives, 3);
        near(p->spearman, aoe_spearman(cosine, label, 5), "spearman");
        near(p->pearson, aoe_pearson(cosine, label, 5), "pearson");
        near(p->metrics.accuracy, 0.8, "accuracy");
        near(p->metrics.accuracy_threshold, (cosine[1] + cosine[2]) / 2, "its threshold");
        near(p->metrics.f1, 6.0 / 7, "f1");
        near(p->metrics.f1_threshold, (cosine[3] + cosine[4]) / 2, "its threshold");
        near(p->metrics.average_precision, (1 + 1 + 0.75) / 3, "average precision");
    }
    free(path);
}

static void test_labels(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "graded.tsv", "text1\ttext2\tlabel\n0\t10\t1\n0\t20\t4.5\n0\t30\t0\n");
    const char *const paths[] = {path};
    char want[400];
    aoe_binary_options o;
    reports r;
    aoe_error err = {0};
    aoe_binary_options_defaults(&o);
    assert_int_equal(run_pairs(&r, paths, 1, &o, &err), AOE_EFORMAT);
    snprintf(want, sizeof want,
             "%s:3: the label 4.5 is neither 0 nor 1; set options.positive_from to the lowest label of a positive pair",
             path);
    assert_string_equal(err.message, want);
    o.positive_from = 4;
    assert_int_equal(run_pairs(&r, paths, 1, &o, NULL), 0);
    assert_int_equal(r.pairs[0].metrics.positives, 1);
    /* The ranks of the labels are 3 2 1, and the ranks of the cosines are 2 3 1. The correlation must be computed from
     * the labels and not from the two classes positive and negative. */
    near(r.pairs[0].spearman, 0.5, "spearman");
    assert_int_equal(run_pairs(&r, paths, 0, &o, &err), AOE_EARG);
    o.positive_from = NAN;
    assert_int_equal(run_pairs(&r, paths, 1, &o, &err), AOE_EARG);
    assert_string_equal(err.message, "options.positive_from is not a number");
    free(path);
}

/* Tests four triplets. The first and the last are correct, the second is wrong, and the third is a tie, which counts as
 * wrong. */
static void test_triplets_by_hand(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "triplets.tsv",
                                 "premise\tentailment\tcontradiction\n0\t10\t20\n0\t40\t30\n0\t5\t5\n7\t7\t\n");
    const char *const paths[] = {path};
    const aoe_triplet_options o = {.struct_size = sizeof(aoe_triplet_options)};
    circle c = {.specials = 2};
    reports r;
    aoe_error err = {0};
    if (run_triplets(&r, &c, paths, 1, &o, &err))
        fail_msg("%s", err.message);
    assert_string_equal(r.name[0], "triplets.tsv");
    assert_int_equal(r.triplets[0].triplets, 4);
    assert_int_equal(r.triplets[0].empty, 1);
    /* each of the 8 distinct texts (0, 10, 20, 40, 30, 5, 7 and the empty text) is embedded once */
    assert_int_equal(c.texts, 8);
    near(r.triplets[0].accuracy, 0.5, "accuracy");
    near(r.triplets[0].ties, 0.25, "ties");
    double positive = 1, negative = cos(7 * CIRCLE_RADIANS);
    for (size_t i = 0; i < 3; i++) {
        positive += cos((const double[]){10, 40, 5}[i] * CIRCLE_RADIANS);
        negative += cos((const double[]){20, 30, 5}[i] * CIRCLE_RADIANS);
    }
    near(r.triplets[0].positive_score, positive / 4, "positive");
    near(r.triplets[0].negative_score, negative / 4, "negative");
    free(path);
}

/* Tests the other similarities. The mean score of the positives is that of the angles 10, 40, 5 and 0, and the accuracy
 * by distance is that by cosine, because all vectors have unit length. */
static void test_triplets_by_similarity(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "triplets.tsv",
                                 "premise\tentailment\tcontradiction\n0\t10\t20\n0\t40\t30\n0\t5\t5\n7\t7\t\n");
    const char *const paths[] = {path};
    const aoe_triplet_options o = {.struct_size = sizeof(aoe_triplet_options)};
    const double angle[] = {10, 40, 5};
    for (int f = 0; f < AOE_SIMILARITY_COUNT; f++) {
        circle c = {.specials = 2, .similarity = (aoe_similarity_function)f};
        reports r;
        assert_int_equal(run_triplets(&r, &c, paths, 1, &o, NULL), 0);
        near(r.triplets[0].accuracy, 0.5, "accuracy");
        double positive = f <= AOE_SIMILARITY_DOT ? 1 : 0;
        for (size_t i = 0; i < 3; i++) {
            const double a = angle[i] * CIRCLE_RADIANS;
            positive += f == AOE_SIMILARITY_EUCLIDEAN   ? -2 * sin(a / 2)
                        : f == AOE_SIMILARITY_MANHATTAN ? cos(a) - 1 - sin(a)
                                                        : cos(a);
        }
        near(r.triplets[0].positive_score, positive / 4, "positive");
    }
    free(path);
}

static int score_nothing(void *user, const aoe_text *first, const aoe_text *second, size_t n, double *scores,
                         uint8_t *truncated, size_t *failed, aoe_error *err) {
    (void)user;
    (void)first;
    (void)second;
    (void)n;
    (void)scores;
    (void)truncated;
    (void)failed;
    (void)err;
    return 0;
}

static void test_set_similarity(void **state) {
    (void)state;
    circle c = {0};
    aoei_eval_model e = circle_encoder(&c);
    aoe_error err = {0};
    assert_int_equal(aoei_eval_model_set_similarity(&e, AOE_SIMILARITY_MANHATTAN, &err), 0);
    assert_int_equal(e.similarity, AOE_SIMILARITY_MANHATTAN);
    assert_int_equal(aoei_eval_model_set_similarity(&e, AOE_SIMILARITY_COUNT, &err), AOE_EARG);
    assert_string_equal(err.message, "options.similarity is 4, which is no aoe_similarity_function");
    e.score = score_nothing;
    assert_int_equal(aoei_eval_model_set_similarity(&e, AOE_SIMILARITY_DOT, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "the model is a cross-encoder"));
    assert_int_equal(aoei_eval_model_set_similarity(&e, AOE_SIMILARITY_COSINE, &err), 0);
}

static int stop_at_once(void *user, size_t done, size_t total) {
    *(size_t *)user = done * 100 + total;
    return 1;
}

static void test_triplet_errors(void **state) {
    (void)state;
    char *good = test_write_text(test_dir, "good.tsv", "query\tpositive\tnegative\n0\t10\t20\n0\t40\t80\n");
    char *bad =
        test_write_text(test_dir, "bad.jsonl", "{\"query\":\"1\",\"positive\":[\"1\",\"2\"],\"negative\":\"3\"}\n");
    const char *const paths[] = {good, bad};
    aoe_triplet_options o = {.struct_size = sizeof(aoe_triplet_options)};
    circle c = {.specials = 2};
    reports r;
    aoe_error err = {0};
    char want[400];
    assert_int_equal(run_triplets(&r, &c, paths, 2, &o, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "bad.jsonl:1: column 'positive': the text is not a JSON string"));
    assert_int_equal(r.n + c.calls, 0);
    c.poisoned = "80";
    assert_int_equal(run_triplets(&r, &c, paths, 1, &o, &err), AOE_ENUMERIC);
    snprintf(want, sizeof want, "%s:3: negative: the vector is not finite", good);
    assert_string_equal(err.message, want);
    size_t seen;
    c.poisoned = NULL;
    o.progress = stop_at_once;
    o.user = &seen;
    assert_int_equal(run_triplets(&r, &c, paths, 1, &o, &err), AOE_ECANCELLED);
    assert_int_equal(seen, 404);
    c = (circle){0};
    char *blank = test_write_text(test_dir, "blank.tsv", "query\tpositive\tnegative\n0\t \t20\n");
    const char *const empty[] = {blank};
    assert_int_equal(run_triplets(&r, &c, empty, 1, &o, &err), AOE_EFORMAT);
    snprintf(want, sizeof want, "%s:2: positive has no token; correct or remove the row", blank);
    assert_string_equal(err.message, want);
    free(good);
    free(bad);
    free(blank);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_by_hand),    cmocka_unit_test(test_labels),
        cmocka_unit_test(test_triplets_by_hand), cmocka_unit_test(test_triplets_by_similarity),
        cmocka_unit_test(test_set_similarity),   cmocka_unit_test(test_triplet_errors),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
