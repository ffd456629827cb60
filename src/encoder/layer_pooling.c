/* SPDX-License-Identifier: MIT
 * Computes the weighted mean of the hidden states layers + 1 - n to layers, where n is the number of layer weights.
 */
#include "encoder/layer_pooling.h"

#include "encoder/slots.h"
#include "nn/layer_mean.h"

void aoei_layer_pooling_layout(aoei_encoder_state *s, const aoei_encoder_config *c, aoei_arena *arena) {
    if (!c->layer_weights)
        return;
    s->mean = aoei_tensor_take(arena, s->n_tokens, c->hidden);
    if (s->mode.training)
        s->grad_mean = aoei_tensor_take(arena, s->n_tokens, c->hidden);
}

/* Returns the index of the first hidden state that is part of the mean. */
static size_t first_state(const aoei_encoder_config *c) {
    return c->layers + 1 - c->layer_weights;
}

void aoei_layer_pooling_add(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, aoei_encoder_state *s,
                            size_t index, size_t n) {
    if (c->layer_weights && index >= first_state(c))
        aoei_layer_mean_forward(ctx, aoei_tensor_rows(s->mean, 0, n), aoei_tensor_rows(s->hidden[index], 0, n),
                                w[aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS)], index - first_state(c));
}

void aoei_layer_pooling_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_tensor *grads, aoei_encoder_state *s, size_t n) {
    if (!c->layer_weights)
        return;
    const size_t slot = aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS);
    const aoei_tensor d = aoei_tensor_rows(s->grad_last, 0, n), dmean = aoei_tensor_rows(s->grad_mean, 0, n);
    aoei_tensor_copy(ctx, dmean, d);
    if (grads[slot].data)
        aoei_layer_mean_weights(ctx, grads[slot], dmean, aoei_tensor_rows(s->mean, 0, n), s->hidden + first_state(c), w[slot]);
    aoei_layer_mean_backward(ctx, d, dmean, w[slot], c->layer_weights - 1, 0);
}

void aoei_layer_pooling_add_gradient(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                     const aoei_encoder_state *s, size_t index, aoei_tensor d) {
    if (c->layer_weights && index >= first_state(c))
        aoei_layer_mean_backward(ctx, d, aoei_tensor_rows(s->grad_mean, 0, d.rows),
                                 w[aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS)], index - first_state(c), 1);
}
