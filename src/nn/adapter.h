/* SPDX-License-Identifier: MIT
 * Low-rank adapters of linear layers (LoRA, Hu et al. 2021, as in Hugging Face PEFT). An
 * adapter adds scale * (dropout(x) down^T) up^T to the output of the layer x w^T + b.
 * nn/linear.h calls the forward and backward; other code attaches an adapter to the layer.
 */
#ifndef AOEI_NN_ADAPTER_H
#define AOEI_NN_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/tensor.h"

/* An adapter of a layer [O, I]. */
typedef struct aoei_adapter {
    aoei_tensor down, up;    /* lora_A [r, I] and lora_B [O, r] */
    aoei_tensor ddown, dup;  /* gradients of down and up, accumulated; absent in forward */
    double scale;            /* alpha / r */
    aoei_dropout drop;       /* dropout of x */
    const aoei_batch *batch; /* the batch whose tokens are the rows of x */
    aoei_tensor low;         /* workspace of aoei_adapter_low_bytes, for [N, r] */
    aoei_tensor dropped;     /* workspace of aoei_adapter_dropped_bytes, for [N, I]; absent without dropout */
} aoei_adapter;

/* Sizes in bytes of the workspaces for N tokens. */
size_t aoei_adapter_low_bytes(size_t N, size_t r);
size_t aoei_adapter_dropped_bytes(size_t N, size_t in);

/* The dropout site of the adapter of linear layer `index` of layer `layer`. */
static inline uint32_t aoei_adapter_site(size_t layer, size_t index) {
    return (uint32_t)(0x8000 + 8 * layer + index);
}

/* Merges an adapter into a weight: w[O, I] (float32) += scale * up[O, r] down[r, I]. w and up may be any matching rows. */
void aoei_adapter_merge(const aoe_context *ctx, aoei_tensor w, aoei_tensor down, aoei_tensor up, double scale);

/* y[N, O] += scale * (dropout(x) down^T) up^T. y is of x's type or float32. workspace: packing workspace, as in nn/linear.h. */
void aoei_adapter_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_adapter *a, aoei_tensor workspace);
/* Adds the gradients of down and up, for dy[N, O] and x[N, I] of one type. */
void aoei_adapter_parameter_gradients(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dy, aoei_tensor x,
                                      aoei_tensor workspace);
/* Adds the adapter's part of the input gradient to dx, which must already hold the layer's own part:
 * dx += dropout'(scale * (dy up) down), multiplied by activation'(gate) if gate is present.
 * Call it directly after aoei_adapter_parameter_gradients, because it reuses an intermediate result from the workspace. */
void aoei_adapter_input_gradient(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dx, aoei_tensor dy,
                                 aoei_activation activation, aoei_tensor gate, aoei_tensor workspace);

#endif
