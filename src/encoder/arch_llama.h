/* SPDX-License-Identifier: MIT
 * The architectures LLaMA, Mistral and Qwen2.
 */
#ifndef AOEI_ENCODER_ARCH_LLAMA_H
#define AOEI_ENCODER_ARCH_LLAMA_H

#include "encoder/arch.h"

extern const aoei_arch aoei_arch_llama;
extern const aoei_arch aoei_arch_mistral;
extern const aoei_arch aoei_arch_qwen2;

/* Reads rope_theta and rope_scaling into c->rope. In files of newer versions of transformers, rope_parameters contains both.
 * c->positions must already be set. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED. */
int aoei_llama_read_rope(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Returns the value of the key rope_scaling, which is JSON null without scaling. The caller owns the value. Returns NULL if
 * memory allocation fails. */
json_t *aoei_llama_scaling_json(const aoei_rope *r);

#endif
