/* SPDX-License-Identifier: MIT
 * The ranking loss of the cosine and angle objectives (CoSENT loss) and its gradient:
 *     L = log(1 + sum over (i, j) with label_i < label_j of exp(s_i - s_j))
 * The computation takes O(B log B) time for B scores s. An item is an index into the scores and labels.
 * aoei_ranking_build sorts the labels; the cosine objective and the angle objective of a batch use one ranking. Items
 * with equal labels form a tier; tiers are numbered from the lowest label to the highest.
 */
#pragma once

#include <stddef.h>

typedef struct aoei_ranking {
    size_t n;      /* number of items */
    size_t tiers;  /* number of tiers, which is the number of distinct labels */
    size_t *order; /* [n] indices of the items, sorted by label, then by index; borrowed */
    size_t *start; /* [n + 1] start of each tier in `order`: tier t consists of the items order[start[t]] to
                      order[start[t + 1] - 1]; only the first tiers + 1 elements are used; borrowed */
} aoei_ranking;

/* Computes the ranking of label[n]. *r borrows order[n] and start[n + 1]. scratch[n] is used only during the call. */
void aoei_ranking_build(aoei_ranking *r, const double *label, size_t n, size_t *order, size_t *start, size_t *scratch);

/* Returns the number of ordered pairs (i, j) with label_i < label_j. */
size_t aoei_ranking_pairs(const aoei_ranking *r);

/* Returns the loss L for the scores s[n]. Overwrites grad[n] by the gradient dL/ds; grad may be NULL. scratch[4n] is
 * used only during the call. */
double aoei_rank_loss(const aoei_ranking *r, const double *s, double *grad, double *scratch);
