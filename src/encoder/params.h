/* SPDX-License-Identifier: MIT
 * The trainable state of a model: values, gradients and AdamW moments, each one
 * flat tensor [1, count] in slot order, with a view per slot. Slots start at
 * multiples of 64 bytes; the padding between them stays zero. For bf16 products
 * every linear weight has a packed copy beside it, which the optimiser refreshes.
 * Frozen weights are no part of it: their values are the model's own tensors.
 */
#ifndef AOEI_ENCODER_PARAMS_H
#define AOEI_ENCODER_PARAMS_H

#include "encoder/config.h"
#include "nn/optimizer.h"

typedef struct aoei_params {
    size_t n_slots;
    size_t count;                  /* floats of each flat tensor, padding included */
    aoei_tensor value, grad, m, v; /* [1, count] */
    aoei_tensor *values, *grads;   /* [n_slots] views, in the arena; absent slots are absent tensors */
    aoei_tensor *ms, *vs;
    aoei_adamw_segment *segments; /* [n_slots], in the arena; planned */
    size_t n_tasks;               /* of an optimiser step */
    size_t packed_bytes;          /* of the packed copies */
} aoei_params;

/* Lays the set out in `arena` (a measuring one plans); type: of the products that will use it. Errors: AOE_ENOMEM. */
int aoei_params_layout(aoei_params *p, const aoe_context *ctx, const aoei_encoder_config *c, aoei_dtype type, aoei_arena *arena,
                       aoe_error *err);
/* Copies weights [n_slots] into the values; gradients and moments become zero. The frozen ones are borrowed. */
void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights);
/* Packs the values anew, after they were written by anything but aoei_adamw_step. */
void aoei_params_pack(const aoe_context *ctx, aoei_params *p);
/* Clips the gradient to max_norm (0: not), takes one AdamW step (options without the segments) and leaves the gradient zero.
 * Returns the global norm before clipping; when it is not finite nothing is updated. */
double aoei_params_update(const aoe_context *ctx, aoei_params *p, const aoei_adamw *o, double max_norm);

#endif
