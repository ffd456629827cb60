/* SPDX-License-Identifier: MIT
 * Parallel passes ("sweeps") over the examples of a batch. A reading sweep calls a function for each example with the
 * vectors of the example. A writing sweep also stores the gradients of the vectors, which the function computes.
 * Vectors are converted to float64 one example at a time. Gradients are accumulated in float64 and rounded once per
 * sweep. Results do not depend on the number of threads.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/context.h"

/* Names in messages: of an example, and of its vectors. The last name applies to all further vectors. */
typedef struct aoei_example_names {
    const char *example, *vector[3];
} aoei_example_names;

extern const aoei_example_names aoei_text_names, aoei_pair_names, aoei_query_names;

/* A batch of n examples with `arity` vectors each. Vector 0 of example i starts at v[0] + i * stride, and vector a > 0
 * at v[1] + (a - 1) * D + i * stride. Either the pointers of v or those of v64 are set; if arity is 1, the second
 * pointer is unused. The gradients are stored in `grad` if v is set, and in `grad64` if v64 is set. All pointers are
 * borrowed. */
typedef struct aoei_vector_examples {
    size_t n;             /* number of examples */
    size_t arity;         /* vectors per example */
    size_t D;             /* components per vector */
    size_t stride;        /* distance in elements between vector a of an example and vector a of the next example */
    const float *v[2];    /* float32 vectors of the first example; NULL if v64 is set */
    const double *v64[2]; /* float64 vectors of the first example; NULL if v is set */
    float *grad[2];       /* float32 gradients of the first example; NULL: gradients are not stored */
    double *grad64[2];    /* float64 gradients of the first example; NULL: gradients are not stored */
    int add;              /* 1: gradients are added to the stored gradients; 0: gradients are overwritten */
    const aoei_example_names *names;
} aoei_vector_examples;

/* A function that a sweep calls for example i. v[arity, D] contains the vectors of the example. In a writing sweep, the
 * function adds the gradients of the vectors to g[arity, D]; in a reading sweep, g is NULL. Calls for different
 * examples may run in parallel. */
typedef void (*aoei_example_fn)(void *arg, size_t i, const double *v, double *g);

typedef struct aoei_sweep {
    aoei_vector_examples e; /* the batch; set by the caller */
    size_t ranges;          /* number of ranges into which the examples are divided; each range is one task */
    double *v, *g;          /* [ranges, arity, D] each: for each range, vectors and gradients of the current example, in
                               float64 */
    size_t *first_nonfinite; /* [ranges] for each range, the index of the first example with a value that is not finite;
                                n: there is no such example */
    aoei_example_fn fn;      /* function of the current sweep */
    void *arg;               /* first argument of fn, borrowed */
} aoei_sweep;

/* Allocates the memory for n examples of `arity` vectors of D components in the arena. If the arena is a measuring
 * arena (base/arena.h), only the size is computed. The size does not decrease if an argument increases. After this
 * call, the caller sets s->e. */
void aoei_sweep_lay_out(aoei_sweep *s, aoei_arena *a, size_t n, size_t arity, size_t D);
/* Returns 1 if s->e has pointers to gradients, otherwise 0. */
int aoei_sweep_has_gradients(const aoei_sweep *s);
/* Calls fn for each example. Error: AOE_ENUMERIC, if a vector is not finite; the message contains the index of the
 * first example with such a vector. fn may or may not be called for the examples after this example. */
int aoei_sweep_read(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg, aoe_error *err);
/* Calls fn for each example and stores the gradients of the example. Does nothing if s->e has no pointers to gradients.
 * Error: AOE_ENUMERIC, if a gradient is not finite; the message contains the index of the first example with such a
 * gradient. The gradients of examples after this example may or may not be stored. */
int aoei_sweep_write(aoei_sweep *s, const aoe_context *ctx, aoei_example_fn fn, void *arg, aoe_error *err);
