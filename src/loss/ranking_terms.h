/* SPDX-License-Identifier: MIT
 * The two objectives that rank pairs by their labels, cosine and angle
 * (equations 1 and 7): scores pair by pair, the losses over all, gradients pair
 * by pair again. The caller sweeps; different pairs may be scored at the same time.
 */
#ifndef AOEI_LOSS_RANKING_TERMS_H
#define AOEI_LOSS_RANKING_TERMS_H

#include <stddef.h>

#include "aoe_train.h"
#include "base/arena.h"

typedef struct aoei_ranking_terms {
    const aoe_objective_options *o; /* borrowed; a term of weight 0 is left out everywhere */
    size_t n;                       /* pairs */
    double *cosine, *angle;         /* [n] scores over the temperature */
    double *d_cosine, *d_angle;     /* [n] d loss / d of these */
    double *scratch;                /* [4n] of the ranking loss */
    size_t *order, *start, *sorted; /* [n], [n + 1], [n] of the ranking */
} aoei_ranking_terms;

/* Takes the memory for n pairs from the arena, which may be a measuring one. The caller sets o. */
void aoei_ranking_terms_lay_out(aoei_ranking_terms *r, aoei_arena *a, size_t n);
/* Scores pair i. x, y: [D]. */
void aoei_ranking_terms_score(aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D);
/* Sets cosine, angle and ordered_pairs of the result from the scores of all pairs. label: [n]. */
void aoei_ranking_terms_loss(aoei_ranking_terms *r, const double *label, int with_grad, aoe_objective_result *result);
/* gx, gy: [D], += w_cosine * d cosine / d x, d y of pair i; the same of the angle. */
void aoei_ranking_terms_cosine_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                    double *gx, double *gy);
void aoei_ranking_terms_angle_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                   double *gx, double *gy);

#endif
