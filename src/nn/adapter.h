/* SPDX-License-Identifier: MIT
 * Low-rank adapters of linear layers (LoRA, Hu et al. 2021, as in Hugging Face PEFT). An
 * adapter adds scale * (dropout(x) down^T) up^T to the output of the layer x w^T + b.
 * The functions of nn/linear.h apply an adapter; the encoder passes it to them with the layer.
 */
#ifndef AOEI_NN_ADAPTER_H
#define AOEI_NN_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/tensor.h"

/* An adapter of a linear layer with weight [O, I]. N is the number of tokens, and r the rank. */
typedef struct aoei_adapter {
    aoei_tensor down, up;    /* lora_A [r, I] and lora_B [O, r] */
    aoei_tensor ddown, dup;  /* gradients of down and up, to which the backward pass adds; absent in the forward pass */
    double scale;            /* alpha / r */
    aoei_dropout drop;       /* dropout of x */
    const aoei_batch *batch; /* batch whose tokens are the rows of x */
    aoei_tensor low;         /* workspace of aoei_adapter_low_bytes bytes for x down^T and its gradient [N, r] */
    aoei_tensor dropped;     /* workspace of aoei_adapter_dropped_bytes bytes for dropout(x) [N, I]; absent if p is 0 */
} aoei_adapter;

/* Sizes in bytes of the workspaces for N tokens, rank r and `in` input features. */
size_t aoei_adapter_low_bytes(size_t N, size_t r);
size_t aoei_adapter_dropped_bytes(size_t N, size_t in);

/* Returns the dropout site (nn/dropout.h) of the adapter of linear layer `index` in encoder layer `layer`. */
static inline uint32_t aoei_adapter_site(size_t layer, size_t index) {
    return (uint32_t)(0x8000 + 8 * layer + index);
}

/* Merges an adapter into a weight: w[O, I] (float32) += scale * up[O, r] down[r, I]. To merge only some rows, pass views of
 * these rows of w and up. */
void aoei_adapter_merge(const aoe_context *ctx, aoei_tensor w, aoei_tensor down, aoei_tensor up, double scale);

/* Adds the output of the adapter to the output of the layer: y[N, O] += scale * (dropout(x) down^T) up^T. y has x's type or is
 * float32. workspace: packing workspace, as in nn/linear.h. */
void aoei_adapter_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_adapter *a, aoei_tensor workspace);
/* Adds the gradients of down and up to a->ddown and a->dup. dy[N, O] and x[N, I] have one type. */
void aoei_adapter_parameter_gradients(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dy, aoei_tensor x,
                                      aoei_tensor workspace);
/* Adds the adapter's part of the input gradient to dx, which must already contain the layer's own part: dx += mask * (scale *
 * (dy up) down) * activation'(gate), where mask is the dropout mask of the forward pass. If gate is absent, the factor
 * activation'(gate) is omitted. Must be called directly after aoei_adapter_parameter_gradients, because it uses an intermediate
 * result in a->low. */
void aoei_adapter_input_gradient(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dx, aoei_tensor dy,
                                 aoei_activation activation, aoei_tensor gate, aoei_tensor workspace);

#endif
