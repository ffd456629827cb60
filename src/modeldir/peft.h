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

/* *base: the directory of the base model (aoei_free): `given`, else what DIR/adapter_config.json names, as it stands or seen
 * from DIR. Errors: AOE_EFORMAT, AOE_ENOENT (a name that is no directory here). */
int aoei_peft_base(char **base, const char *dir, const char *given, aoe_error *err);

/* Reads DIR/adapter_config.json for a base of configuration c into lora. What the encoder lacks (DoRA, patterns of ranks,
 * modules that are saved whole ...) is AOE_EUNSUPPORTED and named. */
int aoei_peft_read(aoei_lora *lora, const char *dir, const aoei_encoder_config *c, aoe_error *err);

/* Bits of lora.targets for names of linear layers of c: "q_proj", "attention.output.dense"; n 0: all of them. A name that is
 * none: AOE_EARG lists those there are, unless `lenient`: then only when none is left. */
int aoei_peft_targets(unsigned *targets, const char *const *names, size_t n, const aoei_encoder_config *c, int lenient,
                      aoe_error *err);

/* adapter_config.json of c's adapters on the model in `base`. prefix: as in aoei_peft_name. NULL: no memory. */
json_t *aoei_peft_to_json(const aoei_encoder_config *c, const char *base, const char *prefix);
/* Appends the names of the targets: "q_proj, v_proj". Returns 0 or AOE_ENOMEM. */
int aoei_peft_list(aoei_buffer *names, const aoei_lora *lora, const aoei_encoder_config *c);

/* The name in adapter_model.safetensors of an adapter's slot name; prefix: of the names of the class that the adapters are for
 * ("model." of a causal language model, else ""). */
void aoei_peft_name(char *out, size_t size, const char *prefix, const char *slot_name);

#endif
