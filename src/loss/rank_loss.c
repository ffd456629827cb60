/* SPDX-License-Identifier: MIT
 * The ranking loss. A sum of exponentials is represented by two numbers, max and sum. Its value is sum * exp(max), with
 * sum >=
 * 1. Large scores therefore do not overflow, and small terms are not lost. The terms of each sum are added in a fixed
 *    order, the order of the sorted labels, so the result is deterministic.
 */
#include "loss/rank_loss.h"

#include "base/sort.h"

#include <math.h>
#include <string.h>

/* A sum of exponentials exp(t), represented as sum * exp(max), where max is the largest t. If there are no terms, max
 * is -infinity. */
typedef struct scaled_sum {
    double max, sum;
} scaled_sum;

static void add_term(scaled_sum *a, double t) {
    if (t <= a->max) {
        a->sum += exp(t - a->max);
    } else {
        a->sum = a->sum * exp(a->max - t) + 1.0;
        a->max = t;
    }
}

void aoei_ranking_build(aoei_ranking *r, const double *label, size_t n, size_t *order, size_t *start, size_t *scratch) {
    *r = (aoei_ranking){.n = n, .order = order, .start = start};
    aoei_argsort(label, n, order, scratch);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || label[order[i - 1]] < label[order[i]])
            start[r->tiers++] = i;
    start[r->tiers] = n;
}

size_t aoei_ranking_pairs(const aoei_ranking *r) {
    size_t pairs = 0;
    for (size_t t = 0; t < r->tiers; t++)
        pairs += (r->start[t + 1] - r->start[t]) * r->start[t];
    return pairs;
}

/* Computes two sums for each tier t, which consists of all items with one label. lower[t] is the sum of exp(s_i) over
 * all items i in lower tiers. higher[t] is the sum of exp(-s_j) over all items j in higher tiers. */
static void sum_tiers(const aoei_ranking *r, const double *s, scaled_sum *lower, scaled_sum *higher) {
    scaled_sum a = {-INFINITY, 0.0};
    for (size_t t = 0; t < r->tiers; t++) {
        lower[t] = a;
        for (size_t i = r->start[t]; i < r->start[t + 1]; i++)
            add_term(&a, s[r->order[i]]);
    }
    a = (scaled_sum){-INFINITY, 0.0};
    for (size_t t = r->tiers; t-- > 0;) {
        higher[t] = a;
        for (size_t i = r->start[t]; i < r->start[t + 1]; i++)
            add_term(&a, -s[r->order[i]]);
    }
}

double aoei_rank_loss(const aoei_ranking *r, const double *s, double *grad, double *scratch) {
    scaled_sum *lower = (scaled_sum *)(void *)scratch, *higher = lower + r->n;
    if (grad)
        memset(grad, 0, r->n * sizeof *grad);
    if (r->tiers < 2)
        return 0.0;
    sum_tiers(r, s, lower, higher);

    double max = 0.0; /* largest exponent among the terms whose sum is in the logarithm of L (rank_loss.h); the term 1
                         has the exponent 0 */
    for (size_t t = 1; t < r->tiers; t++)
        for (size_t j = r->start[t]; j < r->start[t + 1]; j++)
            max = fmax(max, lower[t].max - s[r->order[j]]);
    double sum = 0.0; /* sum of the terms of all ordered pairs, multiplied by exp(-max) */
    for (size_t t = 1; t < r->tiers; t++)
        for (size_t j = r->start[t]; j < r->start[t + 1]; j++)
            sum += lower[t].sum * exp(lower[t].max - s[r->order[j]] - max);
    double total = exp(-max) + sum;
    for (size_t t = 0; grad && t < r->tiers; t++) {
        for (size_t k = r->start[t]; k < r->start[t + 1]; k++) {
            size_t i = r->order[k];
            double up = t + 1 < r->tiers ? higher[t].sum * exp(higher[t].max + s[i] - max) : 0.0;
            double down = t > 0 ? lower[t].sum * exp(lower[t].max - s[i] - max) : 0.0;
            grad[i] = (up - down) / total;
        }
    }
    return max > 0.0 ? max + log(total) : log1p(sum);
}
