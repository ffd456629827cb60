/* SPDX-License-Identifier: MIT
 * Adapters in the format of Hugging Face PEFT (peft/tuners/lora/config.py): adapter_config.json, which names the base model,
 * and the names of tensors in adapter_model.safetensors.
 */
#ifndef AOEI_MODELDIR_PEFT_H
#define AOEI_MODELDIR_PEFT_H

#include <jansson.h>

#include "base/buffer.h"
#include "encoder/config.h"

#define AOEI_MOST_ALPHA 1e6 /* largest alpha that is trained or read */

/* Returns AOE_EUNSUPPORTED for an architecture that does not support adapters. */
int aoei_peft_check(const aoei_encoder_config *c, aoe_error *err);

/* Sets *base to the directory of the base model, owned by the caller (aoei_free): `given` if it is not NULL, else the directory
 * named by DIR/adapter_config.json, relative to DIR or to the working directory. Errors: AOE_EFORMAT, AOE_ENOENT (no such
 * directory), AOE_ENOMEM. */
int aoei_peft_base(char **base, const char *dir, const char *given, aoe_error *err);

/* Reads DIR/adapter_config.json for a base of configuration c into lora. Errors: AOE_EFORMAT, AOE_ENOMEM, AOE_EUNSUPPORTED with
 * the name of the unsupported feature (DoRA, rank patterns, modules_to_save and others). */
int aoei_peft_read(aoei_lora *lora, const char *dir, const aoei_encoder_config *c, aoe_error *err);

/* Sets *targets to the bits of aoei_lora.targets for n names of linear layers ("q_proj", "attention.output.dense"); n 0: all
 * layers. Errors: AOE_EARG with the supported names, if a name is unknown or, with `lenient`, if all names are unknown. */
int aoei_peft_targets(unsigned *targets, const char *const *names, size_t n, const aoei_encoder_config *c, int lenient,
                      aoe_error *err);

/* Returns adapter_config.json for the adapters of c on the model in `base` as a new reference. prefix: see aoei_peft_name.
 * NULL: out of memory. */
json_t *aoei_peft_to_json(const aoei_encoder_config *c, const char *base, const char *prefix);
/* Appends the names of the targets: "q_proj, v_proj". Returns 0 or AOE_ENOMEM. */
int aoei_peft_list(aoei_buffer *names, const aoei_lora *lora, const aoei_encoder_config *c);

/* Writes the name of an adapter's tensor in adapter_model.safetensors to out[size]. prefix: prefix of the base model's class
 * ("model." for a causal language model, otherwise ""). */
void aoei_peft_name(char *out, size_t size, const char *prefix, const char *slot_name);

#endif
