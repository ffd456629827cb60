/* SPDX-License-Identifier: MIT
 * A model over external weights. Training uses it to compute embeddings with the trainer's weights and to save them.
 */
#ifndef AOEI_MODEL_WEIGHT_VIEW_H
#define AOEI_MODEL_WEIGHT_VIEW_H

#include "model/model.h"

/* Creates a model with the configuration, type, tokenizer and settings of `base` over other weights ([aoei_slot_count] tensors;
 * the array is copied, the data are borrowed). base must outlive it. Free with aoe_model_close. Errors: AOE_ENOMEM. */
int aoei_model_view(aoe_model **m, const aoe_model *base, const aoei_tensor *weights, aoe_error *err);
/* Frees the memory of the base's own weights after they were copied, unless they are frozen and still used. Tensors of its
 * files that the encoder does not use can still be saved. */
void aoei_model_release_weights(aoe_model *m);

#endif
