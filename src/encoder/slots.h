/* SPDX-License-Identifier: MIT
 * The weights of a configuration: the number of slots, and the name, shape and kind of each slot. All code that iterates
 * over weights (opening, saving, optimizer, memory planning) uses these functions.
 */
#ifndef AOEI_ENCODER_SLOTS_H
#define AOEI_ENCODER_SLOTS_H

#include "encoder/config.h"
#include "encoder/slot_layout.h"

size_t aoei_slot_count(const aoei_encoder_config *c);
/* Describes a slot. Returns 0, or AOE_EARG if slot is not below aoei_slot_count. */
int aoei_slot_describe(const aoei_encoder_config *c, size_t slot, aoei_slot *out);
/* The slot of weight `kind` of a layer; the architecture defines the kinds. */
size_t aoei_slot_of_layer(const aoei_encoder_config *c, size_t layer, size_t kind);
/* The slot of a weight (AOEI_HW_*) of the masked-LM head. */
size_t aoei_head_slot(const aoei_encoder_config *c, size_t kind);
/* The slot of a weight (AOEI_PW_*) after the pooling. */
size_t aoei_pooled_slot(const aoei_encoder_config *c, size_t kind);
/* The slot of the lora_A of a weight; lora_B is the next slot. 0: the weight has no adapter. */
size_t aoei_adapter_slot(const aoei_encoder_config *c, size_t slot);
/* The number of parameters of the encoder, adapters and masked-LM head included, layers after the pooling excluded. */
size_t aoei_parameter_count(const aoei_encoder_config *c);
/* aoei_parameter_count without the adapters. */
size_t aoei_base_count(const aoei_encoder_config *c);
/* The number of the random stream that initializes a slot. It does not change when slots are added. */
uint32_t aoei_slot_stream(const aoei_encoder_config *c, size_t slot);

#endif
