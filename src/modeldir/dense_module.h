/* SPDX-License-Identifier: MIT
 * Reads and writes the dense layer after the pooling, which is the Dense module of sentence-transformers. The layer has a
 * weight, an optional bias and an optional tanh. The layer is stored in a folder of the model directory. modules.json or
 * aoe.json contains the name of the folder. aoe always writes the weight and the bias as float32.
 */
#ifndef AOEI_MODELDIR_DENSE_MODULE_H
#define AOEI_MODELDIR_DENSE_MODULE_H

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"

/* Reads the configuration of the layer in DIR/folder into c. Opens the weights of the layer as *file, which the caller owns.
 * Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (use_residual, or an activation other than Identity and Tanh), AOE_ENOMEM. */
int aoei_dense_open(aoei_encoder_config *c, aoei_safetensors **file, const char *dir, const char *folder, aoe_error *err);
/* Finds the weight and the bias of the layer in the file f->dense and sets the elements of f->tensors for them. If the model
 * has no dense layer, does nothing. Errors: AOE_EFORMAT (missing tensor or wrong shape), AOE_EUNSUPPORTED (data type). */
int aoei_dense_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Writes the folder of the layer into the directory `dir`, which must exist. If the model has no dense layer, does nothing. */
int aoei_dense_write(const aoei_model_contents *m, const char *dir, aoe_error *err);

#endif
