/* SPDX-License-Identifier: MIT
 * Types and checks that all training objectives (loss functions) use: the batch of examples and the check of the
 * options.
 *
 * An objective computes the loss of a batch of vectors and its gradient, in workspace memory that the caller provides.
 * Objectives do not allocate memory. For equal arguments and an equal instruction set of the kernels, their results are
 * bit-identical. The results do not depend on the number of threads or on earlier calls. docs/objectives.md contains
 * the formulas.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_objective.h"
#include "loss/example_sweep.h"

/* A batch of B examples with `arity` vectors each. The vectors of an example are adjacent: x0 y0 x1 y1 ... for pairs,
 * and q0 p0 n0 q1 p1 n1 ... for examples of a query, a positive and one or several negatives. Either v or v64 is set.
 * The gradient is stored in grad if v is set, and in grad64 if v64 is set. All pointers are borrowed. */
typedef struct aoei_example_batch {
    size_t B;          /* number of examples */
    size_t D;          /* components per vector */
    size_t arity;      /* vectors per example; see the objectives */
    const float *v;    /* [arity B, D] float32 vectors; NULL if v64 is set */
    float *grad;       /* [arity B, D] gradient of the loss, overwritten; must not overlap v; NULL: only the loss is
                          computed */
    const double *v64; /* [arity B, D] float64 vectors; NULL if v is set */
    double *grad64;    /* [arity B, D] float64 gradient of the loss, overwritten; NULL: only the loss is computed */
} aoei_example_batch;

/* Returns the vectors and gradients of a batch, for a sweep that overwrites the gradients. The names in messages are
 * those of texts, pairs or queries, depending on the number of vectors per example. */
aoei_vector_examples aoei_example_vectors(const aoei_example_batch *b);
/* Prepares the computation of an objective: checks that the workspace of `bytes` bytes has at least `need` bytes, and
 * initializes *serial and sets *ctx to it if *ctx is NULL. need: 0 means that the size overflows. Errors: AOE_EARG (the
 * workspace is too small, or the value of AOE_CPU is invalid). */
int aoei_objective_begin(const aoe_context **ctx, aoe_context *serial, size_t need, size_t bytes, aoe_error *err);
/* Checks the options: the weights, the temperatures, hard_negative and angle_form. D is the number of components per
 * vector. If w_angle is above 0, also checks that D is even; pass D = 0 if the objective does not compute the angle
 * term (examples of a query and a positive text). Errors: AOE_EARG. */
int aoei_objective_check(const aoe_objective_options *o, size_t D, aoe_error *err);
