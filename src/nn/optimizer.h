/* SPDX-License-Identifier: MIT
 * Optimizers and gradient norms: AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization"), RMSprop in the
 * form of PyTorch and SGD without momentum, all with decoupled weight decay. Four contiguous float32 tensors [1, P]
 * contain the values, the gradients and both moments of all P parameters. They are called flat tensors. RMSprop has
 * only the second moment, and SGD has no moments; the other tensors are absent. The elements of the flat tensors are
 * divided into segments. The segments are in ascending order and have no gaps between them.
 *
 * If several processes train together, each of them updates a share of the elements and has only the moments of its
 * share (ZeRO-1, Rajbhandari et al. 2020, section 5). The elements are divided into blocks, whose size depends only on
 * the number of elements, and the blocks are dealt to the processes in turn, so that every process has a part of every
 * layer.
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

/* The share of a process in flat tensors of `count` elements: the blocks b with b % ranks == rank. */
typedef struct aoei_share {
    size_t rank, ranks; /* number of this process, and number of processes */
    size_t count;       /* number of elements of the flat tensors of values and gradients */
    size_t block;       /* number of elements of a block; the last block may be smaller */
} aoei_share;
/* Returns the share of a process. Both `ranks` 0 and `ranks` 1 stand for one process. */
aoei_share aoei_share_of(size_t count, size_t rank, size_t ranks);
/* Returns the number of elements of the share, which is the size of its moments. */
size_t aoei_share_count(const aoei_share *s);
/* Returns the number of blocks of all processes. */
static inline size_t aoei_share_blocks(const aoei_share *s) {
    return (s->count + s->block - 1) / s->block;
}
/* Returns the number of elements of block b; 0 if there is no such block. */
static inline size_t aoei_share_length(const aoei_share *s, size_t b) {
    const size_t at = b * s->block;
    return at >= s->count ? 0 : s->count - at < s->block ? s->count - at : s->block;
}
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
    const aoei_share *share; /* only these elements are updated, and the packed forms are not; NULL: all elements */
} aoei_optimizer;
/* Returns the number of moments of an optimizer: 2, 1 or 0. */
static inline int aoei_optimizer_moments(aoei_optimizer_kind kind) {
    return kind == AOEI_ADAMW ? 2 : kind == AOEI_RMSPROP ? 1 : 0;
}
/* Runs one step: updates `value`, the moments m and v, and the packed forms of the weights, and sets `grad` to 0. With
 * a share, m and v have aoei_share_count elements, the blocks of the share one after the other. */
void aoei_optimizer_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                         const aoei_optimizer *o);
/* Returns the sum of squares of a contiguous float32 tensor, computed in double. The tensor is divided into blocks
 * whose size depends only on the number of elements. The sums of the blocks are added in ascending order. NaN and
 * infinity propagate to the result. */
double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t);
/* Computes the sums of squares of the blocks of a share, with the blocks of aoei_sum_squares. sums: receives one sum
 * for each block of the share, in ascending order. */
void aoei_block_squares(const aoe_context *ctx, double *sums, aoei_tensor t, const aoei_share *share);
