/* SPDX-License-Identifier: MIT
 * The objective of labelled pairs: the weighted sum of the cosine, in-batch-negative and angle losses (equation 8 of the
 * paper).
 */
#ifndef AOEI_LOSS_PAIR_OBJECTIVE_H
#define AOEI_LOSS_PAIR_OBJECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_train.h"
#include "base/context.h"

/* B pairs (x_i, y_i). Exactly one of x and x64 is set; y, grad_x and grad_y have its type. All pointers are borrowed. */
typedef struct aoei_pair_batch {
    size_t B, D;
    size_t stride;               /* elements from one row to the next, in vectors and in gradients; at least D */
    const float *x, *y;          /* [B, D] */
    float *grad_x, *grad_y;      /* [B, D], overwritten; both NULL: values only; do not overlap x and y */
    const double *x64, *y64;     /* [B, D]: vectors in double, for callers that need more than the precision of float */
    double *grad_x64, *grad_y64; /* [B, D]: their gradients */
    const double *label;         /* [B] */
    const uint32_t *group;       /* [2B] text x0 y0 x1 y1 ...: equal numbers mark identical texts; NULL: all texts differ */
} aoei_pair_batch;

/* Bytes of workspace for batches of up to B pairs of size D; 0 if the size overflows. Grows with B and with D. */
size_t aoei_pair_objective_workspace(size_t B, size_t D);

/* aoe_objective with memory from workspace (aligned to AOEI_ALIGN). ctx NULL: one thread, the kernels that AOE_CPU allows.
 * Errors: AOE_EARG (also if the workspace is too small), AOE_ENUMERIC with the index of the pair. */
int aoei_pair_objective(const aoe_objective_options *o, const aoei_pair_batch *batch, void *workspace, size_t workspace_bytes,
                        const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
