/* SPDX-License-Identifier: MIT
 * Float32 matrices whose memory belongs to nn/. Above nn/ a tensor is opaque:
 * it is taken from an arena, filled, read back and updated through these calls;
 * nobody does arithmetic on `data`. In a measuring arena data is NULL.
 */
#ifndef AOEI_NN_TENSOR_H
#define AOEI_NN_TENSOR_H

#include <stddef.h>

#include "aoe.h"
#include "base/arena.h"

typedef struct aoei_tensor {
    float *data; /* [rows, cols], rows `ld` floats apart; NULL: absent */
    size_t rows, cols;
    size_t ld;           /* floats between rows; cols when contiguous */
    const float *packed; /* a weight [out, in] packed for y = x w^T on this context's tier, or NULL */
} aoei_tensor;

aoei_tensor aoei_tensor_take(aoei_arena *a, size_t rows, size_t cols); /* uninitialised */
/* A weight that lies in mapped memory (4-byte aligned); never written through. */
aoei_tensor aoei_tensor_wrap(const float *data, size_t rows, size_t cols);
/* Views: the memory of t. */
aoei_tensor aoei_tensor_rows(aoei_tensor t, size_t first, size_t n);
aoei_tensor aoei_tensor_cols(aoei_tensor t, size_t first, size_t n);
/* rows x cols elements of a contiguous tensor from its element `offset` on. */
aoei_tensor aoei_tensor_slice(aoei_tensor t, size_t offset, size_t rows, size_t cols);

void aoei_tensor_zero(const aoe_context *ctx, aoei_tensor t);
void aoei_tensor_write(const aoe_context *ctx, aoei_tensor t, const float *host); /* host [rows, cols] contiguous */
void aoei_tensor_read(const aoe_context *ctx, float *host, aoei_tensor t);
void aoei_tensor_copy(const aoe_context *ctx, aoei_tensor to, aoei_tensor from); /* same shape */
int aoei_tensor_finite(const aoe_context *ctx, aoei_tensor t);                   /* 1: no NaN, no infinity */

/* Floats the packed form of a weight [out, in] takes, and packing it into `memory` (kept alive by the caller). */
size_t aoei_weight_packed_size(const aoe_context *ctx, size_t out, size_t in);
void aoei_weight_pack(const aoe_context *ctx, aoei_tensor *w, float *memory);

#endif
