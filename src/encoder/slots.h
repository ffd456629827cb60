/* SPDX-License-Identifier: MIT
 * Describes the weights of a configuration. A slot is the index of a weight (slot_layout.h). The functions return the
 * number of slots, and a description of each slot with its name and shape. All code that iterates over weights uses
 * these functions, for example code that opens or saves models or allocates memory.
 */
#pragma once

#include "encoder/config.h"
#include "encoder/slot_layout.h"

/* Returns the number of slots. */
size_t aoei_slot_count(const aoei_encoder_config *c);
/* Sets *out to the description of a slot. Returns 0, or AOE_EARG if slot is not less than aoei_slot_count. */
int aoei_slot_describe(const aoei_encoder_config *c, size_t slot, aoei_slot *out);
/* Returns the slot of the weight `kind` of a layer. The architecture defines the kinds. `layer` is an index among the
 * layers with their own weights (aoei_distinct_layers). */
size_t aoei_slot_of_layer(const aoei_encoder_config *c, size_t layer, size_t kind);
/* Returns the slot of the weight `kind` (AOEI_HW_*) of the masked-LM head. */
size_t aoei_head_slot(const aoei_encoder_config *c, size_t kind);
/* Returns the slot of the weight `kind` (AOEI_PW_*) of the layers that follow the pooling. */
size_t aoei_pooled_slot(const aoei_encoder_config *c, size_t kind);
/* `slot` is the slot of the weight of a linear layer. Returns the slot of lora_A of the adapter of this layer; lora_B
 * is in the next slot. Returns 0 if the layer has no adapter. */
size_t aoei_adapter_slot(const aoei_encoder_config *c, size_t slot);
/* Returns the number of parameters in the encoder and of the modules before and after the pooling. Adapters and the
 * masked-LM head are included; the training head and the projection are not included. */
size_t aoei_parameter_count(const aoei_encoder_config *c);
/* Returns the number of parameters as aoei_parameter_count does, but without the parameters of adapters. */
size_t aoei_base_count(const aoei_encoder_config *c);
/* Returns the index of the stream of random numbers from which the weight in `slot` is initialized. The index remains
 * the same if a later version of the library adds slots. */
uint32_t aoei_slot_stream(const aoei_encoder_config *c, size_t slot);
