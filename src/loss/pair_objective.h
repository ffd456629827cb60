/* SPDX-License-Identifier: MIT
 * The objective of labeled pairs: the weighted sum of the cosine, in-batch-negatives and angle losses (equation 8 of
 * the AnglE paper, arXiv 2309.12871).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_objective.h"
#include "base/context.h"

/* A batch of B pairs (x_i, y_i). Either x and y are set, or x64 and y64. The gradients have the type of the vectors.
 * All pointers are borrowed. */
typedef struct aoei_pair_batch {
    size_t B;      /* number of pairs */
    size_t D;      /* components per vector */
    size_t stride; /* distance in elements between adjacent rows of each array of vectors or gradients; at least D */
    const float *x, *y;     /* [B, D] float32 vectors; NULL if x64 and y64 are set */
    float *grad_x, *grad_y; /* [B, D] gradients of the loss with respect to x and y, overwritten; must not overlap x and
                               y; NULL: not computed */
    const double *x64, *y64;     /* [B, D] float64 vectors; NULL if x and y are set */
    double *grad_x64, *grad_y64; /* [B, D] gradients of the loss with respect to x64 and y64, overwritten; NULL: not
                                    computed */
    const double *label;         /* [B] labels; a higher label means more similar texts */
    /* [2B] id of each text, in the order x0 y0 x1 y1 ...; equal texts have equal ids; NULL: all texts differ */
    const uint32_t *group;
} aoei_pair_batch;

/* Returns the size in bytes of the workspace for batches of up to B pairs of D components, or 0 if the size overflows.
 * The size does not decrease if B or D increases. */
size_t aoei_pair_objective_workspace(size_t B, size_t D);

/* Computes the result of aoe_objective (aoe.h) without allocating memory. The workspace must be aligned to AOEI_ALIGN.
 * If ctx is NULL, one thread is used, with the kernels that the environment variable AOE_CPU allows. Errors: AOE_EARG
 * (for example, the workspace is too small); AOE_ENUMERIC (a value is not finite; the message contains the index of the
 * pair). */
int aoei_pair_objective(const aoe_objective_options *o, const aoei_pair_batch *batch, void *workspace,
                        size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);
