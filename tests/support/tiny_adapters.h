/* SPDX-License-Identifier: MIT
 * Adapter directories for tests: adapters of a tiny model with random values in both matrices, as in trained adapters.
 */
#ifndef AOE_TESTS_TINY_ADAPTERS_H
#define AOE_TESTS_TINY_ADAPTERS_H

#include "aoe.h"
#include "model/model.h"

/* Writes adapters of rank r for the model in `base` to dir. targets: as in aoe_lora. */
void tiny_adapters_write(aoe_context *ctx, const char *dir, const char *base, size_t r, const char *targets);
/* Fills the adapters of an open model, including lora_B, with random values. */
void tiny_adapters_fill(aoe_model *m, uint32_t seed);

#endif
