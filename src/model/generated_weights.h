/* SPDX-License-Identifier: MIT
 * Initializes the weights that are not in the files of a model, such as a new masked-LM head or new adapters.
 */
#pragma once

#include "model/model.h"

/* Allocates each weight of the configuration that has no tensor in m->files, and initializes the weight with random
 * values from `seed`. Errors: AOE_ENOMEM.
 */
int aoei_weights_generate(aoe_model *m, uint64_t seed, aoe_error *err);
