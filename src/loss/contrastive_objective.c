/* SPDX-License-Identifier: MIT
 * The objective of examples without labels. An example is a query with a positive text and any number of negative
 * texts. The objective consists of contrastive terms over the batch. If there are negatives, it also contains the
 * cosine and angle terms: the pair (query, positive) has label 1, and each pair (query, negative) has label 0.
 */
#include "loss/contrastive_objective.h"

#include <math.h>

#include "aoe_objective.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "loss/info_nce.h"
#include "loss/objective.h"
#include "loss/ranking_terms.h"
#include "loss/example_sweep.h"

enum { QUERY, POSITIVE, NEGATIVE };

/* State of one call of aoei_contrastive_objective. The arrays are in the workspace. */
typedef struct state {
    const aoe_objective_options *o; /* options; borrowed */
    int has_contrastive;            /* 1: the weight of at least one contrastive term is above 0 */
    aoei_sweep sweep;
    aoei_info_nce contrastive; /* contrastive term */
    aoei_unit_rows queries;    /* [B, D] unit vectors of the queries */
    aoei_unit_rows candidates; /* [(arity - 1) B, D] unit vectors of the positives of all examples, followed by those of
                                  the first negatives of all examples, the second negatives, and so on */
    aoei_ranking_terms ranking; /* cosine and angle terms, used only if there are negatives; pair (arity - 1) i is query
                                   i with its positive, and the next pairs are query i with its negatives */
    double *label;              /* [(arity - 1) B] labels of the pairs in `ranking` */
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64 / arity, so sizes such as 4 arity B cannot
 * overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D, size_t arity) {
    const size_t pairs = arity > NEGATIVE ? (arity - 1) * B : 0;
    *p = (state){0};
    aoei_sweep_lay_out(&p->sweep, a, B, arity, D);
    aoei_unit_rows_lay_out(&p->queries, a, B, D);
    aoei_unit_rows_lay_out(&p->candidates, a, (arity - 1) * B, D);
    aoei_info_nce_lay_out(&p->contrastive, a, B, (arity - 1) * B, 1);
    aoei_ranking_terms_lay_out(&p->ranking, a, pairs);
    p->label = aoei_arena_take_array(a, pairs, sizeof *p->label);
}

size_t aoei_contrastive_objective_workspace(size_t B, size_t D, size_t arity) {
    aoei_arena a;
    state p;
    if (arity < 2 || B > SIZE_MAX / 64 / arity)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D, arity);
    return a.overflow ? 0 : a.used;
}

static int check_batch(const aoei_example_batch *b, aoe_error *err) {
    size_t size;
    if (b->arity < 2)
        return aoei_fail(
            err, AOE_EARG,
            "examples of %zu vectors are not supported; use 2 (query, positive) or more (query, positive, negatives)",
            b->arity);
    if (b->B == 0 || b->D == 0)
        return aoei_fail(err, AOE_EARG,
                         "the batch has %zu examples of vectors with %zu components; both numbers must be at least 1",
                         b->B, b->D);
    if (aoei_mul_size(b->B, b->D, &size) || aoei_mul_size(size, b->arity * sizeof(double), &size))
        return aoei_fail(err, AOE_EARG, "%zu examples of vectors with %zu components are too many; use a smaller batch",
                         b->B, b->D);
    if (!b->v && !b->v64)
        return aoei_fail(err, AOE_EARG, "v is NULL; pass the vectors of the batch");
    return 0;
}

/* Processes example i in the first pass: stores the unit vectors of its texts and the scores of its pairs. */
static void score_example(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D, B = p->sweep.e.n;
    const size_t others = p->sweep.e.arity - POSITIVE;
    (void)g;
    if (p->has_contrastive)
        aoei_unit_rows_set(&p->queries, i, v);
    for (size_t n = 0; p->has_contrastive && n < others; n++)
        aoei_unit_rows_set(&p->candidates, n * B + i, v + (POSITIVE + n) * D);
    for (size_t n = 0; others > 1 && n < others; n++) {
        aoei_ranking_terms_score(&p->ranking, others * i + n, v, v + (POSITIVE + n) * D, D);
        p->label[others * i + n] = n == 0;
    }
}

/* Returns the InfoNCE loss of the queries with the first M candidates, and adds weight times its gradient. */
static double query_loss(state *p, size_t M, double weight, int with_grad) {
    const aoei_nce_block block = {.anchors = &p->queries, .candidates = &p->candidates, .M = M};
    return aoei_info_nce_loss(&p->contrastive, p->sweep.e.n, &block, 1, weight, with_grad);
}

static void compute_losses(state *p, int with_grad, aoe_objective_result *result) {
    const aoe_objective_options *o = p->o;
    const size_t B = p->sweep.e.n;
    *result = (aoe_objective_result){.positive_pairs = B};
    if (p->sweep.e.arity == NEGATIVE) {
        if (o->w_ibn > 0.0)
            result->contrastive = query_loss(p, B, o->w_ibn, with_grad);
        result->total = o->w_ibn * result->contrastive;
        return;
    }
    if (o->w_ibn > 0.0)
        result->contrastive += o->w_ibn / 2.0 * query_loss(p, B, o->w_ibn / 2.0, with_grad);
    if (o->w_cln > 0.0)
        result->contrastive +=
            o->w_cln / 2.0 * query_loss(p, (p->sweep.e.arity - POSITIVE) * B, o->w_cln / 2.0, with_grad);
    aoei_ranking_terms_loss(&p->ranking, p->label, with_grad, result);
    result->total = result->contrastive + o->w_cosine * result->cosine + o->w_angle * result->angle;
}

/* Processes example i in the second pass: adds the gradients of the loss with respect to the vectors of the example to
 * g. */
static void example_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D, B = p->sweep.e.n;
    const size_t others = p->sweep.e.arity - POSITIVE;
    if (p->has_contrastive)
        aoei_unit_rows_grad(&p->queries, i, 1.0, g);
    for (size_t n = 0; p->has_contrastive && n < others; n++)
        aoei_unit_rows_grad(&p->candidates, n * B + i, 1.0, g + (POSITIVE + n) * D);
    for (size_t n = 0; others > 1 && n < others; n++) {
        const size_t other = (POSITIVE + n) * D;
        aoei_ranking_terms_cosine_grad(&p->ranking, others * i + n, v, v + other, D, g, g + other);
        aoei_ranking_terms_angle_grad(&p->ranking, others * i + n, v, v + other, D, g, g + other);
    }
}

static int run(state *p, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const int code = aoei_sweep_read(&p->sweep, ctx, score_example, p, err);
    if (code)
        return code;
    compute_losses(p, aoei_sweep_has_gradients(&p->sweep), result);
    if (!isfinite(result->total))
        return aoei_fail(
            err, AOE_ENUMERIC,
            "the loss of the batch is not finite; raise options.tau_cosine, options.tau_ibn or options.tau_angle");
    return aoei_sweep_write(&p->sweep, ctx, example_gradient, p, err);
}

static void initialize(state *p, const aoe_objective_options *o, const aoei_example_batch *b, void *workspace,
                       size_t bytes, const aoe_context *ctx) {
    aoei_arena arena = {.base = workspace, .size = bytes};
    lay_out(p, &arena, b->B, b->D, b->arity);
    p->sweep.e = aoei_example_vectors(b);
    p->sweep.e.names = &aoei_query_names;
    p->o = p->ranking.o = o;
    p->has_contrastive = o->w_ibn > 0.0 || (b->arity > NEGATIVE && o->w_cln > 0.0);
    p->contrastive.ctx = ctx;
    p->contrastive.tau = o->tau_ibn;
    p->contrastive.hard_negative = o->hard_negative;
}

int aoei_contrastive_objective(const aoe_objective_options *o, const aoei_example_batch *batch, void *workspace,
                               size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                               aoe_error *err) {
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
    rc = rc ? rc : aoei_objective_check(o, batch->arity > NEGATIVE ? batch->D : 0, err);
    if (rc)
        return rc;
    rc = aoei_objective_begin(&ctx, &serial, aoei_contrastive_objective_workspace(batch->B, batch->D, batch->arity),
                              workspace_bytes, err);
    if (rc)
        return rc;
    state p;
    initialize(&p, o, batch, workspace, workspace_bytes, ctx);
    return run(&p, ctx, result, err);
}

int aoe_contrastive(const aoe_objective_options *o, const float *v, size_t arity, size_t B, size_t D, float *grad,
                    aoe_objective_result *result, aoe_error *err) {
    AOEI_CHECK(err, v);
    AOEI_RESULT(aoe_objective_result, result, err);
    AOEI_OPTIONS(aoe_objective_options, o, err);
    const aoei_example_batch batch = {.B = B, .D = D, .arity = arity, .v = v, .grad = grad};
    int rc = check_batch(&batch, err);
    if (rc)
        return rc;
    size_t bytes = aoei_contrastive_objective_workspace(B, D, arity);
    void *workspace = bytes ? aoei_aligned(bytes) : NULL;
    if (!workspace)
        return aoei_fail_nomem(err, bytes ? bytes : SIZE_MAX);
    rc = aoei_contrastive_objective(o, &batch, workspace, bytes, NULL, result, err);
    aoei_aligned_free(workspace);
    return rc;
}
