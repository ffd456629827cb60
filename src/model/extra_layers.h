/* SPDX-License-Identifier: MIT
 * Layers added after the pooling of an open model: a dense layer, which is saved with the model, and the head of a training
 * method, which only checkpoints hold.
 */
#ifndef AOEI_MODEL_EXTRA_LAYERS_H
#define AOEI_MODEL_EXTRA_LAYERS_H

#include "model/model.h"

/* Gives a model without a dense layer one of shape [out, hidden] with a bias. weight: [out, hidden], bias: [out], both copied;
 * NULL: initialized from `seed`. Only one of these two functions can be called for a model, once. Errors: AOE_ENOMEM. */
int aoei_model_add_dense(aoe_model *m, size_t out, int with_tanh, const float *weight, const float *bias, uint64_t seed,
                         aoe_error *err);
/* Gives a model the head of a training method: weight [rows, cols] and bias [1, rows], initialized from `seed`. Errors:
 * AOE_ENOMEM. */
int aoei_model_add_head(aoe_model *m, size_t rows, size_t cols, uint64_t seed, aoe_error *err);

#endif
