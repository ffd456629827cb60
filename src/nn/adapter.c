/* SPDX-License-Identifier: MIT
 * Low-rank adapters of linear layers. The forward pass computes two small matmuls, and the backward pass computes five.
 * The forward pass stores nothing for the backward pass, which recomputes dropout(x) and x down^T. Parameter gradients
 * are added to the stored gradients in token order, as in linear.c.
 */
#include "nn/adapter.h"

#include "nn/gemm.h"

size_t aoei_adapter_low_bytes(size_t N, size_t r) {
    return N * r * sizeof(float);
}

size_t aoei_adapter_dropped_bytes(size_t N, size_t in) {
    return N * in * sizeof(float);
}

/* Returns a tensor [rows, cols] of `type` whose elements are in the memory of `workspace`, a float32 tensor. */
static aoei_tensor in_workspace(aoei_tensor workspace, aoei_dtype type, size_t rows, size_t cols) {
    return aoei_tensor_wrap_typed(type, workspace.data, NULL, rows, cols);
}

/* Returns the arguments of the matmul c = scale * a b, without b. The caller then sets the fields of b. */
static aoei_gemm_args gemm_args(aoei_tensor c, aoei_tensor a, double scale) {
    return (aoei_gemm_args){.M = a.rows,
                            .N = c.cols,
                            .K = a.cols,
                            .a = a.data,
                            .a_row = a.ld,
                            .a_col = 1,
                            .c = c.data,
                            .c_row = c.ld,
                            .c_type = c.type,
                            .scale = (float)scale};
}

static void add_to_output(aoei_gemm_args *g) {
    g->residual = g->c;
    g->residual_row = g->c_row;
}

void aoei_adapter_merge(const aoe_context *ctx, aoei_tensor w, aoei_tensor down, aoei_tensor up, double scale) {
    aoei_gemm_args g = gemm_args(w, up, scale);
    add_to_output(&g);
    aoei_multiply(ctx, AOEI_F32, &g, down, 0, (aoei_tensor){0});
}

/* Returns w.packed if w was packed for inputs of the type of x, otherwise NULL. */
static const void *packed_for(aoei_tensor w, aoei_tensor x) {
    return w.packed_type == x.type ? w.packed : NULL;
}

/* Returns dropout(x) in the workspace a->dropped, or x if there is no dropout. */
static aoei_tensor drop(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor x) {
    static const aoei_tensor none;
    if (a->drop.p == 0)
        return x;
    const aoei_tensor dropped = in_workspace(a->dropped, x.type, x.rows, x.cols);
    aoei_dropout_add(ctx, dropped, x, none, a->batch, &a->drop);
    return dropped;
}

/* Computes scale * x down^T in the workspace a->low. */
static aoei_tensor project_down(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor x, aoei_tensor workspace) {
    const aoei_tensor low = in_workspace(a->low, x.type, x.rows, a->down.rows);
    aoei_gemm_args g = gemm_args(low, x, a->scale);
    g.packed = packed_for(a->down, x);
    aoei_multiply(ctx, x.type, &g, a->down, 1, workspace);
    return low;
}

void aoei_adapter_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_adapter *a,
                          aoei_tensor workspace) {
    const aoei_tensor low = project_down(ctx, a, drop(ctx, a, x), workspace);
    aoei_gemm_args g = gemm_args(y, low, 1);
    add_to_output(&g);
    g.packed = packed_for(a->up, x);
    aoei_multiply(ctx, x.type, &g, a->up, 1, workspace);
}

/* Computes dw[O, I] += dy[N, O]^T x[N, I]. */
static void add_weight_gradient(const aoe_context *ctx, aoei_tensor dw, aoei_tensor dy, aoei_tensor x,
                                aoei_tensor workspace) {
    aoei_gemm_args g = {.M = dy.cols,
                        .N = x.cols,
                        .K = dy.rows,
                        .a = dy.data,
                        .a_row = 1,
                        .a_col = dy.ld,
                        .c = dw.data,
                        .c_row = dw.ld,
                        .accumulate = 1,
                        .scale = 1};
    aoei_multiply(ctx, x.type, &g, x, 0, workspace);
}

/* Computes scale * dy up in the workspace a->low. */
static aoei_tensor low_gradient(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dy, aoei_tensor workspace) {
    const aoei_tensor dlow = in_workspace(a->low, dy.type, dy.rows, a->up.cols);
    aoei_gemm_args g = gemm_args(dlow, dy, a->scale);
    aoei_multiply(ctx, dy.type, &g, a->up, 0, workspace);
    return dlow;
}

void aoei_adapter_parameter_gradients(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dy, aoei_tensor x,
                                      aoei_tensor workspace) {
    const aoei_tensor dropped = drop(ctx, a, x);
    add_weight_gradient(ctx, a->dup, dy, project_down(ctx, a, dropped, workspace), workspace);
    add_weight_gradient(ctx, a->ddown, low_gradient(ctx, a, dy, workspace), dropped, workspace);
}

void aoei_adapter_input_gradient(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dx, aoei_tensor dy,
                                 aoei_activation activation, aoei_tensor gate, aoei_tensor workspace) {
    /* aoei_adapter_parameter_gradients has stored dlow, the gradient of x down^T, in a->low */
    const aoei_tensor dlow = in_workspace(a->low, dy.type, dy.rows, a->up.cols);
    const int dropout = a->drop.p > 0;
    const aoei_tensor to = dropout ? in_workspace(a->dropped, dx.type, dx.rows, dx.cols) : dx;
    aoei_gemm_args g = gemm_args(to, dlow, 1);
    g.activation = activation;
    g.gate = gate.data;
    g.gate_row = gate.ld;
    if (!dropout)
        add_to_output(&g);
    aoei_multiply(ctx, dy.type, &g, a->down, 0, workspace);
    if (dropout) /* the dropout mask of an element of x is a factor of all terms of its gradient, so the mask is applied
                    once, to their sum */
        aoei_dropout_add(ctx, dx, to, dx, a->batch, &a->drop);
}
