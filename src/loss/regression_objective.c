/* SPDX-License-Identifier: MIT
 * Regression of cosines. The first pass over the pairs computes the error of each pair, and the second pass computes
 * the gradients of the vectors.
 */
#include "loss/regression_objective.h"

#include "aoe_objective.h"
#include "base/arena.h"
#include "base/error.h"
#include "loss/cosine.h"
#include "loss/example_sweep.h"

/* State of one call of aoei_regression_objective. The arrays are in the workspace. */
typedef struct state {
    aoei_sweep sweep;
    const double *target; /* [B] target cosine of each pair; borrowed */
    double *error;        /* [B] error of each pair: its cosine minus its target cosine */
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64, so sizes such as 4 B cannot overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D) {
    *p = (state){0};
    aoei_sweep_lay_out(&p->sweep, a, B, 2, D);
    p->error = aoei_arena_take_array(a, B, sizeof *p->error);
}

size_t aoei_regression_objective_workspace(size_t B, size_t D) {
    aoei_arena a;
    state p;
    if (B > SIZE_MAX / 64)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D);
    return a.overflow ? 0 : a.used;
}

static void pair_error(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D;
    (void)g;
    p->error[i] = aoei_cosine_score(v, v + D, D) - p->target[i];
}

static void pair_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D;
    aoei_cosine_grad(v, v + D, D, 2 * p->error[i] / (double)p->sweep.e.n, g, g + D);
}

static int run(state *p, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const size_t B = p->sweep.e.n;
    double sum = 0;
    const int code = aoei_sweep_read(&p->sweep, ctx, pair_error, p, err);
    if (code)
        return code;
    for (size_t i = 0; i < B; i++)
        sum += p->error[i] * p->error[i];
    result->total = result->regression = sum / (double)B;
    return aoei_sweep_write(&p->sweep, ctx, pair_gradient, p, err);
}

int aoei_regression_objective(const double *target, const aoei_example_batch *b, void *workspace,
                              size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                              aoe_error *err) {
    aoe_context serial;
    state p;
    *result = (aoe_objective_result){0};
    if (b->B == 0 || b->D == 0 || b->arity != 2)
        return aoei_fail(err, AOE_EARG, "the batch has %zu examples of %zu vectors with %zu components; use pairs",
                         b->B, b->arity, b->D);
    const int rc =
        aoei_objective_begin(&ctx, &serial, aoei_regression_objective_workspace(b->B, b->D), workspace_bytes, err);
    if (rc)
        return rc;
    aoei_arena arena = {.base = workspace, .size = workspace_bytes};
    lay_out(&p, &arena, b->B, b->D);
    p.target = target;
    p.sweep.e = aoei_example_vectors(b);
    return run(&p, ctx, result, err);
}
