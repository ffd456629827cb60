/* SPDX-License-Identifier: MIT
 * Initial values of weights that no file holds: a new masked-LM head, or new adapters.
 */
#ifndef AOEI_MODEL_GENERATED_WEIGHTS_H
#define AOEI_MODEL_GENERATED_WEIGHTS_H

#include "model/model.h"

/* Initializes every weight that has no tensor in m->files, from `seed`. Errors: AOE_ENOMEM. */
int aoei_weights_generate(aoe_model *m, uint64_t seed, aoe_error *err);

#endif
