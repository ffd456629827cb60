/* SPDX-License-Identifier: MIT
 * The cosine and the angle term of an objective. Both terms use the ranking loss (rank_loss.h), with a common ranking
 * of the labels.
 */
#include "loss/ranking_terms.h"

#include "aoe_objective.h"
#include "loss/angle.h"
#include "loss/cosine.h"
#include "loss/rank_loss.h"

void aoei_ranking_terms_lay_out(aoei_ranking_terms *r, aoei_arena *a, size_t n) {
    *r = (aoei_ranking_terms){.n = n};
    r->cosine = aoei_arena_take_array(a, n, sizeof *r->cosine);
    r->angle = aoei_arena_take_array(a, n, sizeof *r->angle);
    r->d_cosine = aoei_arena_take_array(a, n, sizeof *r->d_cosine);
    r->d_angle = aoei_arena_take_array(a, n, sizeof *r->d_angle);
    r->scratch = aoei_arena_take_array(a, n, 4 * sizeof *r->scratch);
    r->order = aoei_arena_take_array(a, n, sizeof *r->order);
    r->start = aoei_arena_take_array(a, n + 1, sizeof *r->start);
    r->sorted = aoei_arena_take_array(a, n, sizeof *r->sorted);
}

void aoei_ranking_terms_score(aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D) {
    if (r->o->w_cosine > 0.0)
        r->cosine[i] = aoei_cosine_score(x, y, D) / r->o->tau_cosine;
    if (r->o->w_angle > 0.0)
        r->angle[i] = aoei_angle_score(x, y, D, r->o->angle_form) / r->o->tau_angle;
}

void aoei_ranking_terms_loss(aoei_ranking_terms *r, const double *label, int with_grad, aoe_objective_result *result) {
    aoei_ranking ranking;
    aoei_ranking_build(&ranking, label, r->n, r->order, r->start, r->sorted);
    result->ordered_pairs = aoei_ranking_pairs(&ranking);
    if (r->o->w_cosine > 0.0)
        result->cosine = aoei_rank_loss(&ranking, r->cosine, with_grad ? r->d_cosine : NULL, r->scratch);
    if (r->o->w_angle > 0.0)
        result->angle = aoei_rank_loss(&ranking, r->angle, with_grad ? r->d_angle : NULL, r->scratch);
}

void aoei_ranking_terms_cosine_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                    double *gx, double *gy) {
    const aoe_objective_options *o = r->o;
    if (o->w_cosine > 0.0)
        aoei_cosine_grad(x, y, D, o->w_cosine * r->d_cosine[i] / o->tau_cosine, gx, gy);
}

void aoei_ranking_terms_angle_grad(const aoei_ranking_terms *r, size_t i, const double *x, const double *y, size_t D,
                                   double *gx, double *gy) {
    const aoe_objective_options *o = r->o;
    if (o->w_angle > 0.0)
        aoei_angle_grad(x, y, D, o->angle_form, o->w_angle * r->d_angle[i] / o->tau_angle, gx, gy);
}
