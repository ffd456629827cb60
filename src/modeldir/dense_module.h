/* SPDX-License-Identifier: MIT
 * Reads and writes the dense layer after the pooling (sentence-transformers' Dense module: weight, optional bias, optional
 * tanh). It is stored in a folder of the model directory that modules.json or aoe.json names. aoe always writes it as float32.
 */
#ifndef AOEI_MODELDIR_DENSE_MODULE_H
#define AOEI_MODELDIR_DENSE_MODULE_H

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"

/* Reads the layer's configuration in DIR/folder into c and opens its weights as *file, owned by the caller. Errors:
 * AOE_EFORMAT, AOE_EUNSUPPORTED (use_residual, other activations than Identity and Tanh), AOE_ENOMEM. */
int aoei_dense_open(aoei_encoder_config *c, aoei_safetensors **file, const char *dir, const char *folder, aoe_error *err);
/* Sets the elements of f->tensors for the weight and bias of the layer, from the file f->dense; does nothing for a model
 * without a dense layer. Errors: AOE_EFORMAT (missing tensor or wrong shape), AOE_EUNSUPPORTED (data type). */
int aoei_dense_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Writes the layer into the existing directory `dir`; does nothing for a model without a dense layer. */
int aoei_dense_write(const aoei_model_contents *m, const char *dir, aoe_error *err);

#endif
