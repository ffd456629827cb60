/* SPDX-License-Identifier: MIT
 * Sweeps over a batch of examples, each a few vectors, in chunks that run in
 * parallel: one that reads the vectors, one that writes their gradients.
 * Vectors are widened an example at a time, gradients narrowed once a sweep. What a
 * sweep finds is the same for any number of threads.
 */
#ifndef AOEI_LOSS_EXAMPLE_SWEEP_H
#define AOEI_LOSS_EXAMPLE_SWEEP_H

#include <stddef.h>

#include "base/arena.h"
#include "base/context.h"

enum { AOEI_MOST_VECTORS = 3 /* of an example */ };

/* n examples; vector a of example i starts i * stride elements after the a-th pointer. Exactly one of v and v64 is set, and the
 * gradients are of the same type. All borrowed. */
typedef struct aoei_vector_examples {
    size_t n, arity; /* arity: vectors of an example */
    size_t D, stride;
    const float *v[AOEI_MOST_VECTORS];
    const double *v64[AOEI_MOST_VECTORS];
    float *grad[AOEI_MOST_VECTORS]; /* overwritten, or with `add` added to; NULL: values only */
    double *grad64[AOEI_MOST_VECTORS];
    int add;
} aoei_vector_examples;

/* Called with example i: its vectors v and, when gradients are written, g, which is 0 (with `add`: what is there) and to be
 * added to; else NULL.
 * v, g: [arity, D]. Different examples at the same time. */
typedef void (*aoei_example_fn)(void *arg, size_t i, const double *v, double *g);

typedef struct aoei_sweep {
    aoei_vector_examples e;
    size_t chunks; /* of examples, each a task */
    double *v, *g; /* [chunks, arity, D] the examples at hand and their gradients */
    size_t *bad;   /* [chunks] the first example that is not finite, else n */
    aoei_example_fn fn;
    void *arg;
} aoei_sweep;

/* Takes the memory for n examples of `arity` vectors of size D from the arena, which may be a measuring one; more for larger
 * ones. The caller sets e. */
void aoei_sweep_lay_out(aoei_sweep *s, aoei_arena *a, size_t n, size_t arity, size_t D);
/* Calls fn for the examples. Returns the first one with a vector that is not finite, for which fn is not called; n: none. */
size_t aoei_sweep_read(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg);
/* Calls fn for the examples and writes their gradients. Returns the first one with a gradient that is not finite; n: none. */
size_t aoei_sweep_write(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg);
/* The first vector of example i that is not finite; arity: none. */
size_t aoei_sweep_bad_vector(const aoei_sweep *s, size_t i);

#endif
