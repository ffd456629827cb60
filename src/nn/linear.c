/* SPDX-License-Identifier: MIT
 * Linear layers y = x w^T + b with what is fused into their store, and their
 * gradients. Everything here is three products and a column sum; gradients of
 * parameters continue the chain of the stored value, token after token.
 *
 * A right-hand side that is not packed beforehand is packed once into the
 * caller's room, by all threads, when there are enough rows to repay it.
 */
#include <assert.h>

#include "nn/nn.h"

#include "nn/gemm.h"

#define SUM_COLS  ((size_t)64) /* columns of db a task sums */
#define ROOM_ROWS ((size_t)64) /* rows of the other operand from which on packing apart pays */

aoei_tensor aoei_room_take(aoei_arena *a, size_t bytes) {
    return aoei_tensor_take(a, 1, (bytes + sizeof(float) - 1) / sizeof(float));
}

size_t aoei_linear_room(const aoe_context *ctx, aoei_dtype type, size_t N, size_t out, size_t in) {
    size_t (*size)(size_t, size_t) = type == AOEI_BF16 ? ctx->kernels.gemm_bf16_packed_size : ctx->kernels.gemm_f32_packed_size;
    const size_t forward = size(in, out), backward = size(out, in), weight = size(N, in);
    const size_t most = forward > backward ? forward : backward;
    return most > weight ? most : weight;
}

/* The product of A and B of types `type` and b_type, with B packed into the room first where there is one and it pays, or
 * where B must be rounded. */
static void multiply(const aoe_context *ctx, aoei_dtype type, aoei_product *g, aoei_dtype b_type, aoei_tensor room) {
    if (!g->packed && room.data && (g->M >= ROOM_ROWS || b_type != type)) {
        aoei_gemm_pack(ctx, type, room.data, g->b, b_type, g->b_row, g->b_col, g->K, g->N);
        g->packed = room.data;
    }
    assert(g->packed || b_type == type);
    aoei_gemm(ctx, type, g);
}

void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                         const aoei_linear_epilogue *e) {
    static const aoei_linear_epilogue none;
    e = e ? e : &none;
    aoei_product g = {.M = x.rows,
                      .N = w.rows,
                      .K = x.cols,
                      .a = x.data,
                      .a_row = x.ld,
                      .a_col = 1,
                      .b = w.data,
                      .b_row = 1,
                      .b_col = w.ld,
                      .packed = w.packed_type == x.type ? w.packed : NULL,
                      .c = y.data,
                      .c_row = y.ld,
                      .c_type = y.type,
                      .scale = 1,
                      .bias = b.data,
                      .activation = e->activation,
                      .pre = e->pre.data,
                      .pre_row = e->pre.ld,
                      .residual = e->residual.data,
                      .residual_row = e->residual.ld};
    multiply(ctx, x.type, &g, w.type, e->room);
}

typedef struct column_sum {
    const aoe_context *ctx;
    aoei_tensor sum; /* [1, O], added to */
    aoei_tensor x;   /* [N, O] */
} column_sum;

static void column_sum_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const column_sum *s = arg;
    const size_t c = task * SUM_COLS, n = s->x.cols - c < SUM_COLS ? s->x.cols - c : SUM_COLS;
    float *sum = aoei_f32(s->sum) + c;
    if (s->x.type == AOEI_BF16)
        s->ctx->kernels.column_sum_bf16(sum, aoei_b16(s->x) + c, s->x.ld, s->x.rows, n);
    else
        s->ctx->kernels.column_sum_f32(sum, aoei_f32(s->x) + c, s->x.ld, s->x.rows, n);
}

static void weight_gradient(const aoe_context *ctx, const aoei_linear_grads *l, aoei_tensor dy, aoei_tensor x) {
    aoei_product g = {.M = dy.cols,
                      .N = x.cols,
                      .K = dy.rows,
                      .a = dy.data,
                      .a_row = 1,
                      .a_col = dy.ld,
                      .b = x.data,
                      .b_row = x.ld,
                      .b_col = 1,
                      .c = l->dw.data,
                      .c_row = l->dw.ld,
                      .accumulate = 1,
                      .scale = 1};
    multiply(ctx, x.type, &g, x.type, l->room);
}

static void input_gradient(const aoe_context *ctx, const aoei_linear_grads *l, aoei_tensor dy, aoei_tensor w) {
    aoei_product g = {.M = dy.rows,
                      .N = w.cols,
                      .K = dy.cols,
                      .a = dy.data,
                      .a_row = dy.ld,
                      .a_col = 1,
                      .b = w.data,
                      .b_row = w.ld,
                      .b_col = 1,
                      .c = l->dx.data,
                      .c_row = l->dx.ld,
                      .c_type = l->dx.type,
                      .accumulate = l->accumulate,
                      .scale = 1,
                      .activation = l->activation,
                      .gate = l->gate.data,
                      .gate_row = l->gate.ld};
    multiply(ctx, dy.type, &g, w.type, l->room);
}

void aoei_linear_backward(const aoe_context *ctx, const aoei_linear_grads *g, aoei_tensor dy, aoei_tensor x, aoei_tensor w) {
    if (g->dw.data)
        weight_gradient(ctx, g, dy, x);
    if (g->db.data) {
        column_sum s = {ctx, g->db, dy};
        aoei_parallel_for(ctx->pool, (dy.cols + SUM_COLS - 1) / SUM_COLS, column_sum_task, &s);
    }
    if (g->dx.data)
        input_gradient(ctx, g, dy, w);
}
