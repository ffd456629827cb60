/* SPDX-License-Identifier: MIT
 * Matrices of float32 or bf16, or of int8 rows, whose memory belongs to nn/. Above nn/ a tensor is opaque:
 * it is taken from an arena, filled, read back and updated through these calls;
 * nobody does arithmetic on `data`. In a measuring arena data is NULL.
 */
#ifndef AOEI_NN_TENSOR_H
#define AOEI_NN_TENSOR_H

#include <assert.h>
#include <stddef.h>

#include "aoe.h"
#include "base/arena.h"
#include "kernels/kernels.h"

typedef struct aoei_tensor {
    void *data; /* [rows, cols] of `type`, rows `ld` elements apart; NULL: absent */
    size_t rows, cols;
    size_t ld;              /* elements between rows; cols when contiguous */
    const float *scale;     /* AOEI_I8: [rows] */
    void *packed;           /* a weight [out, in] packed for y = x w^T on this context's tier, or NULL */
    aoei_dtype type;        /* AOEI_F32 unless said */
    aoei_dtype packed_type; /* the type of x and y that the packed form serves */
} aoei_tensor;

aoei_tensor aoei_tensor_take(aoei_arena *a, size_t rows, size_t cols);                        /* float32, uninitialised */
aoei_tensor aoei_tensor_take_typed(aoei_arena *a, aoei_dtype type, size_t rows, size_t cols); /* uninitialised */
/* A workspace of `bytes` bytes, rounded up to whole floats; absent in a measuring arena. */
aoei_tensor aoei_workspace_take(aoei_arena *a, size_t bytes);
/* A weight that lies in mapped memory (4-byte aligned); never written through. */
aoei_tensor aoei_tensor_wrap(const float *data, size_t rows, size_t cols);
/* The same of another type; scale [rows] for AOEI_I8, else NULL. */
aoei_tensor aoei_tensor_wrap_typed(aoei_dtype type, const void *data, const float *scale, size_t rows, size_t cols);
/* Views: the memory of t. */
aoei_tensor aoei_tensor_rows(aoei_tensor t, size_t first, size_t n);
aoei_tensor aoei_tensor_cols(aoei_tensor t, size_t first, size_t n);
/* A row [1, cols] as n equal rows, to be read only. */
aoei_tensor aoei_tensor_repeat(aoei_tensor t, size_t n);
/* rows x cols elements of a contiguous tensor from its element `offset` on. */
aoei_tensor aoei_tensor_slice(aoei_tensor t, size_t offset, size_t rows, size_t cols);

/* Calls of any type, but that int8 rows are only read; what is read or written on the host is float32, rounded or widened. */
void aoei_tensor_zero(const aoe_context *ctx, aoei_tensor t);
void aoei_tensor_write(const aoe_context *ctx, aoei_tensor t, const float *host); /* host [rows, cols] contiguous */
void aoei_tensor_read(const aoe_context *ctx, float *host, aoei_tensor t);
void aoei_tensor_copy(const aoe_context *ctx, aoei_tensor to, aoei_tensor from); /* same shape; converts */
int aoei_tensor_finite(const aoe_context *ctx, aoei_tensor t);                   /* float32; 1: no NaN, no infinity */

/* ---- for nn/ alone */

static inline float *aoei_f32(aoei_tensor t) {
    assert(t.type == AOEI_F32);
    return t.data;
}

static inline aoei_bf16 *aoei_b16(aoei_tensor t) {
    assert(t.type == AOEI_BF16);
    return t.data;
}

/* The element at (row, col); NULL stays NULL. */
static inline void *aoei_tensor_at(aoei_tensor t, size_t row, size_t col) {
    return t.data ? (unsigned char *)t.data + (row * t.ld + col) * aoei_dtype_size(t.type) : NULL;
}

#endif
