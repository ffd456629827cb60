/* SPDX-License-Identifier: MIT
 * The tensors of saved adapters in adapter_model.safetensors.
 */
#ifndef AOEI_MODELDIR_ADAPTER_TENSORS_H
#define AOEI_MODELDIR_ADAPTER_TENSORS_H

#include "modeldir/model_files.h"

/* Fills f->tensors for the slots of adapters; does nothing without f->adapters. Errors: AOE_EFORMAT (a tensor is missing or has
 * another shape), AOE_EUNSUPPORTED (another type, or a tensor that belongs to no adapter). */
int aoei_adapter_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Prefix of the slots' names in PEFT's file: that of a causal model's checkpoint, otherwise "". */
const char *aoei_adapters_prefix(const aoei_model_files *f, const aoei_encoder_config *c);

#endif
