/* SPDX-License-Identifier: MIT
 * The trainable state of a model: values, gradients and AdamW moments, each one
 * flat tensor [1, count] in slot order, with a view per slot. Slots start at
 * multiples of 64 bytes; the padding between them stays zero.
 */
#ifndef AOEI_MODEL_PARAMS_H
#define AOEI_MODEL_PARAMS_H

#include "model/config.h"
#include "nn/nn.h"

typedef struct aoei_params {
    size_t n_slots;
    size_t count;                  /* floats of each flat tensor, padding included */
    aoei_tensor value, grad, m, v; /* [1, count] */
    aoei_tensor *values, *grads;   /* [n_slots] views, in the arena; absent slots are absent tensors */
    aoei_tensor *ms, *vs;
    size_t *no_decay; /* [n_no_decay][2] element ranges without weight decay, in the arena */
    size_t n_no_decay;
} aoei_params;

/* Lays the set out in `arena` (a measuring one plans). Errors: AOE_ENOMEM. */
int aoei_params_layout(aoei_params *p, const aoei_encoder_config *c, aoei_arena *arena, aoe_error *err);
/* Copies weights [n_slots] into the values; gradients and moments become zero. */
void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights);

#endif
