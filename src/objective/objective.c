/* SPDX-License-Identifier: MIT
 * The weighted sum of the objectives (equation 8): checks, the layout of the
 * workspace, and two sweeps over the pairs, in chunks that run in parallel. The
 * first reads the vectors and fills the scores, then the losses are taken over
 * the batch, the second turns score gradients into vector gradients. Vectors are
 * widened a pair at a time; no sum is ever kept in float.
 */
#include "objective/objective.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "objective/ibn.h"
#include "objective/pair_score.h"
#include "objective/rank_loss.h"

enum { CHUNKS = 32 /* at most, of pairs: tasks of a sweep */ };

/* What one call works with; all memory from the workspace. */
typedef struct plan {
    const aoe_objective_options *o;
    const aoei_pair_batch *batch;
    size_t chunks;                  /* of pairs, each a task of a sweep */
    double *x, *y, *gx, *gy;        /* [chunks, D] the pair at hand and its gradient */
    size_t *bad;                    /* [chunks] the first pair whose vectors or gradients are not finite, else B */
    double *cosine, *angle;         /* [B] scores before the temperature, then over it */
    double *d_cosine, *d_angle;     /* [B] d loss / d score (over its temperature) */
    double *scratch;                /* [4B] of the ranking loss */
    size_t *order, *start, *sorted; /* [B], [B + 1], [B] of the ranking */
    aoei_ibn ibn;
} plan;

/* Takes everything in one fixed order, so that a measuring arena gives the size. B <= SIZE_MAX / 8 (checked by the callers). */
static void lay_out(plan *p, aoei_arena *a, size_t B, size_t D) {
    size_t cells = 0;
    *p = (plan){.chunks = B < CHUNKS ? B : CHUNKS};
    if (aoei_mul_size(p->chunks, D, &cells))
        a->overflow = 1;
    p->x = aoei_arena_take_array(a, cells, sizeof *p->x);
    p->y = aoei_arena_take_array(a, cells, sizeof *p->y);
    p->gx = aoei_arena_take_array(a, cells, sizeof *p->gx);
    p->gy = aoei_arena_take_array(a, cells, sizeof *p->gy);
    p->bad = aoei_arena_take_array(a, p->chunks, sizeof *p->bad);
    p->cosine = aoei_arena_take_array(a, B, sizeof *p->cosine);
    p->angle = aoei_arena_take_array(a, B, sizeof *p->angle);
    p->d_cosine = aoei_arena_take_array(a, B, sizeof *p->d_cosine);
    p->d_angle = aoei_arena_take_array(a, B, sizeof *p->d_angle);
    p->scratch = aoei_arena_take_array(a, 4 * B, sizeof *p->scratch);
    p->order = aoei_arena_take_array(a, B, sizeof *p->order);
    p->start = aoei_arena_take_array(a, B + 1, sizeof *p->start);
    p->sorted = aoei_arena_take_array(a, B, sizeof *p->sorted);
    aoei_ibn_lay_out(&p->ibn, a, 2 * B, D);
}

size_t aoei_objective_workspace(size_t B, size_t D) {
    aoei_arena a;
    plan p;
    if (B > SIZE_MAX / 64)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D);
    return a.overflow ? 0 : a.used;
}

static int check_term(const char *name, double weight, double tau, aoe_error *err) {
    if (!(weight >= 0.0 && weight <= DBL_MAX))
        return aoei_fail(err, AOE_EARG, "w_%s is %g; a weight is 0 or more", name, weight);
    if (!(tau >= DBL_MIN && tau <= DBL_MAX))
        return aoei_fail(err, AOE_EARG, "tau_%s is %g; a temperature is above 0", name, tau);
    return 0;
}

static int check_options(const aoe_objective_options *o, size_t D, aoe_error *err) {
    int rc = check_term("cosine", o->w_cosine, o->tau_cosine, err);
    rc = rc ? rc : check_term("ibn", o->w_ibn, o->tau_ibn, err);
    rc = rc ? rc : check_term("angle", o->w_angle, o->tau_angle, err);
    if (rc)
        return rc;
    if (isnan(o->ibn_threshold))
        return aoei_fail(err, AOE_EARG, "ibn_threshold is not a number; give the lowest label of a positive pair");
    if (o->angle_form != AOE_ANGLE_REFERENCE && o->angle_form != AOE_ANGLE_PHASE)
        return aoei_fail(err, AOE_EARG, "angle_form is %d; use AOE_ANGLE_REFERENCE or AOE_ANGLE_PHASE", (int)o->angle_form);
    if (o->w_angle > 0.0 && D % 2 != 0)
        return aoei_fail(err, AOE_EARG,
                         "vectors of odd size %zu have no real and imaginary halves; use an even size or w_angle 0", D);
    return 0;
}

static int check_batch(const aoei_pair_batch *b, aoe_error *err) {
    size_t bytes;
    if (b->B == 0 || b->D == 0)
        return aoei_fail(err, AOE_EARG, "a batch of %zu pairs of size %zu is empty; give at least one pair", b->B, b->D);
    if (b->stride < b->D || aoei_mul_size(b->B, b->stride, &bytes) || aoei_mul_size(bytes, sizeof(double), &bytes))
        return aoei_fail(err, AOE_EARG, "stride %zu does not fit %zu pairs of size %zu", b->stride, b->B, b->D);
    if (!b->label || !(b->x64 ? b->y64 != NULL : b->x && b->y))
        return aoei_fail(err, AOE_EARG, "x, y or label is NULL; all three are needed");
    if (b->x64 ? !b->grad_x64 != !b->grad_y64 : !b->grad_x != !b->grad_y)
        return aoei_fail(err, AOE_EARG, "only one of grad_x and grad_y is NULL; give both or neither");
    for (size_t i = 0; i < b->B; i++)
        if (!isfinite(b->label[i]))
            return aoei_fail(err, AOE_EARG, "the label of pair %zu is %g; labels are finite numbers", i, b->label[i]);
    return 0;
}

static int read_row(const float *narrow, const double *wide, size_t D, double *out) {
    assert(wide || narrow);
    int finite = 1;
    for (size_t k = 0; k < D; k++) {
        out[k] = wide ? wide[k] : (double)narrow[k];
        finite &= isfinite(out[k]) != 0;
    }
    return finite;
}

/* Returns whether both vectors are finite. */
static int read_pair(const aoei_pair_batch *b, size_t i, double *x, double *y) {
    size_t at = i * b->stride;
    int x_ok = b->x64 ? read_row(NULL, b->x64 + at, b->D, x) : read_row(b->x + at, NULL, b->D, x);
    int y_ok = b->x64 ? read_row(NULL, b->y64 + at, b->D, y) : read_row(b->y + at, NULL, b->D, y);
    return x_ok & y_ok;
}

/* The first pair of a chunk; chunks may differ by one pair. */
static size_t chunk_start(const plan *p, size_t chunk) {
    size_t B = p->batch->B, small = B / p->chunks, larger = B % p->chunks;
    return chunk * small + (chunk < larger ? chunk : larger);
}

/* The first pair that a sweep found wrong, B when there is none. */
static size_t first_bad(const plan *p) {
    for (size_t c = 0; c < p->chunks; c++)
        if (p->bad[c] < p->batch->B)
            return p->bad[c];
    return p->batch->B;
}

/* First sweep: scores of every pair, unit vectors of every row. */
static void score_chunk(void *arg, size_t chunk, size_t worker) {
    plan *p = arg;
    const aoe_objective_options *o = p->o;
    size_t D = p->batch->D, end = chunk_start(p, chunk + 1);
    double *x = p->x + chunk * D, *y = p->y + chunk * D;
    (void)worker;
    p->bad[chunk] = p->batch->B;
    for (size_t i = chunk_start(p, chunk); i < end; i++) {
        if (!read_pair(p->batch, i, x, y)) {
            p->bad[chunk] = i;
            return;
        }
        if (o->w_cosine > 0.0)
            p->cosine[i] = aoei_cosine_score(x, y, D) / o->tau_cosine;
        if (o->w_angle > 0.0)
            p->angle[i] = aoei_angle_score(x, y, D, o->angle_form) / o->tau_angle;
        if (o->w_ibn > 0.0) {
            aoei_unit_rows_set(&p->ibn.rows, 2 * i, x);
            aoei_unit_rows_set(&p->ibn.rows, 2 * i + 1, y);
        }
    }
}

static int score_pairs(plan *p, const aoe_context *ctx, aoe_error *err) {
    const aoei_pair_batch *b = p->batch;
    aoei_parallel_for(ctx->pool, p->chunks, score_chunk, p);
    size_t i = first_bad(p);
    if (i == b->B)
        return 0;
    size_t at = i * b->stride;
    int x_ok = b->x64 ? read_row(NULL, b->x64 + at, b->D, p->x) : read_row(b->x + at, NULL, b->D, p->x);
    return aoei_fail(err, AOE_ENUMERIC, "pair %zu: vector %s is not finite; check the weights and the learning rate", i,
                     x_ok ? "y" : "x");
}

static void take_losses(plan *p, int with_grad, aoe_objective_result *result) {
    const aoe_objective_options *o = p->o;
    const aoei_pair_batch *b = p->batch;
    aoei_ranking ranking;
    aoei_ranking_build(&ranking, b->label, b->B, p->order, p->start, p->sorted);
    *result = (aoe_objective_result){.ordered_pairs = aoei_ranking_pairs(&ranking)};
    for (size_t i = 0; i < b->B; i++)
        result->positive_pairs += b->label[i] >= o->ibn_threshold;
    if (o->w_cosine > 0.0)
        result->cosine = aoei_rank_loss(&ranking, p->cosine, with_grad ? p->d_cosine : NULL, p->scratch);
    if (o->w_ibn > 0.0)
        result->ibn = aoei_ibn_loss(&p->ibn, with_grad);
    if (o->w_angle > 0.0)
        result->angle = aoei_rank_loss(&ranking, p->angle, with_grad ? p->d_angle : NULL, p->scratch);
    result->total = o->w_cosine * result->cosine + o->w_ibn * result->ibn + o->w_angle * result->angle;
}

static int write_row(float *narrow, double *wide, const double *g, size_t D) {
    assert(wide || narrow);
    int finite = 1;
    for (size_t k = 0; k < D; k++) {
        if (wide)
            wide[k] = g[k];
        else
            narrow[k] = (float)g[k];
        finite &= wide ? isfinite(wide[k]) != 0 : isfinite(narrow[k]) != 0;
    }
    return finite;
}

/* Second sweep: the gradient of every vector. */
static void write_chunk(void *arg, size_t chunk, size_t worker) {
    plan *p = arg;
    const aoe_objective_options *o = p->o;
    const aoei_pair_batch *b = p->batch;
    size_t D = b->D, end = chunk_start(p, chunk + 1);
    double *x = p->x + chunk * D, *y = p->y + chunk * D, *gx = p->gx + chunk * D, *gy = p->gy + chunk * D;
    (void)worker;
    for (size_t i = chunk_start(p, chunk); i < end; i++) {
        size_t at = i * b->stride;
        read_pair(b, i, x, y);
        memset(gx, 0, D * sizeof *gx);
        memset(gy, 0, D * sizeof *gy);
        if (o->w_cosine > 0.0)
            aoei_cosine_grad(x, y, D, o->w_cosine * p->d_cosine[i] / o->tau_cosine, gx, gy);
        if (o->w_ibn > 0.0) {
            aoei_unit_rows_grad(&p->ibn.rows, 2 * i, o->w_ibn, gx);
            aoei_unit_rows_grad(&p->ibn.rows, 2 * i + 1, o->w_ibn, gy);
        }
        if (o->w_angle > 0.0)
            aoei_angle_grad(x, y, D, o->angle_form, o->w_angle * p->d_angle[i] / o->tau_angle, gx, gy);
        int ok = b->x64 ? write_row(NULL, b->grad_x64 + at, gx, D) & write_row(NULL, b->grad_y64 + at, gy, D)
                        : write_row(b->grad_x + at, NULL, gx, D) & write_row(b->grad_y + at, NULL, gy, D);
        if (!ok) {
            p->bad[chunk] = i;
            return;
        }
    }
}

static int write_gradients(plan *p, const aoe_context *ctx, aoe_error *err) {
    aoei_parallel_for(ctx->pool, p->chunks, write_chunk, p);
    size_t i = first_bad(p);
    if (i == p->batch->B)
        return 0;
    return aoei_fail(err, AOE_ENUMERIC, "pair %zu: the gradient overflows; its vectors are close to zero", i);
}

static void bind(plan *p, const aoe_objective_options *o, const aoei_pair_batch *b, void *workspace, size_t bytes,
                 const aoe_context *ctx) {
    aoei_arena arena = {.base = workspace, .size = bytes};
    lay_out(p, &arena, b->B, b->D);
    p->o = o;
    p->batch = b;
    p->ibn.ctx = ctx;
    p->ibn.tau = o->tau_ibn;
    p->ibn.label = b->label;
    p->ibn.threshold = o->ibn_threshold;
    p->ibn.group = o->isp ? b->group : NULL;
}

int aoei_objective(const aoe_objective_options *o, const aoei_pair_batch *batch, void *workspace, size_t workspace_bytes,
                   const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
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
    rc = rc ? rc : check_options(o, batch->D, err);
    if (rc)
        return rc;
    size_t need = aoei_objective_workspace(batch->B, batch->D);
    if (need == 0 || workspace_bytes < need)
        return aoei_fail(err, AOE_EARG, "a workspace of %zu bytes is too small for %zu pairs of size %zu", workspace_bytes,
                         batch->B, batch->D);

    if (!ctx) {
        rc = aoei_context_serial(&serial, err);
        if (rc)
            return rc;
        ctx = &serial;
    }
    plan p;
    bind(&p, o, batch, workspace, workspace_bytes, ctx);
    int with_grad = batch->x64 ? batch->grad_x64 != NULL : batch->grad_x != NULL;
    rc = score_pairs(&p, ctx, err);
    if (rc)
        return rc;
    take_losses(&p, with_grad, result);
    if (!isfinite(result->total))
        return aoei_fail(err, AOE_ENUMERIC, "the loss of the batch is not finite; a temperature is too small");
    return with_grad ? write_gradients(&p, ctx, err) : 0;
}

void aoe_objective_options_defaults(aoe_objective_options *o) {
    *o = (aoe_objective_options){
        .w_cosine = 1.0,
        .w_ibn = 1.0,
        .w_angle = 1.0,
        .tau_cosine = 0.05,
        .tau_ibn = 0.05,
        .tau_angle = 1.0,
        .isp = 1,
        .angle_form = AOE_ANGLE_REFERENCE,
        .ibn_threshold = 1.0,
    };
}

int aoe_objective(const aoe_objective_options *o, const float *x, const float *y, size_t stride, const double *label,
                  const uint32_t *group, size_t B, size_t D, float *grad_x, float *grad_y, aoe_objective_result *result,
                  aoe_error *err) {
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
    size_t bytes = aoei_objective_workspace(B, D);
    void *workspace = bytes ? aoei_aligned(bytes) : NULL;
    if (!workspace)
        return aoei_fail_nomem(err, bytes ? bytes : SIZE_MAX);
    rc = aoei_objective(o, &batch, workspace, bytes, NULL, result, err);
    aoei_aligned_free(workspace);
    return rc;
}
