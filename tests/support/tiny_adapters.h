/* SPDX-License-Identifier: MIT
 * Directories of adapters for tests: of a tiny model, with random values in both
 * matrices, as if they had been trained.
 */
#ifndef AOE_TESTS_TINY_ADAPTERS_H
#define AOE_TESTS_TINY_ADAPTERS_H

#include "aoe.h"
#include "model/model.h"

/* dir: adapters of rank r for the model in base. targets: as in aoe_lora. */
void tiny_adapters_write(aoe_context *ctx, const char *dir, const char *base, size_t r, const char *targets);
/* Adapters of an open model, lora_B too, become random. */
void tiny_adapters_fill(aoe_model *m, uint32_t seed);

#endif
