/* SPDX-License-Identifier: MIT
 * Optimizers and gradient norms: AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization"), RMSprop in the
 * form of PyTorch and SGD without momentum, all with decoupled weight decay. Four contiguous float32 tensors [1, P]
 * contain the values, the gradients and both moments of all P parameters. They are called flat tensors. RMSprop has
 * only the second moment, and SGD has no moments; the other tensors are absent. The elements of the flat tensors are
 * divided into segments. The segments are in ascending order and have no gaps between them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

typedef enum aoei_optimizer_kind { AOEI_ADAMW, AOEI_RMSPROP, AOEI_SGD } aoei_optimizer_kind;

typedef struct aoei_optimizer_segment {
    size_t begin, end;   /* the segment consists of elements [begin, end) of the flat tensors */
    int decay;           /* 1: weight decay is applied to the segment */
    aoei_tensor *weight; /* weight that is stored in this segment and has a packed form, which each step updates; NULL:
                            the segment has no packed form */
    size_t first_task;   /* index of the first task that updates the segment; set by aoei_optimizer_plan */
} aoei_optimizer_segment;
/* Divides the segments into tasks for aoei_optimizer_step and returns the number of tasks. */
size_t aoei_optimizer_plan(aoei_optimizer_segment *segments, size_t n);

typedef struct aoei_optimizer {
    aoei_optimizer_kind kind;
    double lr, beta1, beta2, eps, weight_decay; /* parameters as in PyTorch; lr is the learning rate of this step.
                                                   RMSprop: beta2 is its smoothing constant; beta1 is not used. SGD uses
                                                   neither */
    int no_bias_correction;                     /* AdamW: 1: the moments are used without bias correction */
    int decay_all;                              /* 1: weight decay is applied to all segments */
    double grad_scale;                          /* factor of the gradients; used to clip them */
    uint64_t step;                              /* number of this step, counted from 1, for the bias correction */
    const aoei_optimizer_segment *segments;     /* [n_segments] segments, prepared by aoei_optimizer_plan */
    size_t n_segments, n_tasks;                 /* number of segments; result of aoei_optimizer_plan */
} aoei_optimizer;
/* Returns the number of moments of an optimizer: 2, 1 or 0. */
static inline int aoei_optimizer_moments(aoei_optimizer_kind kind) {
    return kind == AOEI_ADAMW ? 2 : kind == AOEI_RMSPROP ? 1 : 0;
}
/* Runs one step: updates `value`, the moments m and v, and the packed forms of the weights, and sets `grad` to 0. */
void aoei_optimizer_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                         const aoei_optimizer *o);
/* Returns the sum of squares of a contiguous float32 tensor, computed in double. The tensor is divided into blocks
 * whose size depends only on the number of elements. The sums of the blocks are added in ascending order. NaN and
 * infinity propagate to the result. */
double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t);
