/* SPDX-License-Identifier: MIT
 * Finds the tensors of saved adapters in adapter_model.safetensors.
 */
#ifndef AOEI_MODELDIR_ADAPTER_TENSORS_H
#define AOEI_MODELDIR_ADAPTER_TENSORS_H

#include "modeldir/model_files.h"

/* Sets the elements of f->tensors for the weights of adapters; does nothing if f->adapters is NULL. Errors: AOE_EFORMAT (a
 * tensor is missing or has the wrong shape), AOE_EUNSUPPORTED (unsupported data type, or a tensor that belongs to no adapter).
 */
int aoei_adapter_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Returns the prefix that PEFT adds to the names of weights: for a causal model the prefix in its checkpoint, such as "model.",
 * otherwise "". */
const char *aoei_adapters_prefix(const aoei_model_files *f, const aoei_encoder_config *c);

#endif
