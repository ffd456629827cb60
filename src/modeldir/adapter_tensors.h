/* SPDX-License-Identifier: MIT
 * Finds the tensors of saved LoRA adapters in adapter_model.safetensors.
 */
#pragma once

#include "modeldir/model_files.h"

/* Sets the elements of f->tensors for the weights of adapters, and for the weights of the base model that the adapter
 * file replaces. Sets f->ignored_adapters. If f->adapters is NULL, does nothing. Errors: AOE_EFORMAT (a tensor is
 * missing or has the wrong shape), AOE_EUNSUPPORTED (a data type is not supported, or a tensor belongs to no adapter).
 */
int aoei_adapter_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Returns the tensor of the magnitudes (DoRA) of the linear layer `slot`, which has an adapter, or NULL if the file has
 * none. The tensor has one element per row of the weight. */
const aoei_st_tensor *aoei_adapter_magnitudes(const aoei_model_files *f, const aoei_encoder_config *c, size_t slot);
/* Returns the tensor of f->adapters that replaces the weight `slot_name` (aoei_slot.name) of the base model or of its
 * classification head, or NULL if there is none. */
const aoei_st_tensor *aoei_adapters_saved(const aoei_model_files *f, const aoei_encoder_config *c,
                                          const char *slot_name);
/* Returns the rank and alpha of the adapter that f->adapters contains for the layer `slot` of a classification head,
 * and sets pair[0] to lora_A [r, in] and pair[1] to lora_B [out, r]. Their shapes are checked by
 * aoei_adapter_tensors_find. The rank is 0 if there is no such adapter. */
aoei_lora_layer aoei_head_adapter(const aoei_st_tensor *pair[2], const aoei_model_files *f,
                                  const aoei_encoder_config *c, size_t slot);
/* Returns 1 if a tensor of f->adapters replaces a weight of the encoder. Replaced weights of a classification head do
 * not count. */
int aoei_adapters_replace_encoder(const aoei_model_files *f, const aoei_encoder_config *c);
/* Returns the prefix of the names of the encoder's weights in PEFT files. For a cross-encoder, this is the prefix in
 * the class ...ForSequenceClassification, such as "bert.". For other causal models, it is the prefix in the checkpoint
 * of the base model, such as "model.". For all other models, the prefix is "". */
const char *aoei_adapters_prefix(const aoei_model_files *f, const aoei_encoder_config *c);
