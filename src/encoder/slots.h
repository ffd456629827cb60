/* SPDX-License-Identifier: MIT
 * The weights of a configuration: the number of slots, and the name, shape and kind of each slot. All code that iterates
 * over weights (opening, saving, optimizer, memory planning) uses these functions.
 */
#ifndef AOEI_ENCODER_SLOTS_H
#define AOEI_ENCODER_SLOTS_H

#include "encoder/config.h"
#include "encoder/slot_layout.h"

/* Returns the number of slots. */
size_t aoei_slot_count(const aoei_encoder_config *c);
/* Describes a slot. Returns 0, or AOE_EARG if slot is not below aoei_slot_count. */
int aoei_slot_describe(const aoei_encoder_config *c, size_t slot, aoei_slot *out);
/* Returns the slot of weight `kind` of a layer; the architecture defines the kinds. */
size_t aoei_slot_of_layer(const aoei_encoder_config *c, size_t layer, size_t kind);
/* Returns the slot of a weight (AOEI_HW_*) of the masked-LM head. */
size_t aoei_head_slot(const aoei_encoder_config *c, size_t kind);
/* Returns the slot of a weight (AOEI_PW_*) of the layers after the pooling. */
size_t aoei_pooled_slot(const aoei_encoder_config *c, size_t kind);
/* Returns the slot of a weight's lora_A; lora_B is the next slot. Returns 0 if the weight has no adapter. */
size_t aoei_adapter_slot(const aoei_encoder_config *c, size_t slot);
/* Returns the number of parameters of the encoder, including adapters and masked-LM head, without the layers after the pooling.
 */
size_t aoei_parameter_count(const aoei_encoder_config *c);
/* Returns aoei_parameter_count without the parameters of the adapters. */
size_t aoei_base_count(const aoei_encoder_config *c);
/* Returns the index of the random stream that initializes a slot. The index does not change if a later version of the library
 * adds kinds of slots. */
uint32_t aoei_slot_stream(const aoei_encoder_config *c, size_t slot);

#endif
