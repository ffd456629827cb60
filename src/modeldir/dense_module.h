/* SPDX-License-Identifier: MIT
 * What comes behind a model's pooling: the dense layer (sentence-transformers' Dense
 * module: weights, bias or none, tanh or nothing), kept in a folder of the model
 * directory that modules.json or aoe.json names, always float32; and the head that a
 * training method has for itself, which no directory of a finished model holds.
 */
#ifndef AOEI_MODELDIR_DENSE_MODULE_H
#define AOEI_MODELDIR_DENSE_MODULE_H

#include "model/model.h"

/* The folder that the dense layer of a model with these settings is written to; static. */
const char *aoei_dense_folder(const aoei_settings *s);

/* Reads the configuration of the layer in DIR/folder into m->config and opens its weights. Errors: AOE_EFORMAT,
 * AOE_EUNSUPPORTED (residual, other activations). */
int aoei_dense_open(aoe_model *m, const char *dir, const char *folder, aoe_error *err);
/* Then, once m->stored is there: finds its tensors. Errors: AOE_EFORMAT (missing, of another shape). */
int aoei_dense_find(aoe_model *m, aoe_error *err);
/* Writes the model's layer into DIR, which exists; nothing when there is none. */
int aoei_dense_save(const aoe_model *m, const char *dir, aoe_error *err);

/* Gives an open model that has none a dense layer [out, D] with a bias. weight: [out, D], bias: [out], copied; NULL: new ones
 * from `seed`. At most one of these two calls adds to a model. */
int aoei_model_add_dense(aoe_model *m, size_t out, int with_tanh, const float *weight, const float *bias, uint64_t seed,
                         aoe_error *err);
/* Gives an open model the head of a training method, [rows, cols] and [1, rows], new from `seed`. */
int aoei_model_add_head(aoe_model *m, size_t rows, size_t cols, uint64_t seed, aoe_error *err);

#endif
