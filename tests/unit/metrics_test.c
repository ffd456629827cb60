/* SPDX-License-Identifier: MIT
 * tags: numbers threads
 * Metrics against scipy and scikit-learn (metric_tables.h, made by tools/metric_tables.py)
 * and against values worked out by hand: thresholds, ties, what is undefined.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/metric_tables.h"
#include "../support/support.h"
#include "aoe.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "stats/ranking.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void near(double got, double want, const char *what, size_t i) {
    if (!(fabs(got - want) <= 1e-9))
        fail_msg("%s of case %zu is %.17g, not %.17g", what, i, got, want);
}

static void test_correlations_of_scipy(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(metric_correlations); i++) {
        const metric_correlation *c = &metric_correlations[i];
        near(aoe_spearman(c->x, c->y, c->n), c->spearman, "spearman", i);
        near(aoe_pearson(c->x, c->y, c->n), c->pearson, "pearson", i);
    }
}

/* What a threshold gives, counted. */
static void judge(const double *score, const uint8_t *label, size_t n, double threshold, double *accuracy, double *f1,
                  double *precision, double *recall) {
    size_t right = 0, accepted = 0, positives = 0, agree = 0;
    for (size_t i = 0; i < n; i++) {
        const int yes = score[i] >= threshold;
        accepted += (size_t)yes;
        positives += label[i];
        right += yes && label[i];
        agree += yes == label[i];
    }
    *accuracy = (double)agree / (double)n;
    *precision = accepted ? (double)right / (double)accepted : 0;
    *recall = (double)right / (double)positives;
    *f1 = right ? 2 * *precision * *recall / (*precision + *recall) : 0;
}

/* The figures, and that the thresholds give them. */
static void test_binaries_of_sklearn(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(metric_binaries); i++) {
        const metric_binary *c = &metric_binaries[i];
        aoe_binary_metrics m;
        double accuracy, f1, precision, recall;
        assert_int_equal(aoe_binary(&m, c->score, c->label, c->n, NULL), 0);
        near(m.accuracy, c->accuracy, "accuracy", i);
        near(m.f1, c->f1, "f1", i);
        near(m.average_precision, c->average_precision, "average precision", i);
        judge(c->score, c->label, c->n, m.accuracy_threshold, &accuracy, &f1, &precision, &recall);
        near(accuracy, m.accuracy, "accuracy at its threshold", i);
        judge(c->score, c->label, c->n, m.f1_threshold, &accuracy, &f1, &precision, &recall);
        near(f1, m.f1, "f1 at its threshold", i);
        near(precision, m.f1_precision, "precision", i);
        near(recall, m.f1_recall, "recall", i);
    }
}

/* 0.9+ 0.8+ | 0.6- 0.5+ 0.5- 0.1-: best accuracy 5/6 from midway between 0.8 and 0.6; F1: 2 of 3 found, 4/5 there; from 0.5 on
 * 3 of 5 right, 6/8. Average precision 1/3 + 1/3 + 1/3 3/5. */
static void test_thresholds_by_hand(void **state) {
    (void)state;
    const double score[] = {0.5, 0.9, 0.1, 0.8, 0.5, 0.6};
    const uint8_t label[] = {1, 1, 0, 1, 0, 0};
    aoe_binary_metrics m;
    assert_int_equal(aoe_binary(&m, score, label, 6, NULL), 0);
    assert_int_equal(m.positives, 3);
    near(m.accuracy, 5.0 / 6, "accuracy", 0);
    near(m.accuracy_threshold, 0.7, "threshold", 0);
    near(m.f1, 0.8, "f1", 0);
    near(m.f1_threshold, 0.7, "threshold", 0);
    near(m.average_precision, (2 + 0.6) / 3, "average precision", 0);
}

static void test_ends_of_the_scale(void **state) {
    (void)state;
    const double score[] = {0.2, 0.4, 0.4}, next[] = {1, 1 + DBL_EPSILON};
    const uint8_t upside_down[] = {1, 0, 0}, all[] = {1, 1, 1}, none[] = {0, 0, 0}, up[] = {0, 1};
    aoe_binary_metrics m;
    /* nothing accepted is best: the threshold is above every score */
    assert_int_equal(aoe_binary(&m, score, upside_down, 3, NULL), 0);
    near(m.accuracy, 2.0 / 3, "accuracy", 0);
    assert_true(m.accuracy_threshold > 0.4 && m.accuracy_threshold < 0.400001);
    near(m.f1, 0.5, "f1", 0);
    near(m.f1_threshold, 0.2, "threshold", 0);
    /* one class */
    assert_int_equal(aoe_binary(&m, score, all, 3, NULL), 0);
    near(m.accuracy + m.f1 + m.average_precision, 3, "sum", 1);
    near(m.accuracy_threshold, 0.2, "threshold", 1);
    assert_int_equal(aoe_binary(&m, score, none, 3, NULL), 0);
    near(m.accuracy, 1, "accuracy", 2);
    assert_true(isnan(m.f1) && isnan(m.f1_threshold) && isnan(m.f1_precision) && isnan(m.f1_recall) &&
                isnan(m.average_precision));
    /* no number lies between neighbours: the threshold is the upper one */
    assert_int_equal(aoe_binary(&m, next, up, 2, NULL), 0);
    assert_true(m.accuracy_threshold == next[1] && m.f1_threshold == next[1]);
}

static void test_binary_errors(void **state) {
    (void)state;
    const double score[] = {1, NAN};
    const uint8_t label[] = {0, 1};
    aoe_binary_metrics m;
    aoe_error err = {0};
    assert_int_equal(aoe_binary(&m, score, label, 0, &err), AOE_EARG);
    assert_int_equal(aoe_binary(&m, score, label, 2, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "score 1 is NaN"));
    aoei_alloc_fail_at(1);
    assert_int_equal(aoe_binary(&m, score, label, 1, NULL), AOE_ENOMEM);
    aoei_alloc_fail_at(0);
}

static int best_first(const void *pa, const void *pb) {
    const double *a = pa, *b = pb; /* score, index, gain */
    if (a[0] < b[0] || a[0] > b[0])
        return a[0] > b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : 1;
}

static int descending(const void *pa, const void *pb) {
    const double *a = pa, *b = pb;
    return (*a < *b) - (*a > *b);
}

static void test_rankings_of_sklearn(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(metric_rankings); i++) {
        const metric_ranking *c = &metric_rankings[i];
        double rows[64][3], gain[64], ideal[64];
        size_t relevant = 0;
        assert_true(c->n <= 64);
        for (size_t k = 0; k < c->n; k++) {
            rows[k][0] = c->score[k];
            rows[k][1] = (double)k;
            rows[k][2] = c->gain[k];
            if (c->gain[k] > 0)
                ideal[relevant++] = c->gain[k];
        }
        qsort(rows, c->n, sizeof *rows, best_first);
        qsort(ideal, relevant, sizeof *ideal, descending);
        for (size_t k = 0; k < c->n; k++)
            gain[k] = rows[k][2];
        near(aoei_recall(gain, c->n, c->k, relevant), c->recall, "recall", i);
        near(aoei_reciprocal_rank(gain, c->n, c->k), c->reciprocal_rank, "reciprocal rank", i);
        near(aoei_ndcg(gain, c->n, c->k, ideal, relevant), c->ndcg, "nDCG", i);
    }
}

static void test_rankings_by_hand(void **state) {
    (void)state;
    const double gain[] = {0, 2, 0, 1}, ideal[] = {3, 2, 1};
    near(aoei_recall(gain, 4, 3, 3), 1.0 / 3, "recall", 0);
    near(aoei_recall(gain, 4, 100, 3), 2.0 / 3, "recall", 1);
    near(aoei_reciprocal_rank(gain, 4, 2), 0.5, "reciprocal rank", 0);
    near(aoei_reciprocal_rank(gain, 4, 1), 0, "reciprocal rank", 1);
    const double want = (2 / log2(3) + 1 / log2(5)) / (3 + 2 / log2(3) + 1 / log2(4));
    near(aoei_ndcg(gain, 4, 10, ideal, 3), want, "nDCG", 0);
    near(aoei_ndcg(gain, 4, 2, ideal, 3), (2 / log2(3)) / (3 + 2 / log2(3)), "nDCG", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_correlations_of_scipy), cmocka_unit_test(test_binaries_of_sklearn),
        cmocka_unit_test(test_thresholds_by_hand),    cmocka_unit_test(test_ends_of_the_scale),
        cmocka_unit_test(test_binary_errors),         cmocka_unit_test(test_rankings_of_sklearn),
        cmocka_unit_test(test_rankings_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
