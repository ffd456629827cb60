/* SPDX-License-Identifier: MIT
 * Creates models over external weights. The weights of such a model are owned by another object, such as a trainer.
 * Training uses such a model to compute embeddings with the weights of the trainer, and to save these weights.
 */
#pragma once

#include "model/model.h"

/* Creates a model that has the configuration, data type, tokenizer and settings of `base`, and uses the weights
 * `weights`. weights: [aoei_slot_count] tensors; the array is copied, and the data is borrowed. The caller frees *m
 * with aoe_model_close. `base` must outlive *m. Weights that are not packed are packed by each matmul, which requires
 * that the encoder is laid out for training or with aoei_encoder_mode.unpacked. Errors: AOE_ENOMEM. */
int aoei_model_view(aoe_model **m, const aoe_model *base, const aoei_tensor *weights, aoe_error *err);
/* Frees the weights of a model after they have been copied to a trainer. If the model has frozen weights, nothing is
 * freed, because they are still used. The files remain open, because tensors are copied from them when the model is
 * saved. */
void aoei_model_release_weights(aoe_model *m);
