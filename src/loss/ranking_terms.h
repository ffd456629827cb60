/* SPDX-License-Identifier: MIT
 * The two loss terms that rank pairs by their labels: cosine and angle (equations 1 and 7 of the AnglE paper). The functions
 * compute the scores of single pairs, the losses over all pairs, and the gradients of single pairs. Functions for single pairs
 * may be called in parallel for different pairs.
 */
#ifndef AOEI_LOSS_RANKING_TERMS_H
#define AOEI_LOSS_RANKING_TERMS_H

#include <stddef.h>

#include "aoe_train.h"
#include "base/arena.h"

typedef struct aoei_ranking_terms {
    const aoe_objective_options *o; /* borrowed; terms with weight 0 are not computed */
    size_t n;                       /* number of pairs */
    double *cosine, *angle;         /* [n] scores of the pairs, divided by the temperature */
    double *d_cosine, *d_angle;     /* [n] d loss / d score */
    double *scratch;                /* [4n] workspace of aoei_rank_loss */
    size_t *order, *start, *sorted; /* [n], [n + 1] and [n] workspace of aoei_ranking_build */
} aoei_ranking_terms;

/* Takes the memory for n pairs from the arena. A measuring arena only computes the size. The caller then sets o. */
void aoei_ranking_terms_lay_out(aoei_ranking_terms *r, aoei_arena *a, size_t n);
/* Computes the scores of pair i. x, y: [D]. */
void aoei_ranking_terms_score(aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D);
/* Sets cosine, angle and ordered_pairs of the result from the scores of all pairs. If with_grad is 1, also computes d_cosine
 * and d_angle. label: [n]. */
void aoei_ranking_terms_loss(aoei_ranking_terms *r, const double *label, int with_grad, aoe_objective_result *result);
/* These functions add gradients with respect to the vectors x and y of pair i to gx[D] and gy[D]. The first function adds the
 * gradient of w_cosine times the cosine loss, and the second function adds that of w_angle times the angle loss. */
void aoei_ranking_terms_cosine_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                    double *gx, double *gy);
void aoei_ranking_terms_angle_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                   double *gx, double *gy);

#endif
