/* SPDX-License-Identifier: MIT
 * Hashes of an open model, which detect that another model, or the same model with other settings, is used. The hashes
 * are not cryptographic (base/hash.h).
 */
#pragma once

#include <stdint.h>

#include "model/model.h"

/* Sets *hash to the hash of the values of all weights. Adapters that are merged into packed weights are not included.
 * Errors: AOE_ENOMEM. */
int aoei_model_hash_weights(const aoe_model *m, uint64_t *hash, aoe_error *err);
/* Sets *hash to a hash of everything that determines the embedding of a text, except the instruction set of the CPU:
 * the weights, the adapters, the configuration, the modules, the tokenizer files, the settings, and the data type of
 * computation. Errors: AOE_ENOMEM. */
int aoei_model_hash_embedding(const aoe_model *m, uint64_t *hash, aoe_error *err);
