/* SPDX-License-Identifier: MIT
 * Operations that only the encoder of recurrent attention networks (RAN, docs/ran.md) uses: swish with rotary
 * positions, and gated sums. Tensors may be column views. In one call, all tensors have one type, float32 or bf16,
 * except dy, the gradient of the output, which is always float32.
 */
#pragma once

#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/tensor.h"

/* Rotary positions (Su et al. 2021) of interleaved pairs: components 2i and 2i + 1 of each head are rotated by one
 * angle. table[position, 2i] is the cosine of the angle, and table[position, 2i + 1] is its sine. */
typedef struct aoei_rotation {
    const uint32_t *position; /* [N] position of each row; NULL: rows are not rotated */
    aoei_tensor table;        /* [positions, head_dim] float32, filled by aoei_rotation_table */
} aoei_rotation;
/* Fills the table of cosines and sines. At position p, pair i is rotated by the angle p * base^(-2 i / head_dim). */
void aoei_rotation_table(const aoe_context *ctx, aoei_tensor table, double base);
/* Computes y = rotation(swish(x)) with swish(x) = x sigma(x), where sigma is the logistic function. If r is NULL, y is
 * not rotated. y may be x. */
void aoei_swish_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_rotation *r);
/* Computes dx = swish'(x) * inverse_rotation(dy). dy is float32. dx has the type of x. */
void aoei_swish_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x, const aoei_rotation *r);

/* Arguments of a gated sum. If `swish` is 1, it computes y[N, D] = dropout(swish(x)) + t sigma(gate). If `swish` is 0,
 * it computes y[N, D] = x + t sigma(gate). sigma is the logistic function. Each element is rounded once. */
typedef struct aoei_gated_sum {
    aoei_tensor gated;       /* [N, 2D]: columns [0, D) are t; columns [D, 2D) are gate */
    aoei_tensor x;           /* [N, D] */
    int swish;               /* 1: swish and dropout are applied to x; 0: x is added unchanged */
    const aoei_batch *batch; /* batch whose tokens are the rows of x; the text and the position of a token select its
                                dropout mask; NULL: no dropout */
    aoei_dropout drop;       /* dropout of swish(x) */
} aoei_gated_sum;
void aoei_gated_sum_forward(const aoe_context *ctx, aoei_tensor y, const aoei_gated_sum *s);
/* Computes the gradients of `gated` and x from dy (float32), and overwrites dgated and dx with them. If s->swish is 0,
 * dx is not written. */
void aoei_gated_sum_backward(const aoe_context *ctx, aoei_tensor dgated, aoei_tensor dx, aoei_tensor dy,
                             const aoei_gated_sum *s);
