/* SPDX-License-Identifier: MIT
 * Embeddings of relative positions.
 */
#include "encoder/relative_embeddings.h"

#include "encoder/slot_layout.h"
#include "nn/disentangled.h"
#include "nn/elementwise.h"
#include "nn/layernorm.h"
#include "nn/tensor.h"

void aoei_relative_layout(aoei_transformer_state *t, const aoei_encoder_state *s, const aoei_encoder_config *c,
                          aoei_arena *arena) {
    const size_t rows = 2 * c->relative.span, D = c->hidden, Q = aoei_query_width(c);
    if (!rows)
        return;
    t->relative = aoei_tensor_take_typed(arena, s->mode.type, rows, D);
    t->relative_keys = aoei_tensor_take_typed(arena, s->mode.type, rows, Q);
    t->relative_queries = aoei_tensor_take_typed(arena, s->mode.type, rows, Q);
    t->relative_rows = aoei_arena_take_array(arena, 2 * s->longest - 1, sizeof *t->relative_rows);
    t->longest = s->longest;
    for (size_t i = 0; t->relative_rows && i < 2 * s->longest - 1; i++)
        t->relative_rows[i] = aoei_disentangled_row((ptrdiff_t)i + 1 - (ptrdiff_t)s->longest, c->relative.span,
                                                    c->relative.buckets, c->relative.max_distance);
    if (!s->mode.training)
        return;
    t->relative_sum = aoei_tensor_take_typed(arena, s->mode.type, rows, D);
    t->relative_stats = aoei_tensor_take(arena, rows, 2);
    t->relative_grad = aoei_tensor_take(arena, rows, D);
    t->relative_dkeys = aoei_tensor_take(arena, rows, Q);
    t->relative_dqueries = aoei_tensor_take(arena, rows, Q);
}

void aoei_relative_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                           const aoei_transformer_state *t) {
    if (!c->relative.span)
        return;
    const aoei_tensor x = t->relative_sum.rows ? t->relative_sum : t->relative;
    aoei_tensor_copy(ctx, x, w[AOEI_W_RELATIVE]);
    if (c->relative.norm)
        aoei_layernorm_forward(ctx, t->relative, t->relative_stats, x, w[AOEI_W_RELATIVE_NORM],
                               w[AOEI_W_RELATIVE_NORM_BIAS], c->norm_eps);
    else if (t->relative_sum.rows)
        aoei_tensor_copy(ctx, t->relative, x);
}

void aoei_relative_clear(const aoe_context *ctx, const aoei_transformer_state *t) {
    if (t->relative_grad.rows)
        aoei_tensor_zero(ctx, t->relative_grad);
}

void aoei_relative_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                            const aoei_tensor *grads, const aoei_transformer_state *t) {
    const aoei_tensor d = t->relative_grad, table = grads[AOEI_W_RELATIVE];
    if (!d.rows)
        return;
    if (c->relative.norm)
        aoei_layernorm_backward(ctx, d, grads[AOEI_W_RELATIVE_NORM], grads[AOEI_W_RELATIVE_NORM_BIAS], d,
                                t->relative_sum, t->relative_stats, w[AOEI_W_RELATIVE_NORM]);
    aoei_add(ctx, table, table, d);
}
