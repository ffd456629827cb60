/* SPDX-License-Identifier: MIT
 * Linear layers y = x w^T + b, with an epilogue that is computed together with the matmul. The backward pass consists
 * of two matmuls (dx and dw) and a column sum (db). Parameter gradients are added to the stored gradients in token
 * order.
 */
#include "nn/linear.h"

#include <assert.h>

#include "kernels/kernel_table.h"
#include "nn/elementwise.h"
#include "nn/gemm.h"

#define SUM_COLS ((size_t)64) /* columns of db per task */

size_t aoei_linear_workspace(const aoe_context *ctx, aoei_dtype type, size_t N, size_t out, size_t in) {
    size_t (*size)(size_t, size_t) =
        type == AOEI_BF16 ? aoei_kernels_of(ctx)->gemm_bf16_packed_size : aoei_kernels_of(ctx)->gemm_f32_packed_size;
    const size_t forward = size(in, out), backward = size(out, in), weight = size(N, in);
    const size_t most = forward > backward ? forward : backward;
    return most > weight ? most : weight;
}

/* Computes the forward pass of a layer that has no adapter. */
static void forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                    const aoei_linear_epilogue *e) {
    aoei_gemm_args g = {.M = x.rows,
                        .N = w.rows,
                        .K = x.cols,
                        .a = x.data,
                        .a_row = x.ld,
                        .a_col = 1,
                        .packed = w.packed_type == x.type ? w.packed : NULL,
                        .c = y.data,
                        .c_row = y.ld,
                        .c_type = y.type,
                        .a_scale = x.type == AOEI_I8 ? x.scale : NULL,
                        .b_scale = x.type == AOEI_I8 ? w.scale : NULL,
                        .scale = 1,
                        .bias = b.data,
                        .activation = e->activation,
                        .pre = e->pre.data,
                        .pre_row = e->pre.ld,
                        .residual = e->residual.data,
                        .residual_row = e->residual.ld};
    aoei_multiply(ctx, x.type, &g, w, 1, e->workspace);
}

/* Computes the forward pass of a layer that has an adapter. The activation is applied to the sum of the outputs of the
 * layer and of the adapter. */
static void forward_adapted(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                            const aoei_linear_epilogue *e) {
    const aoei_linear_epilogue sum = {.workspace = e->workspace, .residual = e->residual};
    const aoei_tensor pre = e->pre.data ? e->pre : y;
    assert(e->activation == AOEI_IDENTITY || !e->residual.data);
    forward(ctx, pre, x, w, b, &sum);
    aoei_adapter_forward(ctx, pre, x, e->adapter, e->workspace);
    if (e->activation != AOEI_IDENTITY)
        aoei_activation_forward(ctx, y, pre, e->activation);
}

void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                         const aoei_linear_epilogue *e) {
    static const aoei_linear_epilogue none;
    e = e ? e : &none;
    (e->adapter ? forward_adapted : forward)(ctx, y, x, w, b, e);
}

/* Arguments of the tasks that compute the gradient of the bias. */
typedef struct column_sum {
    const aoe_context *ctx;
    aoei_tensor sum; /* [1, O] gradient of the bias (db); the rows of x are added to it */
    aoei_tensor x;   /* [N, O] gradient of the output (dy) */
} column_sum;

static void column_sum_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const column_sum *s = arg;
    const size_t c = task * SUM_COLS, n = s->x.cols - c < SUM_COLS ? s->x.cols - c : SUM_COLS;
    float *sum = aoei_f32(s->sum) + c;
    if (s->x.type == AOEI_BF16)
        aoei_kernels_of(s->ctx)->column_sum_bf16(sum, aoei_b16(s->x) + c, s->x.ld, s->x.rows, n);
    else
        aoei_kernels_of(s->ctx)->column_sum_f32(sum, aoei_f32(s->x) + c, s->x.ld, s->x.rows, n);
}

/* Computes dw += dy^T x. */
static void weight_gradient(const aoe_context *ctx, const aoei_linear_grads *l, aoei_tensor dy, aoei_tensor x) {
    aoei_gemm_args g = {.M = dy.cols,
                        .N = x.cols,
                        .K = dy.rows,
                        .a = dy.data,
                        .a_row = 1,
                        .a_col = dy.ld,
                        .c = l->dw.data,
                        .c_row = l->dw.ld,
                        .accumulate = 1,
                        .scale = 1};
    aoei_multiply(ctx, x.type, &g, x, 0, l->workspace);
}

/* Computes dx = dy w, or adds dy w to dx if `accumulate` is 1. If there is a gate, dy w is first multiplied by
 * activation'(gate). */
static void input_gradient(const aoe_context *ctx, const aoei_linear_grads *l, aoei_tensor dy, aoei_tensor w) {
    aoei_gemm_args g = {.M = dy.rows,
                        .N = w.cols,
                        .K = dy.cols,
                        .a = dy.data,
                        .a_row = dy.ld,
                        .a_col = 1,
                        .c = l->dx.data,
                        .c_row = l->dx.ld,
                        .c_type = l->dx.type,
                        .accumulate = l->accumulate,
                        .scale = 1,
                        .activation = l->activation,
                        .gate = l->gate.data,
                        .gate_row = l->gate.ld};
    aoei_multiply(ctx, dy.type, &g, w, 0, l->workspace);
}

void aoei_linear_backward(const aoe_context *ctx, const aoei_linear_grads *g, aoei_tensor dy, aoei_tensor x,
                          aoei_tensor w) {
    if (g->dw.data)
        weight_gradient(ctx, g, dy, x);
    if (g->db.data) {
        column_sum s = {ctx, g->db, dy};
        aoei_parallel_for(ctx->pool, (dy.cols + SUM_COLS - 1) / SUM_COLS, column_sum_task, &s);
    }
    if (g->adapter)
        aoei_adapter_parameter_gradients(ctx, g->adapter, dy, x, g->workspace);
    if (g->dx.data)
        input_gradient(ctx, g, dy, w);
    if (g->adapter && g->dx.data)
        aoei_adapter_input_gradient(ctx, g->adapter, g->dx, dy, g->activation, g->gate, g->workspace);
}
