/* SPDX-License-Identifier: MIT
 * The dense layer after the pooling (sentence-transformers' Dense module: weights, optional bias, optional tanh). It is stored
 * in a folder of the model directory that modules.json or aoe.json names, always as float32.
 */
#ifndef AOEI_MODELDIR_DENSE_MODULE_H
#define AOEI_MODELDIR_DENSE_MODULE_H

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"

/* Reads the layer's configuration in DIR/folder into c and opens its weights. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED
 * (use_residual, other activations than Identity and Tanh), AOE_ENOMEM. */
int aoei_dense_open(aoei_encoder_config *c, aoei_safetensors **file, const char *dir, const char *folder, aoe_error *err);
/* Fills f->tensors for the layer's slots from f->dense. Errors: AOE_EFORMAT (missing, or another shape), AOE_EUNSUPPORTED. */
int aoei_dense_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Writes the layer into the existing directory `dir`; does nothing for a model without a dense layer. */
int aoei_dense_write(const aoei_model_contents *m, const char *dir, aoe_error *err);

#endif
