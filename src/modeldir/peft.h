/* SPDX-License-Identifier: MIT
 * Reads and writes LoRA adapters in the format of Hugging Face PEFT (peft/tuners/lora/config.py). adapter_config.json
 * contains the settings and the path of the base model. adapter_model.safetensors contains the weights; aoei_peft_name
 * returns the names of its tensors.
 */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "base/hub_cache.h"
#include "base/file_cache.h"
#include "encoder/config.h"
#include "modeldir/safetensors.h"

#define AOEI_MAX_ALPHA 1e6 /* maximum supported value of alpha */

/* Returns AOE_EUNSUPPORTED if the architecture does not support adapters. */
int aoei_peft_check(const aoei_encoder_config *c, aoe_error *err);

/* Reads the name of the base model on the Hugging Face Hub from the contents of adapter_config.json
 * ("base_model_name_or_path" and "revision"). Returns 1, or 0 if the base model cannot be on the Hub. */
int aoei_peft_hub_base(aoei_hub_name *name, const json_t *config);
/* Sets *base to the base model directory. If `given` is not NULL, *base is a copy of `given`. Otherwise, the directory
 * is read from DIR/adapter_config.json, where it may be relative to DIR or to the working directory, or the name of a
 * model on the Hugging Face Hub (aoe_model_find) with the commit or branch in "revision". The caller frees *base with
 * aoei_free. Errors: AOE_EFORMAT, AOE_ENOENT (the directory does not exist), AOE_ENOMEM. */
int aoei_peft_base(char **base, aoei_model_dir dir, const char *given, aoe_error *err);

/* Reads DIR/adapter_config.json into lora. If ranks, alphas or targets differ between layers, lora->each is an array
 * that the caller also receives in *each and frees with aoei_free; otherwise *each is NULL. adapters: open file of the
 * weights, whose names show the prefix of module names; NULL: no prefix. c: configuration of the base model. Errors:
 * AOE_EFORMAT, AOE_ENOMEM, AOE_EUNSUPPORTED (the message names the setting). */
int aoei_peft_read(aoei_lora *lora, aoei_lora_layer **each, aoei_model_dir dir, const aoei_safetensors *adapters,
                   const aoei_encoder_config *c, aoe_error *err);

/* Sets *targets to a bit mask, as in aoei_lora.targets, of the linear layers with the given names. names: [n] names
 * such as "q_proj" or "attention.output.dense". If n is 0, all linear layers are selected. lenient: 1 if unknown names
 * are ignored, unless all names are unknown. Errors: AOE_EARG (unknown name; the message lists the supported names). */
int aoei_peft_targets(unsigned *targets, const char *const *names, size_t n, const aoei_encoder_config *c, int lenient,
                      aoe_error *err);

/* Returns the contents of adapter_config.json for the adapters c->lora as a new reference, or NULL if an allocation
 * fails. base: path of the base model; prefix: see aoei_peft_name. */
json_t *aoei_peft_to_json(const aoei_encoder_config *c, const char *base, const char *prefix);
/* Appends the names of the targets to `names`, separated by commas, such as "q_proj, v_proj". Returns 0 or
 * AOE_ENOMEM. */
int aoei_peft_append_targets(aoei_buffer *names, const aoei_lora *lora, const aoei_encoder_config *c);

/* Writes to out[size] the name that the tensor of an adapter has in adapter_model.safetensors. slot_name:
 * aoei_slot.name of the weight, which has no prefix. prefix: see aoei_adapters_prefix. */
void aoei_peft_name(char *out, size_t size, const char *prefix, const char *slot_name);
