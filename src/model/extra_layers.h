/* SPDX-License-Identifier: MIT
 * Adds a layer after the pooling of an open model: a dense layer, which is saved with the model, or the head of a training
 * method (such as the classifier of SBERT), which is saved only in checkpoints.
 */
#ifndef AOEI_MODEL_EXTRA_LAYERS_H
#define AOEI_MODEL_EXTRA_LAYERS_H

#include "model/model.h"

/* Adds a dense layer with `out` outputs to a model without a dense layer. with_tanh: 1 applies tanh to the output. weight:
 * [out, hidden], bias: [out]; both are copied. If they are NULL, both are initialized from `seed`. A model can get only one
 * layer: the functions of this file can be called only once per model. Errors: AOE_ENOMEM. */
int aoei_model_add_dense(aoe_model *m, size_t out, int with_tanh, const float *weight, const float *bias, uint64_t seed,
                         aoe_error *err);
/* Adds the head of a training method: weight [rows, cols] and bias [1, rows], initialized from `seed`. Errors: AOE_ENOMEM. */
int aoei_model_add_head(aoe_model *m, size_t rows, size_t cols, uint64_t seed, aoe_error *err);

#endif
