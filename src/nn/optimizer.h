/* SPDX-License-Identifier: MIT
 * AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization") and gradient norms. Four contiguous float32 tensors
 * [1, P] contain the values, the gradients and both moments of all P parameters. They are called flat tensors. The elements of
 * the flat tensors are divided into segments. The segments are in ascending order and have no gaps between them.
 */
#ifndef AOEI_NN_OPTIMIZER_H
#define AOEI_NN_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

typedef struct aoei_adamw_segment {
    size_t begin, end;   /* the segment consists of elements [begin, end) of the flat tensors */
    int decay;           /* 1: weight decay is applied to the segment */
    aoei_tensor *weight; /* weight that is stored in this segment and has a packed form, which each step updates; NULL: the
                            segment has no packed form */
    size_t first_task;   /* index of the first task that updates the segment; set by aoei_adamw_plan */
} aoei_adamw_segment;
/* Divides the segments into tasks for aoei_adamw_step and returns the number of tasks. */
size_t aoei_adamw_plan(aoei_adamw_segment *segments, size_t n);

typedef struct aoei_adamw {
    double lr, beta1, beta2, eps, weight_decay; /* parameters of AdamW as in PyTorch; lr is the learning rate of this step */
    double grad_scale;                          /* factor of the gradients; used to clip them */
    uint64_t step;                              /* number of this step, counted from 1, for the bias correction */
    const aoei_adamw_segment *segments;         /* [n_segments] segments, prepared by aoei_adamw_plan */
    size_t n_segments, n_tasks;                 /* number of segments; result of aoei_adamw_plan */
} aoei_adamw;
/* Runs one step of AdamW: updates `value`, the moments m and v, and the packed forms of the weights, and sets `grad` to 0. */
void aoei_adamw_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                     const aoei_adamw *o);
/* Returns the sum of squares of a contiguous float32 tensor, computed in double. The tensor is divided into blocks whose size
 * depends only on the number of elements. The sums of the blocks are added in ascending order. NaN and infinity propagate to
 * the result. */
double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t);

#endif
