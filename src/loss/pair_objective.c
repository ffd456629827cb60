/* SPDX-License-Identifier: MIT
 * The weighted sum of the losses of labeled pairs (equation 8 of the AnglE paper). The first pass over the pairs
 * computes the scores. Then the losses of the batch and the gradients of the scores are computed. The second pass
 * computes the gradients of the vectors. All sums are computed in float64.
 */
#include "loss/pair_objective.h"

#include <math.h>

#include "aoe_objective.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "loss/ibn.h"
#include "loss/ranking_terms.h"
#include "loss/example_sweep.h"
#include "loss/objective.h"

/* State of one call of aoei_pair_objective. The arrays are in the workspace. */
typedef struct state {
    const aoe_objective_options *o; /* options; borrowed */
    aoei_sweep sweep;
    aoei_ranking_terms ranking; /* cosine and angle terms */
    aoei_ibn ibn;               /* term of in-batch negatives */
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64, so sizes such as 4 B cannot overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D) {
    aoei_sweep_lay_out(&p->sweep, a, B, 2, D);
    aoei_ranking_terms_lay_out(&p->ranking, a, B);
    aoei_ibn_lay_out(&p->ibn, a, 2 * B, D);
}

size_t aoei_pair_objective_workspace(size_t B, size_t D) {
    aoei_arena a;
    state p;
    if (B > SIZE_MAX / 64)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D);
    return a.overflow ? 0 : a.used;
}

static int check_batch(const aoei_pair_batch *b, aoe_error *err) {
    size_t bytes;
    if (b->B == 0 || b->D == 0)
        return aoei_fail(err, AOE_EARG,
                         "the batch has %zu pairs of vectors with %zu components; both numbers must be at least 1",
                         b->B, b->D);
    if (b->stride < b->D || aoei_mul_size(b->B, b->stride, &bytes) || aoei_mul_size(bytes, sizeof(double), &bytes))
        return aoei_fail(
            err, AOE_EARG,
            "stride %zu is not valid for %zu pairs of vectors with %zu components; use at least the number of "
            "components",
            b->stride, b->B, b->D);
    if (!b->label || !(b->x64 ? b->y64 != NULL : b->x && b->y))
        return aoei_fail(err, AOE_EARG, "x, y or label is NULL; all three are needed");
    if (b->x64 ? !b->grad_x64 != !b->grad_y64 : !b->grad_x != !b->grad_y)
        return aoei_fail(err, AOE_EARG, "only one of grad_x and grad_y is NULL; give both or neither");
    for (size_t i = 0; i < b->B; i++)
        if (!isfinite(b->label[i]))
            return aoei_fail(err, AOE_EARG, "the label of pair %zu is %g; labels must be finite", i, b->label[i]);
    return 0;
}

/* Processes pair i in the first pass: stores the scores of the pair and the unit vectors of its texts. */
static void score_pair(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D;
    (void)g;
    aoei_ranking_terms_score(&p->ranking, i, v, v + D, D);
    if (p->o->w_ibn > 0.0) {
        aoei_unit_rows_set(&p->ibn.rows, 2 * i, v);
        aoei_unit_rows_set(&p->ibn.rows, 2 * i + 1, v + D);
    }
}

static void compute_losses(state *p, const aoei_pair_batch *b, int with_grad, aoe_objective_result *result) {
    const aoe_objective_options *o = p->o;
    *result = (aoe_objective_result){0};
    for (size_t i = 0; i < b->B; i++)
        result->positive_pairs += b->label[i] >= o->ibn_threshold;
    aoei_ranking_terms_loss(&p->ranking, b->label, with_grad, result);
    if (o->w_ibn > 0.0)
        result->ibn = aoei_ibn_loss(&p->ibn, with_grad);
    result->total = o->w_cosine * result->cosine + o->w_ibn * result->ibn + o->w_angle * result->angle;
}

/* Processes pair i in the second pass: adds the gradients of the loss with respect to the vectors of the pair to g. */
static void pair_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D;
    aoei_ranking_terms_cosine_grad(&p->ranking, i, v, v + D, D, g, g + D);
    if (p->o->w_ibn > 0.0) {
        aoei_unit_rows_grad(&p->ibn.rows, 2 * i, p->o->w_ibn, g);
        aoei_unit_rows_grad(&p->ibn.rows, 2 * i + 1, p->o->w_ibn, g + D);
    }
    aoei_ranking_terms_angle_grad(&p->ranking, i, v, v + D, D, g, g + D);
}

static int run(state *p, const aoei_pair_batch *b, const aoe_context *ctx, aoe_objective_result *result,
               aoe_error *err) {
    const int code = aoei_sweep_read(&p->sweep, ctx, score_pair, p, err);
    if (code)
        return code;
    compute_losses(p, b, aoei_sweep_has_gradients(&p->sweep), result);
    if (!isfinite(result->total))
        return aoei_fail(
            err, AOE_ENUMERIC,
            "the loss of the batch is not finite; raise options.tau_cosine, options.tau_ibn or options.tau_angle");
    return aoei_sweep_write(&p->sweep, ctx, pair_gradient, p, err);
}

static void initialize(state *p, const aoe_objective_options *o, const aoei_pair_batch *b, void *workspace,
                       size_t bytes, const aoe_context *ctx) {
    aoei_arena arena = {.base = workspace, .size = bytes};
    lay_out(p, &arena, b->B, b->D);
    p->sweep.e = (aoei_vector_examples){.names = &aoei_pair_names,
                                        .n = b->B,
                                        .arity = 2,
                                        .D = b->D,
                                        .stride = b->stride,
                                        .v = {b->x, b->y},
                                        .v64 = {b->x64, b->y64},
                                        .grad = {b->grad_x, b->grad_y},
                                        .grad64 = {b->grad_x64, b->grad_y64}};
    p->o = p->ranking.o = o;
    p->ibn.ctx = ctx;
    p->ibn.tau = o->tau_ibn;
    p->ibn.label = b->label;
    p->ibn.threshold = o->ibn_threshold;
    p->ibn.group = o->isp ? b->group : NULL;
}

int aoei_pair_objective(const aoe_objective_options *o, const aoei_pair_batch *batch, void *workspace,
                        size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    aoe_context serial;
    aoe_objective_options defaults;
    aoe_objective_result local;
    if (!o) {
        aoe_objective_options_defaults(&defaults);
        o = &defaults;
    }
    result = result ? result : &local;
    *result = (aoe_objective_result){0};
    int rc = check_batch(batch, err);
    rc = rc ? rc : aoei_objective_check(o, batch->D, err);
    if (rc)
        return rc;
    if (isnan(o->ibn_threshold) || aoei_is_auto(o->ibn_threshold))
        return aoei_fail(
            err, AOE_EARG,
            "options.ibn_threshold is %s; set it to the lowest label of a positive pair (only aoe_train accepts "
            "AOE_AUTO)",
            isnan(o->ibn_threshold) ? "NaN" : "AOE_AUTO");
    rc = aoei_objective_begin(&ctx, &serial, aoei_pair_objective_workspace(batch->B, batch->D), workspace_bytes, err);
    if (rc)
        return rc;
    state p;
    initialize(&p, o, batch, workspace, workspace_bytes, ctx);
    return run(&p, batch, ctx, result, err);
}

int aoe_objective(const aoe_objective_options *o, const float *x, const float *y, size_t stride, const double *label,
                  const uint32_t *group, size_t B, size_t D, float *grad_x, float *grad_y, aoe_objective_result *result,
                  aoe_error *err) {
    AOEI_CHECK(err, x, y, label);
    AOEI_RESULT(aoe_objective_result, result, err);
    AOEI_OPTIONS(aoe_objective_options, o, err);
    aoei_pair_batch batch = {
        .B = B,
        .D = D,
        .stride = stride,
        .x = x,
        .y = y,
        .grad_x = grad_x,
        .grad_y = grad_y,
        .label = label,
        .group = group,
    };
    int rc = check_batch(&batch, err);
    if (rc)
        return rc;
    size_t bytes = aoei_pair_objective_workspace(B, D);
    void *workspace = bytes ? aoei_aligned(bytes) : NULL;
    if (!workspace)
        return aoei_fail_nomem(err, bytes ? bytes : SIZE_MAX);
    rc = aoei_pair_objective(o, &batch, workspace, bytes, NULL, result, err);
    aoei_aligned_free(workspace);
    return rc;
}
