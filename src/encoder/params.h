/* SPDX-License-Identifier: MIT
 * The trainable state of a model: values, gradients and AdamW moments. Each of the four is one flat tensor [1, count] in slot
 * order, with one view per slot. Slots start at multiples of 64 bytes; the padding between them stays zero. For bf16 GEMMs,
 * every linear weight also has a packed copy, which the optimizer updates. The flat tensors do not contain frozen weights; the
 * tensors of the model are used instead.
 */
#ifndef AOEI_ENCODER_PARAMS_H
#define AOEI_ENCODER_PARAMS_H

#include "encoder/config.h"
#include "nn/optimizer.h"
#include "nn/tensor.h"

typedef struct aoei_params {
    size_t n_slots;                /* aoei_slot_count */
    size_t count;                  /* number of floats of each flat tensor, including padding */
    aoei_tensor value, grad, m, v; /* [1, count] values, gradients, first and second moments */
    aoei_tensor *values, *grads;   /* [n_slots] views of value and grad, in the arena; absent slots have absent views */
    aoei_tensor *ms, *vs;          /* [n_slots] views of m and v, in the arena */
    aoei_adamw_segment *segments;  /* [n_slots] segments for the optimizer, in the arena */
    size_t n_tasks;                /* number of parallel tasks of an optimizer step */
    size_t packed_bytes;           /* bytes of the packed copies */
} aoei_params;

/* Lays out the parameters in `arena`; with a measuring arena (base/arena.h), only the size is computed. type: operand type of
 * the GEMMs that use the weights. Errors: AOE_ENOMEM. */
int aoei_params_layout(aoei_params *p, const aoe_context *ctx, const aoei_encoder_config *c, aoei_dtype type, aoei_arena *arena,
                       aoe_error *err);
/* Copies the weights [n_slots] to the values and sets gradients and moments to zero. Frozen weights are borrowed, not
 * copied. */
void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights);
/* Updates the packed copies. Call it after any change of the values, except by aoei_adamw_step. */
void aoei_params_pack(const aoe_context *ctx, aoei_params *p);
/* Clips the gradient to the norm max_norm (0: no clipping), runs one AdamW step and sets the gradient to zero. o: AdamW
 * options; its segments are ignored. Returns the global gradient norm before clipping. If the norm is not finite, nothing is
 * updated. */
double aoei_params_update(const aoe_context *ctx, aoei_params *p, const aoei_adamw *o, double max_norm);

#endif
