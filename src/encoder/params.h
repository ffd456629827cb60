/* SPDX-License-Identifier: MIT
 * The trainable parameters of a model: their values, gradients, and first and second moments of the optimizer. The
 * moments that the optimizer does not have (nn/optimizer.h) are absent. Each of these four is one float32 tensor,
 * called a flat tensor. Values and gradients have one view per slot (a slot is the index of a weight). The views start
 * at multiples of 64 bytes; the padding between them remains zero. If matmuls are bf16, every weight of a linear layer
 * also has a packed copy (nn/gemm.h), which the optimizer updates. Frozen weights are not stored in the flat tensors;
 * the tensors of the model are used for them. If training uses a second encoder, the second half of the flat tensors
 * and of the arrays of views belongs to the second encoder.
 */
#pragma once

#include "encoder/config.h"
#include "nn/optimizer.h"
#include "nn/tensor.h"

/* What determines the parameters besides the configuration of the encoder. Zeros: float32, AdamW, one encoder. */
typedef struct aoei_params_options {
    aoei_dtype type;               /* operand type of the matmuls that use the weights */
    aoei_optimizer_kind optimizer; /* determines which moments there are */
    int second_encoder;            /* 1: there is a second encoder with its own weights, which are equal at the start */
    size_t rank, ranks; /* number of this process, and number of processes that train together; 0: this process alone */
} aoei_params_options;

enum { AOEI_MAX_ENCODERS = 2 /* maximum number of encoders of the parameters */ };

typedef struct aoei_params {
    size_t n_slots;              /* number of slots of an encoder, aoei_slot_count */
    size_t encoders;             /* number of encoders: 1, or 2 if there is a second encoder */
    size_t count;                /* number of floats of each flat tensor, including padding */
    aoei_share share;            /* elements that this process updates; all of them if it trains alone */
    aoei_tensor value, grad;     /* [1, count] each: values and gradients */
    aoei_tensor m, v;            /* [1, aoei_share_count(&share)] each: first and second moments */
    aoei_tensor *values, *grads; /* [encoders n_slots] each: views of `value` and of `grad`, in the arena; the view of a
                                    slot without a weight is an absent tensor */
    aoei_optimizer_segment *segments; /* [encoders n_slots] segments of the flat tensors (nn/optimizer.h), one per slot,
                                         in the arena */
    size_t n_tasks;                   /* number of parallel tasks of an optimizer step */
    size_t packed_bytes;              /* size of all packed copies in bytes */
} aoei_params;

/* Allocates the parameters in `arena`. If the arena is a measuring arena (base/arena.h), only the size is computed.
 * Errors: AOE_ENOMEM. */
int aoei_params_layout(aoei_params *p, const aoe_context *ctx, const aoei_encoder_config *c,
                       const aoei_params_options *o, aoei_arena *arena, aoe_error *err);
/* Returns the views of `value` and of `grad` that belong to encoder e. */
static inline const aoei_tensor *aoei_params_values(const aoei_params *p, size_t e) {
    return p->values + e * p->n_slots;
}
static inline const aoei_tensor *aoei_params_grads(const aoei_params *p, size_t e) {
    return p->grads + e * p->n_slots;
}
/* Replaces the gradients by another flat tensor: sets p->grad to it and p->grads to its views. */
void aoei_params_bind_grad(aoei_params *p, aoei_tensor grad);
/* Copies weights[n_slots] to the values of every encoder and sets gradients and moments to zero. Frozen weights are not
 * copied: p->values then contains the tensors of `weights`, which p borrows. */
void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights);
/* Updates the packed copies. Call this function after every change of the values, except after aoei_optimizer_step. */
void aoei_params_pack(const aoe_context *ctx, aoei_params *p);
/* Returns the factor of a gradient with this norm, so that its norm is at most max_norm; 0 means no clipping. The
 * formula is that of PyTorch's clip_grad_norm_. */
double aoei_clip_factor(double norm, double max_norm);
/* Runs one optimizer step of a process that trains alone. First clips the gradient to the norm max_norm; 0 means no
 * clipping. After the step, sets the gradient to zero. *o contains its arguments; the segments in *o are ignored.
 * Returns the norm of the whole gradient before clipping. If this norm is not finite, the function does not run the
 * step; it only sets the gradient to zero. */
double aoei_params_update(const aoe_context *ctx, aoei_params *p, const aoei_optimizer *o, double max_norm);
