/* SPDX-License-Identifier: MIT
 * A model over external weights, which another object owns. Training uses it to compute embeddings with the trainer's weights
 * and to save these weights.
 */
#ifndef AOEI_MODEL_WEIGHT_VIEW_H
#define AOEI_MODEL_WEIGHT_VIEW_H

#include "model/model.h"

/* Creates a model with the configuration, data type, tokenizer and settings of `base` and other weights. weights:
 * [aoei_slot_count] tensors; the array is copied, the data is borrowed. `base` must outlive the new model, which is freed with
 * aoe_model_close. Errors: AOE_ENOMEM. */
int aoei_model_view(aoe_model **m, const aoe_model *base, const aoei_tensor *weights, aoe_error *err);
/* Frees the weights of a model that were copied to a trainer. Does nothing if the model has adapters, because the frozen
 * weights are still used. The files stay open, because saving copies tensors from them. */
void aoei_model_release_weights(aoe_model *m);

#endif
