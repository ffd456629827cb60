/* SPDX-License-Identifier: MIT
 * Reads and writes the format of adapters in Hugging Face PEFT (peft/tuners/lora/config.py): adapter_config.json, which
 * contains the settings and the path of the base model, and the names of tensors in adapter_model.safetensors.
 */
#ifndef AOEI_MODELDIR_PEFT_H
#define AOEI_MODELDIR_PEFT_H

#include <jansson.h>

#include "base/buffer.h"
#include "encoder/config.h"

#define AOEI_MAX_ALPHA 1e6 /* largest supported value of alpha */

/* Fails with AOE_EUNSUPPORTED if the architecture does not support adapters. */
int aoei_peft_check(const aoei_encoder_config *c, aoe_error *err);

/* Sets *base to the directory of the base model, owned by the caller (aoei_free): `given` if it is not NULL, else the directory
 * in DIR/adapter_config.json, which may be relative to DIR or to the working directory. Errors: AOE_EFORMAT, AOE_ENOENT (no
 * such directory), AOE_ENOMEM. */
int aoei_peft_base(char **base, const char *dir, const char *given, aoe_error *err);

/* Reads DIR/adapter_config.json into lora. c: configuration of the base model. Errors: AOE_EFORMAT, AOE_ENOMEM,
 * AOE_EUNSUPPORTED with the name of the unsupported feature (DoRA, rank patterns, modules_to_save and others). */
int aoei_peft_read(aoei_lora *lora, const char *dir, const aoei_encoder_config *c, aoe_error *err);

/* Sets *targets to the bits of aoei_lora.targets for n names of linear layers ("q_proj", "attention.output.dense"). If n is
 * 0, *targets contains all linear layers. If lenient is 0, fails with AOE_EARG if a name is unknown. If lenient is 1, fails
 * with AOE_EARG only if all names are unknown. The message lists the supported names. */
int aoei_peft_targets(unsigned *targets, const char *const *names, size_t n, const aoei_encoder_config *c, int lenient,
                      aoe_error *err);

/* Returns the contents of adapter_config.json for the adapters c->lora as a new reference, or NULL if an allocation fails.
 * base: path of the base model; prefix: see aoei_peft_name. */
json_t *aoei_peft_to_json(const aoei_encoder_config *c, const char *base, const char *prefix);
/* Appends the names of the targets to `names`, comma-separated ("q_proj, v_proj"). Returns 0 or AOE_ENOMEM. */
int aoei_peft_append_targets(aoei_buffer *names, const aoei_lora *lora, const aoei_encoder_config *c);

/* Writes the name of an adapter's tensor in adapter_model.safetensors to out[size]. slot_name: name of the
 * weight in aoei_slot, which has no prefix; prefix: see aoei_adapters_prefix. */
void aoei_peft_name(char *out, size_t size, const char *prefix, const char *slot_name);

#endif
