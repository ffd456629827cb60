/* SPDX-License-Identifier: MIT
 * The trainable state of a model: values, gradients and AdamW moments. Each is one flat tensor [1, count] in slot order, with a
 * view per slot. Slots start at multiples of 64 bytes; the padding between them stays zero. For bf16 GEMMs every linear weight
 * also has a packed copy, which the optimiser refreshes. Frozen weights are not included: their values are the model's tensors.
 */
#ifndef AOEI_ENCODER_PARAMS_H
#define AOEI_ENCODER_PARAMS_H

#include "encoder/config.h"
#include "nn/optimizer.h"
#include "nn/tensor.h"

typedef struct aoei_params {
    size_t n_slots;                /* aoei_slot_count */
    size_t count;                  /* floats of each flat tensor, padding included */
    aoei_tensor value, grad, m, v; /* [1, count] values, gradients, first and second moments */
    aoei_tensor *values, *grads;   /* [n_slots] views of value and grad, in the arena; absent slots are absent tensors */
    aoei_tensor *ms, *vs;          /* [n_slots] views of m and v, in the arena */
    aoei_adamw_segment *segments;  /* [n_slots] slots as the optimiser sees them, in the arena */
    size_t n_tasks;                /* parallel tasks of an optimiser step */
    size_t packed_bytes;           /* bytes of the packed copies */
} aoei_params;

/* Lays the parameters out in `arena`; a measuring arena computes the size. type: operand type of the GEMMs that use them.
 * Errors: AOE_ENOMEM. */
int aoei_params_layout(aoei_params *p, const aoe_context *ctx, const aoei_encoder_config *c, aoei_dtype type, aoei_arena *arena,
                       aoe_error *err);
/* Copies weights [n_slots] to the values and sets gradients and moments to zero. Frozen weights are borrowed. */
void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights);
/* Refreshes the packed copies, after anything except aoei_adamw_step wrote to the values. */
void aoei_params_pack(const aoe_context *ctx, aoei_params *p);
/* Clips the gradient to max_norm (0: no clipping), runs one AdamW step and sets the gradient to zero. options: AdamW options
 * without segments. Returns the global gradient norm before clipping; if it is not finite, nothing is updated. */
double aoei_params_update(const aoe_context *ctx, aoei_params *p, const aoei_adamw *o, double max_norm);

#endif
