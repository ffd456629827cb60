/* SPDX-License-Identifier: MIT
 * Computes the highest accuracy and the highest F1 over all thresholds, and the average precision. The pairs are
 * processed once, in descending order of their scores. Pairs with equal scores are accepted (predicted to be positive)
 * together. Counts are exact; only divisions are rounded.
 */
#include "aoe.h"
#include "aoe_eval.h"

#include <math.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/sort.h"

/* Returns a threshold t with rejected < t <= accepted. It is halfway between `rejected` and `accepted` unless rounding
 * prevents this. */
static double midway(double accepted, double rejected) {
    const double middle = rejected + (accepted - rejected) / 2;
    return middle > rejected && middle <= accepted ? middle : accepted;
}

/* Counts at one threshold: a pair is accepted (predicted positive) if its score is at least the threshold. */
typedef struct counts {
    double threshold;      /* lowest accepted score */
    size_t accepted;       /* number of accepted pairs */
    size_t true_positives; /* number of accepted pairs that are positive */
} counts;

/* Updates the best accuracy and F1 with the counts at one threshold. n: number of pairs. */
static void add_threshold(aoe_binary_metrics *m, const counts *s, size_t n) {
    const size_t false_positives = s->accepted - s->true_positives, false_negatives = m->positives - s->true_positives;
    const double accuracy = (double)(n - false_positives - false_negatives) / (double)n;
    if (accuracy > m->accuracy) {
        m->accuracy = accuracy;
        m->accuracy_threshold = s->threshold;
    }
    if (!m->positives)
        return;
    /* F1 = 2 p r / (p + r), where p = true_positives / accepted is the precision and r = true_positives / positives is
     * the recall */
    const double f1 = 2.0 * (double)s->true_positives / (double)(s->accepted + m->positives);
    if (f1 > m->f1) {
        m->f1 = f1;
        m->f1_threshold = s->threshold;
        m->f1_precision = s->accepted ? (double)s->true_positives / (double)s->accepted : 0;
        m->f1_recall = (double)s->true_positives / (double)m->positives;
    }
}

static void scan_thresholds(aoe_binary_metrics *m, const double *score, const uint8_t *positive, size_t n,
                            const size_t *order) {
    counts s = {.threshold = nextafter(score[order[n - 1]], INFINITY)}; /* a threshold that accepts no pair */
    add_threshold(m, &s, n);
    for (size_t end = n, first; end > 0; end = first) {
        size_t before = s.true_positives;
        for (first = end; first > 0 && score[order[first - 1]] == score[order[end - 1]]; first--)
            s.true_positives += positive[order[first - 1]] != 0;
        s.accepted = n - first;
        const double accepted = score[order[first]];
        s.threshold = first ? midway(accepted, score[order[first - 1]]) : accepted;
        add_threshold(m, &s, n);
        if (m->positives)
            m->average_precision += (double)(s.true_positives - before) / (double)m->positives *
                                    ((double)s.true_positives / (double)s.accepted);
    }
}

int aoe_binary(aoe_binary_metrics *m, const double *score, const uint8_t *positive, size_t n, aoe_error *err) {
    AOEI_CHECK(err, m, score, positive);
    *m = (aoe_binary_metrics){.accuracy = -1, .f1 = -1};
    if (!n)
        return aoei_fail(err, AOE_EARG, "there are no pairs; give at least one");
    for (size_t i = 0; i < n; i++) {
        if (isnan(score[i]))
            return aoei_fail(err, AOE_ENUMERIC, "score %zu is NaN; all scores must be numbers", i);
        m->positives += positive[i] != 0;
    }
    size_t *order = aoei_malloc_array(n, 2 * sizeof *order);
    if (!order)
        return aoei_fail_nomem(err, 2 * n * sizeof *order);
    aoei_argsort(score, n, order, order + n);
    scan_thresholds(m, score, positive, n, order);
    aoei_free(order);
    if (!m->positives)
        m->f1 = m->f1_threshold = m->f1_precision = m->f1_recall = m->average_precision = NAN;
    return 0;
}
