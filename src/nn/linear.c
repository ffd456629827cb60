/* SPDX-License-Identifier: MIT
 * Linear layers y = x w^T + b, alone and with the exact GELU fused, and their
 * gradients. Everything here is three products and a column sum; gradients of
 * parameters continue the chain of the stored value, token after token.
 */
#include "nn/nn.h"

#include "nn/gemm.h"

#define SUM_COLS   ((size_t)64)      /* columns of db a task sums */
#define GELU_BLOCK ((size_t)1 << 14) /* elements of the GELU gradient a task computes */

/* C = x w^T + b with its GELU into y (absent: not wanted). */
static void project(const aoe_context *ctx, aoei_tensor c, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b) {
    aoei_gemm(ctx, &(aoei_gemm_f32){.M = x.rows,
                                    .N = w.rows,
                                    .K = x.cols,
                                    .a = x.data,
                                    .a_row = x.ld,
                                    .a_col = 1,
                                    .b = w.data,
                                    .b_row = 1,
                                    .b_col = w.ld,
                                    .packed = w.packed,
                                    .c = c.data,
                                    .c_row = c.ld,
                                    .bias = b.data,
                                    .scale = 1,
                                    .gelu = y.data,
                                    .gelu_row = y.ld});
}

void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b) {
    project(ctx, y, (aoei_tensor){0}, x, w, b);
}

void aoei_linear_gelu_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor pre, aoei_tensor x, aoei_tensor w,
                              aoei_tensor b) {
    project(ctx, pre, y, x, w, b);
}

typedef struct column_sum {
    const aoe_context *ctx;
    aoei_tensor sum; /* [1, O], added to */
    aoei_tensor x;   /* [N, O] */
} column_sum;

static void column_sum_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const column_sum *s = arg;
    size_t c = task * SUM_COLS, n = s->x.cols - c < SUM_COLS ? s->x.cols - c : SUM_COLS;
    s->ctx->kernels.column_sum_f32(s->sum.data + c, s->x.data + c, s->x.ld, s->x.rows, n);
}

void aoei_linear_backward(const aoe_context *ctx, aoei_tensor dx, int accumulate_dx, aoei_tensor dw, aoei_tensor db,
                          aoei_tensor dy, aoei_tensor x, aoei_tensor w) {
    if (dx.data)
        aoei_gemm(ctx, &(aoei_gemm_f32){.M = dy.rows,
                                        .N = w.cols,
                                        .K = dy.cols,
                                        .a = dy.data,
                                        .a_row = dy.ld,
                                        .a_col = 1,
                                        .b = w.data,
                                        .b_row = w.ld,
                                        .b_col = 1,
                                        .c = dx.data,
                                        .c_row = dx.ld,
                                        .accumulate = accumulate_dx,
                                        .scale = 1});
    if (dw.data)
        aoei_gemm(ctx, &(aoei_gemm_f32){.M = dy.cols,
                                        .N = x.cols,
                                        .K = dy.rows,
                                        .a = dy.data,
                                        .a_row = 1,
                                        .a_col = dy.ld,
                                        .b = x.data,
                                        .b_row = x.ld,
                                        .b_col = 1,
                                        .c = dw.data,
                                        .c_row = dw.ld,
                                        .accumulate = 1,
                                        .scale = 1});
    if (db.data) {
        column_sum s = {ctx, db, dy};
        aoei_parallel_for(ctx->pool, (dy.cols + SUM_COLS - 1) / SUM_COLS, column_sum_task, &s);
    }
}

typedef struct gelu_grad {
    const aoe_context *ctx;
    float *dx;             /* [n] */
    const float *dy, *pre; /* [n] */
    size_t n;
} gelu_grad;

static void gelu_grad_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const gelu_grad *s = arg;
    size_t i = task * GELU_BLOCK, n = s->n - i < GELU_BLOCK ? s->n - i : GELU_BLOCK;
    s->ctx->kernels.gelu_grad_f32(s->dx + i, s->dy + i, s->pre + i, n);
}

void aoei_gelu_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor pre) {
    gelu_grad s = {ctx, dx.data, dy.data, pre.data, pre.rows * pre.cols};
    aoei_parallel_for(ctx->pool, (s.n + GELU_BLOCK - 1) / GELU_BLOCK, gelu_grad_task, &s);
}
