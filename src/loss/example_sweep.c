/* SPDX-License-Identifier: MIT
 * Parallel passes over the examples of a batch. The examples are divided into ranges, and each range is a task. The
 * number of ranges depends only on the number of examples. If a vector or a gradient of an example contains a value
 * that is not finite, the task of the range stops at this example and records the index of the example. The pass
 * reports the lowest recorded index, which is the first such example of the batch.
 */
#include "loss/example_sweep.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { MAX_RANGES = 32 /* maximum number of ranges */ };

const aoei_example_names aoei_text_names = {"text", {"the vector"}},
                         aoei_pair_names = {"pair", {"vector x", "vector y"}},
                         aoei_query_names = {
                             "example",
                             {"the vector of the query", "the vector of the positive", "the vector of the negative"}};

void aoei_sweep_lay_out(aoei_sweep *s, aoei_arena *a, size_t n, size_t arity, size_t D) {
    size_t cells = 0;
    *s = (aoei_sweep){.ranges = n < MAX_RANGES ? n : MAX_RANGES};
    if (aoei_mul_size(s->ranges * arity, D, &cells))
        a->overflow = 1;
    s->v = aoei_arena_take_array(a, cells, sizeof *s->v);
    s->g = aoei_arena_take_array(a, cells, sizeof *s->g);
    s->first_nonfinite = aoei_arena_take_array(a, s->ranges, sizeof *s->first_nonfinite);
}

/* Returns the index of the first example of range `range`. All ranges have equal numbers of examples, or numbers that
 * differ by one. */
static size_t range_start(const aoei_sweep *s, size_t range) {
    size_t small = s->e.n / s->ranges, larger = s->e.n % s->ranges;
    return range * small + (range < larger ? range : larger);
}

static size_t first_of_ranges(const aoei_sweep *s) {
    for (size_t c = 0; c < s->ranges; c++)
        if (s->first_nonfinite[c] < s->e.n)
            return s->first_nonfinite[c];
    return s->e.n;
}

/* Returns the offset in elements of vector a of example i from the pointer a > 0 of `v`, `v64`, `grad` or `grad64`. */
static size_t offset(const aoei_vector_examples *e, size_t i, size_t a) {
    return i * e->stride + (a > 1 ? (a - 1) * e->D : 0);
}

/* Copies vector a of example i to out[D] as float64. Returns 1 if all values are finite, otherwise 0. */
static int read_vector(const aoei_vector_examples *e, size_t i, size_t a, double *out) {
    const float *f32 = e->v[a > 0] ? e->v[a > 0] + offset(e, i, a) : NULL;
    const double *f64 = e->v64[a > 0] ? e->v64[a > 0] + offset(e, i, a) : NULL;
    int finite = 1;
    assert(f64 || f32);
    for (size_t k = 0; k < e->D; k++) {
        out[k] = f64 ? f64[k] : (double)f32[k];
        finite &= isfinite(out[k]) != 0;
    }
    return finite;
}

static int read_example(const aoei_vector_examples *e, size_t i, double *v) {
    int finite = 1;
    for (size_t a = 0; a < e->arity; a++)
        finite &= read_vector(e, i, a, v + a * e->D);
    return finite;
}

/* Stores g[D] as the gradient of vector a of example i. Returns 1 if all stored values are finite, otherwise 0. */
static int write_vector(const aoei_vector_examples *e, size_t i, size_t a, const double *g) {
    float *f32 = e->grad[a > 0] ? e->grad[a > 0] + offset(e, i, a) : NULL;
    double *f64 = e->grad64[a > 0] ? e->grad64[a > 0] + offset(e, i, a) : NULL;
    int finite = 1;
    assert(f64 || f32);
    for (size_t k = 0; k < e->D; k++) {
        if (f64)
            f64[k] = g[k];
        else
            f32[k] = (float)g[k];
        finite &= f64 ? isfinite(f64[k]) != 0 : isfinite(f32[k]) != 0;
    }
    return finite;
}

/* Initializes g[arity, D] with the stored gradients of example i if gradients are accumulated, or else with 0. */
static void start_gradient(const aoei_vector_examples *e, size_t i, double *g) {
    memset(g, 0, e->arity * e->D * sizeof *g);
    for (size_t a = 0; e->add && a < e->arity; a++)
        for (size_t k = 0; k < e->D; k++)
            g[a * e->D + k] =
                e->grad64[a > 0] ? e->grad64[a > 0][offset(e, i, a) + k] : (double)e->grad[a > 0][offset(e, i, a) + k];
}

static int write_example(const aoei_vector_examples *e, size_t i, const double *g) {
    int finite = 1;
    for (size_t a = 0; a < e->arity; a++)
        finite &= write_vector(e, i, a, g + a * e->D);
    return finite;
}

static void read_range(void *arg, size_t range, size_t worker) {
    aoei_sweep *s = arg;
    double *v = s->v + range * s->e.arity * s->e.D;
    size_t end = range_start(s, range + 1);
    (void)worker;
    s->first_nonfinite[range] = s->e.n;
    for (size_t i = range_start(s, range); i < end; i++) {
        if (!read_example(&s->e, i, v)) {
            s->first_nonfinite[range] = i;
            return;
        }
        s->fn(s->arg, i, v, NULL);
    }
}

static void write_range(void *arg, size_t range, size_t worker) {
    aoei_sweep *s = arg;
    const size_t size = s->e.arity * s->e.D, end = range_start(s, range + 1);
    double *v = s->v + range * size, *g = s->g + range * size;
    (void)worker;
    s->first_nonfinite[range] = s->e.n;
    for (size_t i = range_start(s, range); i < end; i++) {
        read_example(&s->e, i, v);
        start_gradient(&s->e, i, g);
        s->fn(s->arg, i, v, g);
        if (!write_example(&s->e, i, g)) {
            s->first_nonfinite[range] = i;
            return;
        }
    }
}

static size_t sweep(aoei_sweep *s, const aoe_context *ctx, aoei_task_fn task, aoei_example_fn fn, void *arg) {
    s->fn = fn;
    s->arg = arg;
    aoei_parallel_for(ctx->pool, s->ranges, task, s);
    return first_of_ranges(s);
}

int aoei_sweep_has_gradients(const aoei_sweep *s) {
    return s->e.v64[0] ? s->e.grad64[0] != NULL : s->e.grad[0] != NULL;
}

int aoei_sweep_read(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg, aoe_error *err) {
    const size_t i = sweep(s, ctx, read_range, fn, arg);
    size_t a = 0;
    if (i == s->e.n)
        return 0;
    while (read_vector(&s->e, i, a, s->v))
        a++;
    return aoei_fail(err, AOE_ENUMERIC, "%s %zu: %s is not finite; check the weights and the learning rate",
                     s->e.names->example, i, s->e.names->vector[a < 2 ? a : 2]);
}

int aoei_sweep_write(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg, aoe_error *err) {
    if (!aoei_sweep_has_gradients(s))
        return 0;
    const size_t i = sweep(s, ctx, write_range, fn, arg);
    return i == s->e.n
               ? 0
               : aoei_fail(err, AOE_ENUMERIC,
                           "%s %zu: the gradient overflows, for example because the vectors are close to zero; check "
                           "the weights and the learning rate",
                           s->e.names->example, i);
}
