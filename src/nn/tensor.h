/* SPDX-License-Identifier: MIT
 * Matrices of float32, bf16 or int8 rows. Code outside nn/ treats a tensor as opaque: it allocates tensors from an arena and
 * fills, reads and updates them through these functions, and never computes with `data`. In a measuring arena, data is NULL.
 */
#ifndef AOEI_NN_TENSOR_H
#define AOEI_NN_TENSOR_H

#include <assert.h>
#include <stddef.h>

#include "aoe.h"
#include "base/arena.h"
#include "kernels/kernels.h"

typedef struct aoei_tensor {
    void *data; /* [rows, cols] elements of `type`, with `ld` elements from one row to the next; NULL: absent */
    size_t rows, cols;
    size_t ld;              /* leading dimension in elements; equal to cols if contiguous */
    const float *scale;     /* [rows] scale of each row if type is AOEI_I8; NULL otherwise */
    void *packed;           /* packed form of a weight [out, in] for y = x w^T on this context's tier; NULL: not packed */
    aoei_dtype type;        /* element type, AOEI_F32 by default */
    aoei_dtype packed_type; /* type of x for which `packed` was made */
} aoei_tensor;

aoei_tensor aoei_tensor_take(aoei_arena *a, size_t rows, size_t cols);                        /* float32, uninitialized */
aoei_tensor aoei_tensor_take_typed(aoei_arena *a, aoei_dtype type, size_t rows, size_t cols); /* uninitialized */
/* Returns a float32 tensor of at least `bytes` bytes for temporary data. In a measuring arena, the tensor is absent. */
aoei_tensor aoei_workspace_take(aoei_arena *a, size_t bytes);
/* Returns a read-only tensor over a float32 weight in the caller's memory (4-byte aligned), for example in a mapped file. */
aoei_tensor aoei_tensor_wrap(const float *data, size_t rows, size_t cols);
/* Returns a read-only tensor over a weight of any type. scale is [rows] for AOEI_I8 and NULL otherwise. */
aoei_tensor aoei_tensor_wrap_typed(aoei_dtype type, const void *data, const float *scale, size_t rows, size_t cols);
/* Return views of rows [first, first + n) or columns [first, first + n) of t, which share its memory. */
aoei_tensor aoei_tensor_rows(aoei_tensor t, size_t first, size_t n);
aoei_tensor aoei_tensor_cols(aoei_tensor t, size_t first, size_t n);
/* Returns a read-only view of a tensor [1, cols] as n equal rows. */
aoei_tensor aoei_tensor_repeat(aoei_tensor t, size_t n);
/* Returns a view [rows, cols] of the elements of a contiguous tensor that start at element `offset`. */
aoei_tensor aoei_tensor_slice(aoei_tensor t, size_t offset, size_t rows, size_t cols);

/* These functions accept tensors of any type, except that int8 tensors are read-only. `host` is a contiguous float32 array
 * [rows, cols] of the caller. Values are converted between float32 and the type of the tensor. */
void aoei_tensor_zero(const aoe_context *ctx, aoei_tensor t);
void aoei_tensor_write(const aoe_context *ctx, aoei_tensor t, const float *host); /* t = host */
void aoei_tensor_read(const aoe_context *ctx, float *host, aoei_tensor t);        /* host = t */
void aoei_tensor_copy(const aoe_context *ctx, aoei_tensor to, aoei_tensor from);  /* equal shapes; converts between types */
int aoei_tensor_finite(const aoe_context *ctx, aoei_tensor t); /* float32 only; returns 1 if no element is NaN or infinite */

/* ---- only for code in nn/ */

static inline float *aoei_f32(aoei_tensor t) {
    assert(t.type == AOEI_F32);
    return t.data;
}

static inline aoei_bf16 *aoei_b16(aoei_tensor t) {
    assert(t.type == AOEI_BF16);
    return t.data;
}

/* Returns a pointer to the element at (row, col), or NULL if t is absent. */
static inline void *aoei_tensor_at(aoei_tensor t, size_t row, size_t col) {
    return t.data ? (unsigned char *)t.data + (row * t.ld + col) * aoei_dtype_size(t.type) : NULL;
}

#endif
