/* SPDX-License-Identifier: MIT
 * Parallel passes ("sweeps") over the examples of a batch. A reading sweep calls a function with the vectors of each example.
 * A writing sweep calls a function that also computes the gradients of the vectors, and stores these gradients. Vectors are
 * converted to float64 one example at a time. Gradients are accumulated in float64 and rounded once per sweep. Results do not
 * depend on the number of threads.
 */
#ifndef AOEI_LOSS_EXAMPLE_SWEEP_H
#define AOEI_LOSS_EXAMPLE_SWEEP_H

#include <stddef.h>

#include "base/arena.h"
#include "base/context.h"

enum { AOEI_MAX_VECTORS = 3 /* maximum number of vectors per example */ };

/* A batch of n examples. Vector a of example i starts at v[a] + i * stride. Either all pointers of v or all pointers of v64
 * are set, and only the gradients of the same type are used. All pointers are borrowed. */
typedef struct aoei_vector_examples {
    size_t n;                         /* number of examples */
    size_t arity;                     /* vectors per example */
    size_t D;                         /* components per vector */
    size_t stride;                    /* elements from a vector of an example to the corresponding vector of the next example */
    const float *v[AOEI_MAX_VECTORS]; /* vectors of the first example; NULL if v64 is set */
    const double *v64[AOEI_MAX_VECTORS]; /* vectors of the first example in float64; NULL if v is set */
    float *grad[AOEI_MAX_VECTORS];       /* gradients of the first example; NULL: none are computed */
    double *grad64[AOEI_MAX_VECTORS];    /* gradients of the first example in float64; NULL: none are computed */
    int add;                             /* 1: gradients are added to those in memory; 0: gradients are overwritten */
} aoei_vector_examples;

/* A function that a sweep calls for example i. v: [arity, D] vectors of the example. g: [arity, D] gradients of the example, to
 * which the function adds; NULL in a reading sweep. Calls for different examples may run in parallel. */
typedef void (*aoei_example_fn)(void *arg, size_t i, const double *v, double *g);

typedef struct aoei_sweep {
    aoei_vector_examples e;  /* the batch; set by the caller */
    size_t ranges;           /* number of ranges of examples; each range is one task */
    double *v, *g;           /* [ranges, arity, D] vectors and gradients of the current example of each range, in float64 */
    size_t *first_nonfinite; /* [ranges] index of the first example of each range with a value that is not finite; n if there is
                                none */
    aoei_example_fn fn;      /* function of the current sweep */
    void *arg;               /* first argument of fn; borrowed */
} aoei_sweep;

/* Takes the memory for n examples of `arity` vectors of D components from the arena. A measuring arena only computes the size.
 * The size never decreases when an argument grows. The caller then sets e. */
void aoei_sweep_lay_out(aoei_sweep *s, aoei_arena *a, size_t n, size_t arity, size_t D);
/* Calls fn for each example. Returns the index of the first example with a vector that is not finite, or n if there is none.
 * fn is not called for this example; it may or may not be called for later ones. */
size_t aoei_sweep_read(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg);
/* Calls fn for each example and writes its gradients. Returns the index of the first example with a gradient that is not
 * finite, or n if there is none. */
size_t aoei_sweep_write(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg);
/* Returns the index (0 to arity - 1) of the first vector of example i that is not finite, or arity if all are finite. */
size_t aoei_sweep_nonfinite_vector(const aoei_sweep *s, size_t i);

#endif
