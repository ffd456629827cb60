/* SPDX-License-Identifier: MIT
 * The distillation term of the loss. If it compares cosines, it is a mean over all pairs of the first text of an
 * example with another text of the example. If it compares distributions, it is a mean over all texts. The first pass
 * over the examples computes the loss of each example, and the second pass adds the gradients.
 */
#include "loss/distill_objective.h"

#include <assert.h>
#include <math.h>

#include "aoe_objective.h"
#include "base/arena.h"
#include "base/error.h"
#include "loss/cosine.h"
#include "loss/example_sweep.h"

/* State of one call of aoei_distill_objective. The arrays are in the workspace. */
typedef struct state {
    const aoei_distill *d; /* options and teacher vectors; borrowed */
    aoei_sweep sweep;
    double *term;  /* [B] for each example, the sum of the losses of its pairs or of its texts */
    double *error; /* [(arity - 1) B] used if cosines are compared: for each pair of the first text of an example with
                      another text of the example, the cosine of the student's vectors minus the cosine of the teacher's
                      vectors */
} state;

/* Allocates all arrays of *p in the arena. If the arena is a measuring arena (base/arena.h), only the size of the
 * workspace is computed. The callers check that B <= SIZE_MAX / 64 / arity, so sizes such as 4 arity B cannot
 * overflow. */
static void lay_out(state *p, aoei_arena *a, size_t B, size_t D, size_t arity) {
    *p = (state){0};
    aoei_sweep_lay_out(&p->sweep, a, B, arity, D);
    p->term = aoei_arena_take_array(a, B, sizeof *p->term);
    p->error = aoei_arena_take_array(a, (arity - 1) * B, sizeof *p->error);
}

size_t aoei_distill_objective_workspace(size_t B, size_t D, size_t arity) {
    aoei_arena a;
    state p;
    if (arity < 2 || B > SIZE_MAX / 64 / arity)
        return 0;
    aoei_arena_measure(&a);
    lay_out(&p, &a, B, D, arity);
    return a.overflow ? 0 : a.used;
}

/* Returns the divisor of the sum of all losses: the number of pairs if cosines are compared, or the number of texts if
 * distributions are compared. */
static double count_terms(const state *p) {
    const aoei_vector_examples *e = &p->sweep.e;
    return (double)(p->d->form == AOE_DISTILL_COSINE ? (e->arity - 1) * e->n : e->arity * e->n);
}

/* ---------------------------------------------------------------- cosines */

static void cosine_value(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D, pairs = p->sweep.e.arity - 1;
    const float *const *teacher = p->d->teacher + i * (pairs + 1);
    (void)g;
    p->term[i] = 0;
    for (size_t n = 0; n < pairs; n++) {
        const double error =
            aoei_cosine_score(v, v + (1 + n) * D, D) - aoe_cosine(teacher[0], teacher[1 + n], p->d->dims);
        p->error[i * pairs + n] = error;
        p->term[i] += error * error;
    }
}

static void cosine_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D, pairs = p->sweep.e.arity - 1;
    for (size_t n = 0; n < pairs; n++)
        aoei_cosine_grad(v, v + (1 + n) * D, D, p->d->weight * 2 * p->error[i * pairs + n] / count_terms(p), g,
                         g + (1 + n) * D);
}

/* ----------------------------------------------------------- distributions */

/* Returns log sum_k exp(x_k) for D values x_k. The values are f64[D], or f32[D] if f64 is NULL. */
static double log_sum(const double *f64, const float *f32, size_t D) {
    assert(f64 || f32);
    double max = -INFINITY, sum = 0;
    for (size_t k = 0; k < D; k++) {
        const double x = f64 ? f64[k] : (double)f32[k];
        max = x > max ? x : max;
    }
    for (size_t k = 0; k < D; k++)
        sum += exp((f64 ? f64[k] : (double)f32[k]) - max);
    return max + log(sum);
}

static void kl_value(void *arg, size_t i, const double *v, double *g) {
    state *p = arg;
    const size_t D = p->sweep.e.D, arity = p->sweep.e.arity;
    (void)g;
    p->term[i] = 0;
    for (size_t a = 0; a < arity; a++) {
        const double *s = v + a * D;
        const float *t = p->d->teacher[i * arity + a];
        const double student = log_sum(s, NULL, D), teacher = log_sum(NULL, t, D);
        for (size_t k = 0; k < D; k++) {
            const double log_p = (double)t[k] - teacher;
            p->term[i] += exp(log_p) * (log_p - (s[k] - student));
        }
    }
}

static void kl_gradient(void *arg, size_t i, const double *v, double *g) {
    const state *p = arg;
    const size_t D = p->sweep.e.D, arity = p->sweep.e.arity;
    const double scale = p->d->weight / count_terms(p);
    for (size_t a = 0; a < arity; a++) {
        const double *s = v + a * D;
        const float *t = p->d->teacher[i * arity + a];
        const double student = log_sum(s, NULL, D), teacher = log_sum(NULL, t, D);
        for (size_t k = 0; k < D; k++)
            g[a * D + k] += scale * (exp(s[k] - student) - exp((double)t[k] - teacher));
    }
}

/* ------------------------------------------------------------- both losses */

static int run(state *p, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err) {
    const int kl = p->d->form == AOE_DISTILL_KL;
    double sum = 0;
    const int code = aoei_sweep_read(&p->sweep, ctx, kl ? kl_value : cosine_value, p, err);
    if (code)
        return code;
    for (size_t i = 0; i < p->sweep.e.n; i++)
        sum += p->term[i];
    result->teacher = sum / count_terms(p);
    result->total += p->d->weight * result->teacher;
    return aoei_sweep_write(&p->sweep, ctx, kl ? kl_gradient : cosine_gradient, p, err);
}

static void initialize(state *p, const aoei_distill *d, const aoei_example_batch *b, void *workspace, size_t bytes) {
    aoei_arena arena = {.base = workspace, .size = bytes};
    lay_out(p, &arena, b->B, b->D, b->arity);
    p->d = d;
    p->sweep.e = aoei_example_vectors(b);
    p->sweep.e.add = 1;
}

int aoei_distill_objective(const aoei_distill *d, const aoei_example_batch *batch, void *workspace,
                           size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                           aoe_error *err) {
    aoe_context serial;
    const size_t need = aoei_distill_objective_workspace(batch->B, batch->D, batch->arity);
    const int rc = aoei_objective_begin(&ctx, &serial, need, workspace_bytes, err);
    if (rc)
        return rc;
    if (d->form == AOE_DISTILL_KL && d->dims != batch->D)
        return aoei_fail(
            err, AOE_EARG,
            "the embeddings have %zu components, but the teacher embeddings have %zu; use AOE_DISTILL_COSINE, or a "
            "teacher with vectors of equal size",
            batch->D, d->dims);
    state p;
    initialize(&p, d, batch, workspace, workspace_bytes);
    return run(&p, ctx, result, err);
}
