/* SPDX-License-Identifier: MIT
 * Directories with LoRA adapters of a tiny model, for tests. Both matrices of an adapter have random values, as in
 * trained adapters.
 */
#pragma once

#include "aoe.h"
#include "model/model.h"

/* Writes adapters of rank r for the model in the directory `base` to dir. targets: see aoe_lora.targets. */
void tiny_adapters_write(aoe_context *ctx, const char *dir, const char *base, size_t r, const char *targets);
/* Fills lora_A and lora_B of all adapters of m with random values. */
void tiny_adapters_fill(aoe_model *m, uint32_t seed);
