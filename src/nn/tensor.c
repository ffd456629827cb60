/* SPDX-License-Identifier: MIT
 * Taking, viewing, filling and reading tensors, and packing weights. The calls
 * that touch every element split them into blocks that depend on shapes alone.
 */
#include "nn/tensor.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "nn/context.h"

/* Elements a task handles: big enough to be worth waking a thread, small enough to balance. */
#define BLOCK ((size_t)1 << 16)

aoei_tensor aoei_tensor_take(aoei_arena *a, size_t rows, size_t cols) {
    size_t n;
    if (aoei_mul_size(rows, cols, &n))
        n = SIZE_MAX; /* the arena's own multiplication then records the overflow */
    return (aoei_tensor){.data = aoei_arena_take_array(a, n, sizeof(float)), .rows = rows, .cols = cols, .ld = cols};
}

aoei_tensor aoei_tensor_wrap(const float *data, size_t rows, size_t cols) {
    return (aoei_tensor){.data = (float *)data, .rows = rows, .cols = cols, .ld = cols};
}

aoei_tensor aoei_tensor_rows(aoei_tensor t, size_t first, size_t n) {
    assert(first <= t.rows && n <= t.rows - first);
    return (aoei_tensor){.data = t.data ? t.data + first * t.ld : NULL, .rows = n, .cols = t.cols, .ld = t.ld};
}

aoei_tensor aoei_tensor_cols(aoei_tensor t, size_t first, size_t n) {
    assert(first <= t.cols && n <= t.cols - first);
    return (aoei_tensor){.data = t.data ? t.data + first : NULL, .rows = t.rows, .cols = n, .ld = t.ld};
}

aoei_tensor aoei_tensor_slice(aoei_tensor t, size_t offset, size_t rows, size_t cols) {
    assert(t.ld == t.cols && offset <= t.rows * t.cols && rows * cols <= t.rows * t.cols - offset);
    return (aoei_tensor){.data = t.data ? t.data + offset : NULL, .rows = rows, .cols = cols, .ld = cols};
}

/* One pass over a matrix, or over two of one shape: rows and columns in blocks of about BLOCK elements. */
typedef struct pass {
    float *to;             /* [rows, cols], NULL when nothing is written */
    const float *from;     /* [rows, cols], NULL: zeros */
    size_t to_ld, from_ld; /* floats between rows */
    size_t rows, cols;
    size_t block_rows, block_cols;
    atomic_int *bad; /* set when an element of `from` is not finite; NULL: copy */
} pass;

static int row_is_finite(const float *x, size_t n) {
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return !bad;
}

static void pass_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const pass *p = arg;
    size_t across = (p->cols + p->block_cols - 1) / p->block_cols;
    size_t r0 = task / across * p->block_rows, c0 = task % across * p->block_cols;
    size_t r1 = p->rows - r0 < p->block_rows ? p->rows : r0 + p->block_rows;
    size_t n = p->cols - c0 < p->block_cols ? p->cols - c0 : p->block_cols;
    for (size_t r = r0; r < r1; r++) {
        if (p->bad) {
            if (!row_is_finite(p->from + r * p->from_ld + c0, n))
                atomic_store_explicit(p->bad, 1, memory_order_relaxed);
        } else if (p->from) {
            memcpy(p->to + r * p->to_ld + c0, p->from + r * p->from_ld + c0, n * sizeof(float));
        } else {
            memset(p->to + r * p->to_ld + c0, 0, n * sizeof(float));
        }
    }
}

static void run_pass(const aoe_context *ctx, pass *p) {
    if (!p->rows || !p->cols)
        return;
    int to_contiguous = !p->to || p->to_ld == p->cols, from_contiguous = !p->from || p->from_ld == p->cols;
    if (to_contiguous && from_contiguous) {
        p->cols *= p->rows;
        p->to_ld = p->from_ld = p->cols;
        p->rows = 1;
    }
    p->block_cols = BLOCK;
    p->block_rows = p->cols < BLOCK ? (BLOCK + p->cols - 1) / p->cols : 1;
    size_t across = (p->cols + p->block_cols - 1) / p->block_cols, down = (p->rows + p->block_rows - 1) / p->block_rows;
    aoei_parallel_for(ctx->pool, across * down, pass_task, p);
}

void aoei_tensor_zero(const aoe_context *ctx, aoei_tensor t) {
    run_pass(ctx, &(pass){.to = t.data, .to_ld = t.ld, .rows = t.rows, .cols = t.cols});
}

void aoei_tensor_write(const aoe_context *ctx, aoei_tensor t, const float *host) {
    run_pass(ctx, &(pass){.to = t.data, .to_ld = t.ld, .from = host, .from_ld = t.cols, .rows = t.rows, .cols = t.cols});
}

void aoei_tensor_read(const aoe_context *ctx, float *host, aoei_tensor t) {
    run_pass(ctx, &(pass){.to = host, .to_ld = t.cols, .from = t.data, .from_ld = t.ld, .rows = t.rows, .cols = t.cols});
}

void aoei_tensor_copy(const aoe_context *ctx, aoei_tensor to, aoei_tensor from) {
    assert(to.rows == from.rows && to.cols == from.cols);
    run_pass(ctx,
             &(pass){.to = to.data, .to_ld = to.ld, .from = from.data, .from_ld = from.ld, .rows = to.rows, .cols = to.cols});
}

int aoei_tensor_finite(const aoe_context *ctx, aoei_tensor t) {
    atomic_int bad = 0;
    run_pass(ctx, &(pass){.from = t.data, .from_ld = t.ld, .rows = t.rows, .cols = t.cols, .bad = &bad});
    return !atomic_load(&bad);
}

size_t aoei_weight_packed_size(const aoe_context *ctx, size_t out, size_t in) {
    return ctx->kernels.gemm_f32_packed_size(in, out);
}

typedef struct pack_job {
    const aoe_context *ctx;
    const aoei_tensor *w;
    float *memory; /* [aoei_weight_packed_size] */
} pack_job;

static void pack_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const pack_job *j = arg;
    const aoei_tensor *w = j->w;
    size_t n0 = task * AOEI_GEMM_PANEL, n1 = w->rows - n0 < AOEI_GEMM_PANEL ? w->rows : n0 + AOEI_GEMM_PANEL;
    j->ctx->kernels.gemm_f32_pack(j->memory, w->data, 1, w->ld, w->cols, n0, n1);
}

void aoei_weight_pack(const aoe_context *ctx, aoei_tensor *w, float *memory) {
    pack_job j = {ctx, w, memory};
    aoei_parallel_for(ctx->pool, (w->rows + AOEI_GEMM_PANEL - 1) / AOEI_GEMM_PANEL, pack_task, &j);
    w->packed = memory;
}
