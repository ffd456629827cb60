/* SPDX-License-Identifier: MIT
 * The ranking loss that the cosine and the angle objective share:
 *     L = log(1 + sum over (i, j) with label_i < label_j of exp(s_i - s_j))
 * and its gradient, in O(B log B) time after one sort of the labels. Items
 * with equal labels form a tier; tiers are numbered in ascending order of the label.
 */
#ifndef AOEI_LOSS_RANK_LOSS_H
#define AOEI_LOSS_RANK_LOSS_H

#include <stddef.h>

typedef struct aoei_ranking {
    size_t n;      /* items */
    size_t tiers;  /* distinct labels */
    size_t *order; /* [n] items by label, then by index; borrowed */
    size_t *start; /* [n + 1], tiers + 1 in use: tier t is order[start[t]] .. order[start[t + 1] - 1]; borrowed */
} aoei_ranking;

/* Fills r from label[n]; order [n] and start [n + 1] are borrowed by r; scratch: [n]. */
void aoei_ranking_build(aoei_ranking *r, const double *label, size_t n, size_t *order, size_t *start, size_t *scratch);

/* The number of (i, j) with label_i < label_j. */
size_t aoei_ranking_pairs(const aoei_ranking *r);

/* Returns L of the scores s[n]; grad[n] (may be NULL) is overwritten with dL/ds. scratch: [4n]. */
double aoei_rank_loss(const aoei_ranking *r, const double *s, double *grad, double *scratch);

#endif
