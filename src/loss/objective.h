/* SPDX-License-Identifier: MIT
 * Common parts of the training objectives: their options and the batch of examples.
 *
 * An objective computes a value and its gradient over a batch of vectors, in memory that the caller provides.
 * Objectives do not allocate memory, and their results are pure functions of the arguments and the CPU tier:
 * neither the number of threads nor earlier calls change a bit. docs/objectives.md contains the formulas.
 */
#ifndef AOEI_LOSS_OBJECTIVE_H
#define AOEI_LOSS_OBJECTIVE_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_train.h"

/* B examples of `arity` vectors of size D, interleaved: x0 y0 x1 y1 ... for pairs, q0 p0 n0 q1 p1 n1 ... for triplets.
 * Exactly one of v and v64 is set; the gradient has the type of the vectors. All pointers are borrowed. */
typedef struct aoei_example_batch {
    size_t B, D, arity; /* arity: vectors per example, 2 or 3 */
    const float *v;     /* [arity B, D] */
    float *grad;        /* [arity B, D], overwritten; NULL: values only; does not overlap v */
    const double *v64;  /* [arity B, D] */
    double *grad64;     /* [arity B, D], overwritten; NULL: values only */
} aoei_example_batch;

/* Checks weights, temperatures and the form of the angle; with w_angle above 0 also that D is even. D: size of the vectors, 0
 * if no pair is ranked. Errors: AOE_EARG. */
int aoei_objective_check(const aoe_objective_options *o, size_t D, aoe_error *err);

#endif
