/* SPDX-License-Identifier: MIT
 * Matrices of float32, bf16 or int8 elements. Code outside nn/ treats a tensor as opaque: it allocates tensors from an
 * arena, and fills, reads and updates them only through these functions; it never uses `data`. If a tensor is allocated
 * from a measuring arena, which only computes the size of allocations, `data` is NULL.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/arena.h"
#include "kernels/kernels.h"

/* Channels (columns) of the input of an int8 linear layer that occupy several columns of the quantized input and of the
 * packed weight. Channel k occupies column k and one further column for each time it occurs in `channels`; the further
 * columns follow the last channel. The int8 values of its columns are added up, so they represent magnitudes up to 127
 * scales per column. */
typedef struct aoei_int8_split {
    size_t n;            /* number of further columns, at most AOEI_INT8_SPLIT_COLUMNS */
    size_t parts;        /* n + number of channels that have further columns; at most 2 n */
    uint32_t *channels;  /* [parts] channels of the further columns, then the channels that have further columns */
    float *indices;      /* [parts] number of each column among the columns of its channel; 0 for the last parts - n */
    float *part_factors; /* [parts] factors[channels[i]] */
    float *factors;      /* [cols] 1 / (number of columns in the channel) */
} aoei_int8_split;

enum { AOEI_INT8_SPLIT_COLUMNS = 64 /* maximum number of further columns of split channels */ };

typedef struct aoei_tensor {
    void *data; /* [rows, cols] elements of `type`; element (r, c) has the index r * ld + c; NULL: the tensor is
                   absent */
    size_t rows, cols;
    size_t ld; /* leading dimension: distance between adjacent rows in elements; if the tensor is contiguous, ld is
                  equal to cols */
    const float *scale; /* [rows] scale of each row, if type is AOEI_I8; otherwise NULL */
    /* packed form of a weight [out, in] for y = x w^T, for the instruction set of the context; NULL: not packed */
    void *packed;
    const aoei_int8_split *split; /* split channels of the packed form for int8 inputs; NULL: none */
    aoei_dtype type;              /* element type, AOEI_F32 by default */
    aoei_dtype packed_type;       /* type of the inputs x for which `packed` was computed; unused if `packed` is NULL */
} aoei_tensor;

/* Returns an uninitialized float32 tensor. */
aoei_tensor aoei_tensor_take(aoei_arena *a, size_t rows, size_t cols);
/* Returns an uninitialized tensor of `type`. */
aoei_tensor aoei_tensor_take_typed(aoei_arena *a, aoei_dtype type, size_t rows, size_t cols);
/* Returns a float32 tensor of at least `bytes` bytes, which functions use as workspace. In a measuring arena, the
 * tensor is absent. */
aoei_tensor aoei_workspace_take(aoei_arena *a, size_t bytes);
/* Returns a read-only tensor whose data is a float32 weight in the caller's memory, for example in a mapped file. The
 * memory is aligned to 4 bytes. */
aoei_tensor aoei_tensor_wrap(const float *data, size_t rows, size_t cols);
/* Returns a read-only tensor whose data is a weight of any type in the caller's memory. scale[rows] contains the scales
 * of the rows for AOEI_I8; for other types, scale is NULL. */
aoei_tensor aoei_tensor_wrap_typed(aoei_dtype type, const void *data, const float *scale, size_t rows, size_t cols);
/* Return a view of rows [first, first + n), or of columns [first, first + n), of t. The view shares the memory of t. */
aoei_tensor aoei_tensor_rows(aoei_tensor t, size_t first, size_t n);
aoei_tensor aoei_tensor_cols(aoei_tensor t, size_t first, size_t n);
/* Returns a view of the n rows first, first + step, first + 2 step, ... of t. */
aoei_tensor aoei_tensor_every(aoei_tensor t, size_t first, size_t step, size_t n);
/* Returns a read-only view of t [1, cols] as a tensor [n, cols] with equal rows. */
aoei_tensor aoei_tensor_repeat(aoei_tensor t, size_t n);
/* Returns a view [rows, cols] of a contiguous tensor. The view starts at element `offset` of t. */
aoei_tensor aoei_tensor_slice(aoei_tensor t, size_t offset, size_t rows, size_t cols);

/* These functions accept tensors of any type, except that int8 tensors are read-only. `host` is a contiguous float32
 * array [rows, cols] in the caller's memory. The functions convert between float32 and the type of the tensor. */
void aoei_tensor_zero(const aoe_context *ctx, aoei_tensor t);
void aoei_tensor_write(const aoe_context *ctx, aoei_tensor t, const float *host); /* copies host to t */
void aoei_tensor_read(const aoe_context *ctx, float *host, aoei_tensor t);        /* copies t to host */
/* copies `from` to `to`, which must have the shape of `from`; converts between types */
void aoei_tensor_copy(const aoe_context *ctx, aoei_tensor to, aoei_tensor from);
/* returns 1 if all elements of t, a float32 tensor, are finite */
int aoei_tensor_finite(const aoe_context *ctx, aoei_tensor t);

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
