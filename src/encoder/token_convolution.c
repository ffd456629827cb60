/* SPDX-License-Identifier: MIT
 * Convolutions between the encoder and the pooling.
 */
#include "encoder/token_convolution.h"

#include "encoder/slots.h"
#include "nn/convolution.h"
#include "nn/linear.h"

/* Returns the largest kernel size. */
static size_t largest_kernel(const aoei_encoder_config *c) {
    size_t k = 1;
    for (size_t i = 0; i < c->modules.n_kernels; i++)
        k = c->modules.kernels[i] > k ? c->modules.kernels[i] : k;
    return k;
}

void aoei_token_convolution_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c,
                                   aoei_arena *arena) {
    if (!c->modules.n_kernels)
        return;
    const size_t width = c->hidden * largest_kernel(c);
    s->tokens = aoei_tensor_take(arena, s->n_tokens, aoei_token_width(c));
    s->unfolded = aoei_tensor_take(arena, s->n_tokens, width);
    s->token_workspace = aoei_workspace_take(
        arena, aoei_linear_workspace(ctx, AOEI_F32, s->n_tokens, c->modules.kernel_channels, width));
    if (s->mode.training)
        s->grad_tokens = aoei_tensor_take(arena, s->n_tokens, aoei_token_width(c));
}

/* Returns convolution i. */
static aoei_convolution convolution(const aoei_encoder_config *c, const aoei_tensor *w, const aoei_encoder_state *s,
                                    size_t i) {
    const size_t slot = aoei_pooled_slot(c, AOEI_PW_TOKEN_MODULE + 2 * i);
    return (aoei_convolution){.kernel = c->modules.kernels[i],
                              .weight = w[slot],
                              .bias = w[slot + 1],
                              .unfolded =
                                  aoei_tensor_slice(s->unfolded, 0, s->n_tokens, c->hidden * c->modules.kernels[i]),
                              .workspace = s->token_workspace};
}

void aoei_token_convolution_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                    const aoei_batch *batch, aoei_encoder_state *s) {
    const size_t n = batch->n_tokens, C = c->modules.kernel_channels;
    for (size_t i = 0; i < c->modules.n_kernels; i++) {
        const aoei_convolution v = convolution(c, w, s, i);
        aoei_convolution_forward(ctx, &v, aoei_tensor_cols(aoei_tensor_rows(s->tokens, 0, n), i * C, C),
                                 aoei_tensor_rows(s->hidden[c->layers], 0, n), batch);
    }
}

void aoei_token_convolution_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                     const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s) {
    const size_t n = batch->n_tokens, C = c->modules.kernel_channels;
    if (!c->modules.n_kernels)
        return;
    const aoei_tensor d = aoei_tensor_rows(s->grad_last, 0, n);
    aoei_tensor_zero(ctx, d);
    for (size_t i = 0; i < c->modules.n_kernels; i++) {
        const size_t slot = aoei_pooled_slot(c, AOEI_PW_TOKEN_MODULE + 2 * i);
        const aoei_convolution v = convolution(c, w, s, i);
        aoei_convolution_backward(ctx, &v, d, grads[slot], grads[slot + 1],
                                  aoei_tensor_cols(aoei_tensor_rows(s->grad_tokens, 0, n), i * C, C),
                                  aoei_tensor_rows(s->hidden[c->layers], 0, n), batch);
    }
}
