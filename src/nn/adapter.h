/* SPDX-License-Identifier: MIT
 * Low-rank adapters of linear layers (LoRA, Hu et al. 2021, as in Hugging Face PEFT). An adapter adds scale *
 * (dropout(x) down^T) up^T to the output x w^T + b of the layer. The functions of nn/linear.h compute a layer together
 * with its adapter. They receive the adapter as an argument and call the functions of this file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/tensor.h"

/* An adapter of a linear layer with weight [O, I]. N is the number of tokens, and r is the rank of the adapter. */
typedef struct aoei_adapter {
    aoei_tensor down, up;    /* weights of the adapter: down is lora_A [r, I], and up is lora_B [O, r] */
    aoei_tensor ddown, dup;  /* gradients of down and up; the backward pass adds to them; absent in the forward pass */
    double scale;            /* factor of the adapter's output; computed by aoei_lora_scale (encoder/config.h) */
    aoei_dropout drop;       /* dropout of the adapter's input x */
    const aoei_batch *batch; /* batch whose tokens are the rows of x */
    aoei_tensor low;         /* workspace of aoei_adapter_low_bytes bytes for x down^T [N, r] and for its gradient */
    aoei_tensor dropped;     /* workspace of aoei_adapter_dropped_bytes bytes for dropout(x) [N, I]; absent if drop.p is
                                0 */
} aoei_adapter;

/* Return the sizes in bytes of the workspaces `low` and `dropped` for N tokens, rank r and `in` input features. */
size_t aoei_adapter_low_bytes(size_t N, size_t r);
size_t aoei_adapter_dropped_bytes(size_t N, size_t in);

/* Returns the dropout site (nn/dropout.h) of the adapter of linear layer `index` in encoder layer `layer`. */
static inline uint32_t aoei_adapter_site(size_t layer, size_t index) {
    return (uint32_t)(0x8000 + 8 * layer + index);
}

/* Merges an adapter into a float32 weight: w[O, I] += scale * up[O, r] down[r, I]. To merge the adapter into some rows
 * of the weight only, pass views of these rows of w and of up. */
void aoei_adapter_merge(const aoe_context *ctx, aoei_tensor w, aoei_tensor down, aoei_tensor up, double scale);

/* Adds the output of the adapter to y, which contains the output of the layer: y[N, O] += scale * (dropout(x) down^T)
 * up^T. y is float32 or has the type of x. workspace is the packing workspace that nn/linear.h describes. */
void aoei_adapter_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_adapter *a,
                          aoei_tensor workspace);
/* Adds the gradients of down and up to a->ddown and a->dup. dy[N, O] is the gradient of y, and x[N, I] is the input of
 * the layer; both have one type. */
void aoei_adapter_parameter_gradients(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dy, aoei_tensor x,
                                      aoei_tensor workspace);
/* Adds the contribution of the adapter to dx, the gradient of x. dx must already contain the contribution of the layer.
 * The function computes dx += mask * (scale * (dy up) down) * activation'(gate), where mask is the dropout mask of the
 * forward pass. If gate is absent, the factor activation'(gate) is omitted. Call this function directly after
 * aoei_adapter_parameter_gradients, which stores an intermediate result in a->low. */
void aoei_adapter_input_gradient(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dx, aoei_tensor dy,
                                 aoei_activation activation, aoei_tensor gate, aoei_tensor workspace);
