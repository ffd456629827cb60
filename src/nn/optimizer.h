/* SPDX-License-Identifier: MIT
 * AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization") and gradient norms. The values, the gradients and both
 * moments of all P parameters are contiguous float32 tensors [1, P]. The tensors are divided into segments in ascending order
 * without gaps.
 */
#ifndef AOEI_NN_OPTIMIZER_H
#define AOEI_NN_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

typedef struct aoei_adamw_segment {
    size_t begin, end;   /* elements [begin, end) of the flat tensors */
    int decay;           /* 1: weight decay applies */
    aoei_tensor *weight; /* weight that is stored in this segment and has a packed form, which each step updates; NULL: there is
                            no packed form */
    size_t first_task;   /* set by aoei_adamw_plan */
} aoei_adamw_segment;
/* Divides the segments into tasks for aoei_adamw_step; returns the number of tasks. */
size_t aoei_adamw_plan(aoei_adamw_segment *segments, size_t n);

typedef struct aoei_adamw {
    double lr, beta1, beta2, eps, weight_decay; /* parameters of AdamW; lr is the learning rate of this update */
    double grad_scale;                          /* factor of the gradients, for clipping */
    uint64_t step;                              /* index of this update, counted from 1, for bias correction */
    const aoei_adamw_segment *segments;         /* [n_segments] segments, prepared by aoei_adamw_plan */
    size_t n_segments, n_tasks;                 /* number of segments, and of tasks as returned by aoei_adamw_plan */
} aoei_adamw;
/* Updates values, moments and packed forms, and sets the gradients to 0, in one pass. */
void aoei_adamw_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                     const aoei_adamw *o);
/* Returns the sum of squares of a contiguous float32 tensor, in double. The tensor is summed in blocks whose size depends only
 * on its size, and the sums of blocks are added in order. NaN and infinity propagate. */
double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t);

#endif
