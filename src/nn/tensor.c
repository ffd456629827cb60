/* SPDX-License-Identifier: MIT
 * Allocates tensors from arenas, and fills, copies and reads them. Functions that process all elements of a tensor
 * divide it into blocks, which depend only on its shape. Each task processes one block.
 */
#include "nn/tensor.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/context.h"
#include "kernels/kernel_table.h"

/* Approximate number of elements per task. Waking a thread takes less time than a task of this size, and tasks are
 * small enough to balance the load. */
#define BLOCK ((size_t)1 << 16)

aoei_tensor aoei_tensor_take_typed(aoei_arena *a, aoei_dtype type, size_t rows, size_t cols) {
    size_t n;
    if (aoei_mul_size(rows, cols, &n))
        n = SIZE_MAX; /* the arena then detects the overflow */
    return (aoei_tensor){.data = aoei_arena_take_array(a, n, aoei_dtype_size(type)),
                         .rows = rows,
                         .cols = cols,
                         .ld = cols,
                         .type = type};
}

aoei_tensor aoei_tensor_take(aoei_arena *a, size_t rows, size_t cols) {
    return aoei_tensor_take_typed(a, AOEI_F32, rows, cols);
}

aoei_tensor aoei_workspace_take(aoei_arena *a, size_t bytes) {
    return aoei_tensor_take(a, 1, (bytes + sizeof(float) - 1) / sizeof(float));
}

aoei_tensor aoei_tensor_wrap(const float *data, size_t rows, size_t cols) {
    return aoei_tensor_wrap_typed(AOEI_F32, data, NULL, rows, cols);
}

aoei_tensor aoei_tensor_wrap_typed(aoei_dtype type, const void *data, const float *scale, size_t rows, size_t cols) {
    return (aoei_tensor){.data = (void *)data, .rows = rows, .cols = cols, .ld = cols, .type = type, .scale = scale};
}

aoei_tensor aoei_tensor_rows(aoei_tensor t, size_t first, size_t n) {
    assert(first <= t.rows && n <= t.rows - first);
    return (aoei_tensor){.data = aoei_tensor_at(t, first, 0),
                         .rows = n,
                         .cols = t.cols,
                         .ld = t.ld,
                         .type = t.type,
                         .scale = t.scale ? t.scale + first : NULL};
}

aoei_tensor aoei_tensor_cols(aoei_tensor t, size_t first, size_t n) {
    assert(first <= t.cols && n <= t.cols - first);
    return (aoei_tensor){
        .data = aoei_tensor_at(t, 0, first), .rows = t.rows, .cols = n, .ld = t.ld, .type = t.type, .scale = t.scale};
}

aoei_tensor aoei_tensor_every(aoei_tensor t, size_t first, size_t step, size_t n) {
    assert(n == 0 || first + (n - 1) * step < t.rows);
    t.data = aoei_tensor_at(t, first, 0);
    t.rows = n;
    t.ld *= step;
    return t;
}

aoei_tensor aoei_tensor_repeat(aoei_tensor t, size_t n) {
    assert(t.rows == 1);
    return (aoei_tensor){.data = t.data, .rows = n, .cols = t.cols, .ld = 0, .type = t.type};
}

aoei_tensor aoei_tensor_slice(aoei_tensor t, size_t offset, size_t rows, size_t cols) {
    assert(t.ld == t.cols && offset <= t.rows * t.cols && rows * cols <= t.rows * t.cols - offset);
    return (aoei_tensor){.data = aoei_tensor_at(t, 0, offset), .rows = rows, .cols = cols, .ld = cols, .type = t.type};
}

/* Arguments of the tasks that copy, clear or check a matrix in blocks of about BLOCK elements. */
typedef struct block_work {
    const aoe_context *ctx;
    aoei_tensor to;    /* [rows, cols] output; absent: the tasks write nothing */
    aoei_tensor from;  /* [rows, cols] input; absent: the tasks write zeros */
    size_t rows, cols; /* shape of both matrices; if both are contiguous and neither is int8, they are treated as
                          matrices with a single row */
    size_t block_rows, block_cols; /* shape of a block */
    /* output: set to 1 if an element of `from` is not finite; NULL: the tasks do not check the elements */
    atomic_int *bad;
} block_work;

static int row_is_finite(const float *x, size_t n) {
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

/* Copies columns [c, c + n) of row r. Converts the elements if the types of `from` and `to` differ. */
static void copy_row(const block_work *p, size_t r, size_t c, size_t n) {
    void *to = aoei_tensor_at(p->to, r, c);
    const void *from = aoei_tensor_at(p->from, r, c);
    if (p->to.type == p->from.type)
        memcpy(to, from, n * aoei_dtype_size(p->to.type));
    else if (p->from.type == AOEI_I8)
        aoei_kernels_of(p->ctx)->from_int8(to, from, p->from.scale[r], n);
    else if (p->to.type == AOEI_BF16)
        aoei_kernels_of(p->ctx)->to_bf16(to, from, n);
    else
        aoei_kernels_of(p->ctx)->from_bf16(to, from, n);
}

static void block_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const block_work *p = arg;
    size_t blocks_per_row = (p->cols + p->block_cols - 1) / p->block_cols;
    size_t r0 = task / blocks_per_row * p->block_rows, c0 = task % blocks_per_row * p->block_cols;
    size_t r1 = p->rows - r0 < p->block_rows ? p->rows : r0 + p->block_rows;
    size_t n = p->cols - c0 < p->block_cols ? p->cols - c0 : p->block_cols;
    for (size_t r = r0; r < r1; r++) {
        if (p->bad) {
            if (!row_is_finite(aoei_tensor_at(p->from, r, c0), n))
                atomic_store_explicit(p->bad, 1, memory_order_relaxed);
        } else if (p->from.data) {
            copy_row(p, r, c0, n);
        } else {
            memset(aoei_tensor_at(p->to, r, c0), 0, n * aoei_dtype_size(p->to.type));
        }
    }
}

/* Returns 1 if the elements of t are contiguous and t can be processed as a single row. */
static int contiguous(aoei_tensor t) {
    return !t.data || (t.ld == t.cols && t.type != AOEI_I8);
}

static void run_blocks(block_work *p, aoei_tensor shape) {
    p->rows = shape.rows;
    p->cols = shape.cols;
    if (!p->rows || !p->cols)
        return;
    if (contiguous(p->to) && contiguous(p->from)) {
        p->cols *= p->rows;
        p->to.ld = p->from.ld = p->cols;
        p->rows = 1;
    }
    p->block_cols = BLOCK;
    p->block_rows = p->cols < BLOCK ? (BLOCK + p->cols - 1) / p->cols : 1;
    const size_t blocks_per_row = (p->cols + p->block_cols - 1) / p->block_cols;
    const size_t row_blocks = (p->rows + p->block_rows - 1) / p->block_rows;
    aoei_parallel_for(p->ctx->pool, row_blocks * blocks_per_row, block_task, p);
}

void aoei_tensor_zero(const aoe_context *ctx, aoei_tensor t) {
    run_blocks(&(block_work){.ctx = ctx, .to = t}, t);
}

void aoei_tensor_write(const aoe_context *ctx, aoei_tensor t, const float *host) {
    run_blocks(&(block_work){.ctx = ctx, .to = t, .from = aoei_tensor_wrap(host, t.rows, t.cols)}, t);
}

void aoei_tensor_read(const aoe_context *ctx, float *host, aoei_tensor t) {
    run_blocks(&(block_work){.ctx = ctx, .to = aoei_tensor_wrap(host, t.rows, t.cols), .from = t}, t);
}

void aoei_tensor_copy(const aoe_context *ctx, aoei_tensor to, aoei_tensor from) {
    assert(to.rows == from.rows && to.cols == from.cols && (from.type != AOEI_I8 || to.type == AOEI_F32));
    run_blocks(&(block_work){.ctx = ctx, .to = to, .from = from}, to);
}

int aoei_tensor_finite(const aoe_context *ctx, aoei_tensor t) {
    atomic_int bad = 0;
    assert(t.type == AOEI_F32);
    run_blocks(&(block_work){.ctx = ctx, .from = t, .bad = &bad}, t);
    return !atomic_load(&bad);
}
