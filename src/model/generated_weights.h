/* SPDX-License-Identifier: MIT
 * Initializes the weights that the files of the model do not contain: a new masked-LM head, or new adapters.
 */
#ifndef AOEI_MODEL_GENERATED_WEIGHTS_H
#define AOEI_MODEL_GENERATED_WEIGHTS_H

#include "model/model.h"

/* Allocates every weight that has no tensor in m->files, and initializes it with random values from `seed`. Errors: AOE_ENOMEM.
 */
int aoei_weights_generate(aoe_model *m, uint64_t seed, aoe_error *err);

#endif
