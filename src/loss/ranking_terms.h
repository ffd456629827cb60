/* SPDX-License-Identifier: MIT
 * The cosine term and the angle term of an objective, which rank pairs by their labels (equations 1 and 7 of the AnglE
 * paper). The functions compute the scores of single pairs, the losses over all pairs, and the gradients of single
 * pairs. Functions for single pairs may be called in parallel for different pairs.
 */
#pragma once

#include <stddef.h>

#include "aoe_objective.h"
#include "base/arena.h"

typedef struct aoei_ranking_terms {
    const aoe_objective_options *o; /* options, borrowed; terms with weight 0 are not computed */
    size_t n;                       /* number of pairs */
    double *cosine, *angle; /* [n] each: cosine of each pair and angle score of each pair, divided by the temperature */
    double *d_cosine, *d_angle;     /* [n] each: derivatives of the losses with respect to `cosine` and `angle` */
    double *scratch;                /* [4n] workspace of aoei_rank_loss */
    size_t *order, *start, *sorted; /* workspaces [n], [n + 1] and [n] of aoei_ranking_build */
} aoei_ranking_terms;

/* Allocates the memory for n pairs in the arena. If the arena is a measuring arena (base/arena.h), only the size is
 * computed. After this call, the caller sets r->o. */
void aoei_ranking_terms_lay_out(aoei_ranking_terms *r, aoei_arena *a, size_t n);
/* Computes the scores of pair i, whose vectors are x[D] and y[D]. */
void aoei_ranking_terms_score(aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D);
/* Computes the losses from the scores of all pairs and label[n], and sets result->cosine, result->angle and
 * result->ordered_pairs. If with_grad is 1, also computes d_cosine and d_angle. */
void aoei_ranking_terms_loss(aoei_ranking_terms *r, const double *label, int with_grad, aoe_objective_result *result);
/* These two functions add gradients with respect to the vectors x and y of pair i to gx[D] and gy[D]. The first
 * function adds the gradient of w_cosine times the cosine loss. The second function adds the gradient of w_angle times
 * the angle loss. */
void aoei_ranking_terms_cosine_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                    double *gx, double *gy);
void aoei_ranking_terms_angle_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                   double *gx, double *gy);
