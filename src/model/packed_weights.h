/* SPDX-License-Identifier: MIT
 * Creates packed copies of the linear weights for inference. A packed copy has the memory layout that the matmul
 * kernels use. For int8 matmuls, weights that are not stored as int8 are quantized with aoei_int8_row, as when a model
 * is converted to int8.
 */
#pragma once

#include "model/model.h"

/* Checks that a model of the configuration c can be computed in int8. inference: 0: the model is opened for training.
 * name: the model, for the error message. Errors: AOE_EUNSUPPORTED. */
int aoei_model_int8_check(const aoei_encoder_config *c, int inference, const char *name, aoe_error *err);
/* Returns 1 if the packed copy of the linear weight in `slot` is an operand of int8 matmuls: the linear layers of the
 * model are computed in int8, and the weight belongs to a layer and is not that of the values of attention. The errors
 * of values are not reduced by a softmax or by a residual, so values are computed in the type of the activations
 * (docs/numerics.md). */
int aoei_model_packs_int8(const aoe_model *m, size_t slot);
/* Returns the total size in bytes of the packed copies of m, including those that are created later. The function can
 * be called before the copies are created. */
size_t aoei_model_packed_bytes(const aoe_model *m);
/* Returns 1 if the packed copies of the weights of layers can be created later, by aoei_model_choose_weights: the model
 * is a transformer without adapters that is not computed in int8. */
int aoei_model_packs_later(const aoe_model *m);
/* Creates the packed copies. Adapters are merged into the packed copies, and m->config.lora is set to 0. later: 1: the
 * copies of the weights of layers are created by aoei_model_choose_weights if aoei_model_packs_later returns 1. Errors:
 * AOE_ENOMEM, AOE_EUNSUPPORTED (the rows of a weight are too long for int8 matmuls). */
int aoei_model_pack(aoe_model *m, int later, aoe_error *err);

/* Maximum number of tokens in a forward pass for which the weights are not packed. Packing takes longer than such a
 * pass. */
#define AOEI_UNPACKED_TOKENS ((size_t)256)

/* The weights for a forward pass in inference. */
typedef struct aoei_chosen_weights {
    const aoei_tensor *weights; /* [aoei_slot_count], borrowed from the model */
    int unpacked; /* 1: the weights of layers have no packed copies; the value of aoei_encoder_mode.unpacked */
} aoei_chosen_weights;

/* Chooses the weights for a forward pass with n_tokens tokens. If the packed copies of a model are created later, a
 * first pass of at most AOEI_UNPACKED_TOKENS tokens uses the unpacked weights. A process that embeds a single text
 * therefore packs no weights. The next call creates the packed copies on the threads of ctx. Several threads may call
 * the function at the same time. Results do not depend on the choice. Errors: AOE_ENOMEM (packing failed; the next call
 * tries it again). */
int aoei_model_choose_weights(aoei_chosen_weights *chosen, const aoe_context *ctx, aoe_model *m, size_t n_tokens,
                              aoe_error *err);
