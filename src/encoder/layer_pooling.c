/* SPDX-License-Identifier: MIT
 * Computes the weighted mean of hidden states. With layer weights, these are the hidden states layers + 1 - n to
 * layers, where n is the number of layer weights. With a paired state, these are the paired state and the last hidden
 * state, with equal weights.
 */
#include "encoder/layer_pooling.h"

#include "base/error.h"
#include "encoder/slots.h"
#include "nn/layer_mean.h"

int aoei_layer_pooling_select(aoei_encoder_config *c, aoe_pooling pooling, aoe_error *err) {
    const int two = pooling == AOE_POOLING_LAST_TWO_AVG, first = pooling == AOE_POOLING_LAYER1_LAST_AVG;
    c->modules.paired_state = 0;
    if (!two && !first)
        return AOE_OK;
    if (c->layers < 2)
        return aoei_fail(err, AOE_EARG,
                         "pooling %s requires a model with at least 2 layers, but the model has %zu; use %s",
                         two ? "last-two-avg" : "layer1-last-avg", c->layers, two ? "first-last-avg" : "mean");
    c->modules.paired_state = two ? c->layers - 1 : 1;
    return AOE_OK;
}

void aoei_layer_pooling_layout(aoei_encoder_state *s, const aoei_encoder_config *c, aoei_arena *arena) {
    if (!aoei_pools_mean_state(c))
        return;
    s->mean = aoei_tensor_take(arena, s->n_tokens, c->hidden);
    if (s->mode.training)
        s->grad_mean = aoei_tensor_take(arena, s->n_tokens, c->hidden);
}

/* Returns the index of the first hidden state that is part of the weighted mean of a model with layer weights. */
static size_t first_state(const aoei_encoder_config *c) {
    return c->layers + 1 - c->modules.layer_weights;
}

/* Returns the position of hidden state `index` among the hidden states of the mean, or AOEI_NO_LAYER if it is not part
 * of the mean. */
static size_t position_of(const aoei_encoder_config *c, size_t index) {
    if (c->modules.layer_weights)
        return index >= first_state(c) ? index - first_state(c) : AOEI_NO_LAYER;
    return !c->modules.paired_state           ? AOEI_NO_LAYER
           : index == c->modules.paired_state ? 0
           : index == c->layers               ? 1
                                              : AOEI_NO_LAYER;
}

/* Returns the factor of the hidden state at position i of the mean. */
static double factor(const aoei_encoder_config *c, const aoei_tensor *w, size_t i) {
    return c->modules.layer_weights ? aoei_layer_mean_factor(w[aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS)], i) : 0.5;
}

void aoei_layer_pooling_add(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                            aoei_encoder_state *s, size_t index, size_t n) {
    const size_t i = position_of(c, index);
    if (i != AOEI_NO_LAYER)
        aoei_layer_mean_add(ctx, aoei_tensor_rows(s->mean, 0, n), aoei_tensor_rows(s->hidden[index], 0, n),
                            factor(c, w, i), i > 0);
}

void aoei_layer_pooling_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_tensor *grads, aoei_encoder_state *s, size_t n) {
    if (!aoei_pools_mean_state(c))
        return;
    const aoei_tensor d = aoei_tensor_rows(s->grad_last, 0, n), dmean = aoei_tensor_rows(s->grad_mean, 0, n);
    aoei_tensor_copy(ctx, dmean, d);
    if (c->modules.layer_weights) {
        const size_t slot = aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS);
        if (grads[slot].data)
            aoei_layer_mean_weights(ctx, grads[slot], dmean, aoei_tensor_rows(s->mean, 0, n),
                                    s->hidden + first_state(c), w[slot]);
    }
    aoei_layer_mean_add(ctx, d, dmean, factor(c, w, position_of(c, c->layers)), 0);
}

void aoei_layer_pooling_add_gradient(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                     const aoei_encoder_state *s, size_t index, aoei_tensor d) {
    const size_t i = position_of(c, index);
    if (i != AOEI_NO_LAYER)
        aoei_layer_mean_add(ctx, d, aoei_tensor_rows(s->grad_mean, 0, d.rows), factor(c, w, i), 1);
}
