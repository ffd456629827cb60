/* SPDX-License-Identifier: MIT
 * Sweeps over the examples of a batch in parallel chunks: one kind reads the vectors, the
 * other writes their gradients. Vectors are converted to double one example at a time;
 * gradients are rounded once per sweep. Results do not depend on the number of threads.
 */
#ifndef AOEI_LOSS_EXAMPLE_SWEEP_H
#define AOEI_LOSS_EXAMPLE_SWEEP_H

#include <stddef.h>

#include "base/arena.h"
#include "base/context.h"

enum { AOEI_MOST_VECTORS = 3 /* vectors per example */ };

/* n examples; vector a of example i starts i * stride elements after the a-th pointer. Exactly one of v and v64 is set, and the
 * gradients are of the same type. All pointers are borrowed. */
typedef struct aoei_vector_examples {
    size_t n, arity; /* examples; vectors per example */
    size_t D, stride;
    const float *v[AOEI_MOST_VECTORS];
    const double *v64[AOEI_MOST_VECTORS];
    float *grad[AOEI_MOST_VECTORS]; /* overwritten, or accumulated if `add` is set; NULL: values only */
    double *grad64[AOEI_MOST_VECTORS];
    int add;
} aoei_vector_examples;

/* Called with the vectors v of example i and, in a sweep that writes gradients, with g, to which the function adds the
 * gradient (NULL otherwise). v, g: [arity, D]. Called in parallel for different examples. */
typedef void (*aoei_example_fn)(void *arg, size_t i, const double *v, double *g);

typedef struct aoei_sweep {
    aoei_vector_examples e;
    size_t chunks; /* chunks of examples, one task each */
    double *v, *g; /* [chunks, arity, D] current example of each chunk, and its gradient */
    size_t *bad;   /* [chunks] first example of the chunk that is not finite, else n */
    aoei_example_fn fn;
    void *arg;
} aoei_sweep;

/* Takes the memory for n examples of `arity` vectors of size D from the arena, which may be a measuring arena. Larger arguments
 * never need less memory. The caller sets e. */
void aoei_sweep_lay_out(aoei_sweep *s, aoei_arena *a, size_t n, size_t arity, size_t D);
/* Calls fn for the examples. Returns the first one with a vector that is not finite, for which fn is not called; n: none. */
size_t aoei_sweep_read(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg);
/* Calls fn for the examples and writes their gradients. Returns the first one with a gradient that is not finite; n: none. */
size_t aoei_sweep_write(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg);
/* The first vector of example i that is not finite; arity: none. */
size_t aoei_sweep_bad_vector(const aoei_sweep *s, size_t i);

#endif
