/* SPDX-License-Identifier: MIT
 * The two terms that rank pairs by their labels, cosine and angle (equations 1 and 7):
 * scores of single pairs, the losses over all pairs, and gradients of single pairs. Different
 * pairs may be processed in parallel.
 */
#ifndef AOEI_LOSS_RANKING_TERMS_H
#define AOEI_LOSS_RANKING_TERMS_H

#include <stddef.h>

#include "aoe_train.h"
#include "base/arena.h"

typedef struct aoei_ranking_terms {
    const aoe_objective_options *o; /* borrowed; terms of weight 0 are not computed */
    size_t n;                       /* pairs */
    double *cosine, *angle;         /* [n] scores divided by the temperature */
    double *d_cosine, *d_angle;     /* [n] d loss / d score */
    double *scratch;                /* [4n] workspace of the ranking loss */
    size_t *order, *start, *sorted; /* [n], [n + 1], [n] of the ranking */
} aoei_ranking_terms;

/* Takes the memory for n pairs from the arena, which may be a measuring arena. The caller sets o. */
void aoei_ranking_terms_lay_out(aoei_ranking_terms *r, aoei_arena *a, size_t n);
/* Scores pair i. x, y: [D]. */
void aoei_ranking_terms_score(aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D);
/* Sets cosine, angle and ordered_pairs of the result from the scores of all pairs. label: [n]. */
void aoei_ranking_terms_loss(aoei_ranking_terms *r, const double *label, int with_grad, aoe_objective_result *result);
/* Adds w_cosine * d cosine / d x, d y of pair i, and w_angle * d angle / d x, d y, to gx[D] and gy[D]. */
void aoei_ranking_terms_cosine_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                    double *gx, double *gy);
void aoei_ranking_terms_angle_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                   double *gx, double *gy);

#endif
