/* SPDX-License-Identifier: MIT
 * The classification loss of pairs. The first pass over the pairs computes the logits of each pair and the gradients of
 * the loss with respect to the logits. The second pass computes the gradients of the vectors. Then the gradients of the
 * classifier weights are summed over the pairs in ascending order. Each task computes these sums for one block of
 * COLUMNS vector components.
 */
#include "loss/classification_objective.h"

#include <math.h>
#include <string.h>

#include "aoe_objective.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "loss/example_sweep.h"

enum {
    COLUMNS = 32 /* number of vector components for which one task computes the gradients of the classifier weights */
};

enum { FEATURES = 5 /* number of values of aoe_pair_feature */ };

size_t aoei_feature_count(unsigned features) {
    size_t n = 0;
    for (unsigned f = 0; f < FEATURES; f++)
        n += features >> f & 1;
    return n;
}

/* Returns one component of a feature of the vectors u and v. */
static double value_of(aoe_pair_feature f, double u, double v) {
    switch (f) {
    case AOE_FEATURE_U:
        return u;
    case AOE_FEATURE_V:
        return v;
    case AOE_FEATURE_ABSDIFF:
        return fabs(u - v);
    case AOE_FEATURE_PRODUCT:
        return u * v;
    default:
        return u > v ? u * u : v * v;
    }
}

/* Returns the derivative of value_of(f, u, v) with respect to u if side is 0, or to v if side is 1. At u = v, the
 * derivative of |u - v| is 0, and each vector has half of the derivative of max(u, v)^2, as in PyTorch. */
static double slope_of(aoe_pair_feature f, double u, double v, size_t side) {
    const double own = side ? v : u, other = side ? u : v;
    switch (f) {
    case AOE_FEATURE_U:
        return side ? 0 : 1;
    case AOE_FEATURE_V:
        return side ? 1 : 0;
    case AOE_FEATURE_ABSDIFF:
        return own > other ? 1 : own < other ? -1 : 0;
    case AOE_FEATURE_PRODUCT:
        return other;
    default:
        return own > other ? 2 * own : own < other ? 0 : own;
    }
}

/* State of one call of aoei_classification_objective. The arrays are in the workspace. */
typedef struct state {
    const aoei_classifier *c;           /* classifier; borrowed */
    const aoei_example_batch *batch;    /* batch; borrowed */
    const double *label;                /* [B] class indices; borrowed */
    aoe_pair_feature feature[FEATURES]; /* [n_features] features of the classifier, in the order of their weights */
    size_t n_features;
    aoei_sweep sweep;
    double *error; /* [B, classes] logits, later replaced by d loss / d logit */
    double *term;  /* [B] cross entropy of each pair */
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64, so sizes such as 4 B cannot overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D, size_t classes) {
    size_t cells = 0;
    *p = (state){0};
    aoei_sweep_lay_out(&p->sweep, a, B, 2, D);
    if (aoei_mul_size(B, classes, &cells))
        a->overflow = 1;
    p->error = aoei_arena_take_array(a, cells, sizeof *p->error);
    p->term = aoei_arena_take_array(a, B, sizeof *p->term);
}

size_t aoei_classification_objective_workspace(size_t B, size_t D, size_t classes) {
    aoei_arena a;
    state p;
    if (B > SIZE_MAX / 64)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D, classes);
    return a.overflow ? 0 : a.used;
}

/* Computes the logits of pair i, its cross entropy, and the gradient of the loss with respect to the logits
 * (p->error). */
static void pair_logits(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D, C = p->c->classes, target = (size_t)p->label[i];
    double *z = p->error + i * C, max = -INFINITY, sum = 0;
    (void)g;
    for (size_t c = 0; c < C; c++) {
        const double *w = p->c->weight + c * p->n_features * D;
        z[c] = p->c->bias[c];
        for (size_t k = 0; k < D; k++) {
            double terms = 0;
            for (size_t f = 0; f < p->n_features; f++)
                terms += w[f * D + k] * value_of(p->feature[f], v[k], v[D + k]);
            z[c] += terms;
        }
        max = z[c] > max ? z[c] : max;
    }
    for (size_t c = 0; c < C; c++)
        sum += exp(z[c] - max);
    const double log_sum = max + log(sum);
    p->term[i] = log_sum - z[target];
    for (size_t c = 0; c < C; c++)
        z[c] = (exp(z[c] - log_sum) - (c == target)) / (double)p->sweep.e.n;
}

/* Adds the gradients of both vectors of pair i to g. pair_logits has set p->error. */
static void pair_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D, C = p->c->classes;
    const double *e = p->error + i * C;
    for (size_t c = 0; c < C; c++) {
        const double *w = p->c->weight + c * p->n_features * D;
        for (size_t k = 0; k < D; k++) {
            double du = 0, dv = 0;
            for (size_t f = 0; f < p->n_features; f++) {
                du += w[f * D + k] * slope_of(p->feature[f], v[k], v[D + k], 0);
                dv += w[f * D + k] * slope_of(p->feature[f], v[k], v[D + k], 1);
            }
            g[k] += e[c] * du;
            g[D + k] += e[c] * dv;
        }
    }
}

/* Returns component k of the first vector of pair i if side is 0, or of the second vector if side is 1. */
static double component(const aoei_example_batch *b, size_t i, size_t side, size_t k) {
    const size_t at = (2 * i + side) * b->D + k;
    return b->v64 ? b->v64[at] : (double)b->v[at];
}

/* Computes the gradients of the classifier weights for one block of components. */
static void weight_task(void *arg, size_t task, size_t worker) {
    const state *p = arg;
    const size_t D = p->sweep.e.D, C = p->c->classes, first = task * COLUMNS,
                 end = first + COLUMNS < D ? first + COLUMNS : D;
    (void)worker;
    const size_t F = p->n_features;
    for (size_t c = 0; c < C; c++)
        for (size_t f = 0; f < F; f++)
            memset(p->c->d_weight + (c * F + f) * D + first, 0, (end - first) * sizeof(double));
    for (size_t i = 0; i < p->sweep.e.n; i++)
        for (size_t k = first; k < end; k++) {
            const double u = component(p->batch, i, 0, k), v = component(p->batch, i, 1, k);
            for (size_t f = 0; f < F; f++) {
                const double value = value_of(p->feature[f], u, v);
                for (size_t c = 0; c < C; c++)
                    p->c->d_weight[(c * F + f) * D + k] += p->error[i * C + c] * value;
            }
        }
}

static void bias_gradient(const state *p) {
    const size_t C = p->c->classes;
    memset(p->c->d_bias, 0, C * sizeof(double));
    for (size_t i = 0; i < p->sweep.e.n; i++)
        for (size_t c = 0; c < C; c++)
            p->c->d_bias[c] += p->error[i * C + c];
}

static int run(state *p, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const size_t B = p->sweep.e.n, D = p->sweep.e.D;
    double sum = 0;
    int code = aoei_sweep_read(&p->sweep, ctx, pair_logits, p, err);
    if (code)
        return code;
    for (size_t i = 0; i < B; i++)
        sum += p->term[i];
    result->total = result->classification = sum / (double)B;
    if (!isfinite(result->total))
        return aoei_fail(err, AOE_ENUMERIC, "the loss of the batch is not finite; lower the learning rate");
    code = aoei_sweep_write(&p->sweep, ctx, pair_gradient, p, err);
    if (code || !aoei_sweep_has_gradients(&p->sweep))
        return code;
    aoei_parallel_for(ctx->pool, (D + COLUMNS - 1) / COLUMNS, weight_task, p);
    bias_gradient(p);
    return 0;
}

static int check_batch(const aoei_classifier *c, const double *label, const aoei_example_batch *b, aoe_error *err) {
    if (b->B == 0 || b->D == 0 || b->arity != 2 || c->classes == 0)
        return aoei_fail(err, AOE_EARG,
                         "the batch has %zu pairs, %zu components and %zu classes; each number must be at least 1",
                         b->B, b->D, c->classes);
    if (!c->features || c->features >> FEATURES)
        return aoei_fail(err, AOE_EARG, "options.features is %u; combine values of aoe_pair_feature", c->features);
    for (size_t i = 0; i < b->B; i++)
        if (!(label[i] >= 0 && label[i] < (double)c->classes && !(label[i] > floor(label[i]))))
            return aoei_fail(err, AOE_EARG,
                             "the label of pair %zu is %g; labels must be class indices, integers from 0 to %zu", i,
                             label[i], c->classes - 1);
    return 0;
}

int aoei_classification_objective(const aoei_classifier *c, const double *label, const aoei_example_batch *b,
                                  void *workspace, size_t workspace_bytes, const aoe_context *ctx,
                                  aoe_objective_result *result, aoe_error *err) {
    aoe_context serial;
    state p;
    *result = (aoe_objective_result){0};
    int rc = check_batch(c, label, b, err);
    if (rc)
        return rc;
    rc = aoei_objective_begin(&ctx, &serial, aoei_classification_objective_workspace(b->B, b->D, c->classes),
                              workspace_bytes, err);
    if (rc)
        return rc;
    aoei_arena arena = {.base = workspace, .size = workspace_bytes};
    lay_out(&p, &arena, b->B, b->D, c->classes);
    p.c = c;
    p.batch = b;
    p.label = label;
    for (unsigned f = 0; f < FEATURES; f++)
        if (c->features >> f & 1)
            p.feature[p.n_features++] = (aoe_pair_feature)(1U << f);
    p.sweep.e = aoei_example_vectors(b);
    return run(&p, ctx, result, err);
}
