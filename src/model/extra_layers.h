/* SPDX-License-Identifier: MIT
 * Adds a layer after the pooling of an open model. The layer is a dense layer or a flow, which are saved with the
 * model, or the head of a training method, such as the classifier of SBERT. A head is saved only in checkpoints.
 */
#pragma once

#include "model/model.h"
#include "nn/flow.h"

/* Adds a dense layer with `out` outputs to a model without modules after the pooling. If with_tanh is 1, tanh is
 * applied to the outputs. weight: [out, hidden]; bias: [out]; both are copied. If both are NULL, they are initialized
 * with random values from `seed`. Only one layer can be added to a model, so only one function of this file may be
 * called, and only once per model. Errors: AOE_ENOMEM. */
int aoei_model_add_dense(aoe_model *m, size_t out, int with_tanh, const float *weight, const float *bias, uint64_t seed,
                         aoe_error *err);
/* Adds a normalizing flow (nn/flow.h) to a model without modules after the pooling. parameters: [aoei_flow_parameters],
 * copied as float32. shape->dims: embedding size. Errors: AOE_ENOMEM. */
int aoei_model_add_flow(aoe_model *m, const aoei_flow_shape *shape, const double *parameters, aoe_error *err);
/* Adds n modules to a model without modules after the pooling, which saved models contain. modules: [n], copied, at
 * most AOEI_MAX_MODULES dense layers and layer norms. They are initialized with random values from `seed`. Errors:
 * AOE_ENOMEM. */
int aoei_model_add_modules(aoe_model *m, const aoei_module *modules, size_t n, uint64_t seed, aoe_error *err);
/* Makes the word embeddings of a model that consists of word embeddings trainable. bigrams: if it is not 0, a table of
 * bigrams (nn/bigrams.h) with this number of rows is added, which must be a power of two; its values are 0. Errors:
 * AOE_ENOMEM. */
int aoei_model_train_words(aoe_model *m, size_t bigrams, aoe_error *err);
/* Adds the head of a training method. The head has a weight of shape [rows, cols] and a bias of shape [1, rows]. Both
 * are initialized with random values from `seed`. Errors: AOE_ENOMEM. */
int aoei_model_add_head(aoe_model *m, size_t rows, size_t cols, uint64_t seed, aoe_error *err);
/* Adds a head with these start weights. weight: [rows, cols]; bias: [rows]; both are copied. Errors: AOE_ENOMEM. */
int aoei_model_add_linear_head(aoe_model *m, size_t rows, size_t cols, const float *weight, const float *bias,
                               aoe_error *err);
/* Adds a projection: modules that follow the embeddings in training, at most AOEI_MAX_PROJECTION of them, whose weights
 * are initialized with random values from `seed`. modules: [n], copied. of_features: 1: they are linear layers that are
 * applied to the features of pairs of embeddings instead. It may be added in addition to a head. Errors: AOE_ENOMEM. */
int aoei_model_add_projection(aoe_model *m, const aoei_module *modules, size_t n, int of_features, uint64_t seed,
                              aoe_error *err);
/* Adds a head that consists of one weight with the given value, such as a learned temperature. Its bias is 0. Errors:
 * AOE_ENOMEM. */
int aoei_model_add_constant_head(aoe_model *m, float value, aoe_error *err);
/* Adds n convolutions (nn/convolution.h) with these kernel sizes and `channels` outputs between the encoder and the
 * pooling. They are initialized with random values from `seed`, and become the module CNN of the saved model. The model
 * must have no convolutions and no modules after the pooling. Errors: AOE_EUNSUPPORTED (aoei_token_module_check),
 * AOE_ENOMEM. */
int aoei_model_add_convolutions(aoe_model *m, const size_t *kernels, size_t n, size_t channels, uint64_t seed,
                                aoe_error *err);

/* Adds an LSTM (nn/lstm.h) with one layer, two directions and `out` outputs per direction between the encoder and the
 * pooling. It is initialized with random values from `seed`, and becomes the module LSTM of the saved model. The model
 * must have no such module and no modules after the pooling. Errors: AOE_EUNSUPPORTED (aoei_token_module_check),
 * AOE_ENOMEM. */
int aoei_model_add_lstm(aoe_model *m, size_t out, uint64_t seed, aoe_error *err);
