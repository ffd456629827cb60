/* SPDX-License-Identifier: MIT
 * Operations that only the recurrent encoder (RAN, docs/ran.md) uses: swish with rotary
 * positions, and gated sums. Rows may be column views. All tensors of a call have one type,
 * except that output gradients (dy) are float32.
 */
#ifndef AOEI_NN_RAN_OPS_H
#define AOEI_NN_RAN_OPS_H

#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/tensor.h"

/* Rotary positions (Su et al. 2021) of interleaved pairs: the components 2i and 2i + 1 of each head are rotated by the angle
 * whose cosine is table[position, 2i] and whose sine is table[position, 2i + 1]. */
typedef struct aoei_rotation {
    const uint32_t *position; /* [N] position of each row; NULL: no rotation */
    aoei_tensor table;        /* [positions, head_dim] float32, filled by aoei_rotation_table */
} aoei_rotation;
/* Fills the table of cosines and sines; pair i rotates by position * base^(-2 i / head_dim). */
void aoei_rotation_table(const aoe_context *ctx, aoei_tensor table, double base);
/* y = rotation(swish(x)) with swish(x) = x sigma(x); y may be x. */
void aoei_swish_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_rotation *r);
/* dx (of x's type) = swish'(x) * inverse_rotation(dy); dy is float32. */
void aoei_swish_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x, const aoei_rotation *r);

/* A gated sum: if `swish` is 1, y[N, D] = dropout(swish(x)) + t sigma(gate). If it is 0, y = x + t sigma(gate). Each element is
 * rounded once. */
typedef struct aoei_gated_sum {
    aoei_tensor gated;       /* [N, 2D]: t in the first D columns, gate in the last D columns */
    aoei_tensor x;           /* [N, D] */
    int swish;               /* 1: swish and dropout are applied to x */
    const aoei_batch *batch; /* batch whose tokens are the rows of x; the text and position of a token select its dropout mask;
                                NULL: no dropout */
    aoei_dropout drop;       /* dropout of swish(x) */
} aoei_gated_sum;
void aoei_gated_sum_forward(const aoe_context *ctx, aoei_tensor y, const aoei_gated_sum *s);
/* Overwrites dgated and, if s->swish is 1, dx with the gradients of `gated` and x, given dy (float32). */
void aoei_gated_sum_backward(const aoe_context *ctx, aoei_tensor dgated, aoei_tensor dx, aoei_tensor dy,
                             const aoei_gated_sum *s);

#endif
