/* SPDX-License-Identifier: MIT
 * Reads and writes the module WeightedLayerPooling of sentence-transformers: the weights of the hidden states whose
 * weighted mean is the input of the pooling. Its folder contains config.json, with the keys word_embedding_dimension
 * (or embedding_dimension), num_hidden_layers and layer_start, and the tensor layer_weights [num_hidden_layers + 1 -
 * layer_start].
 */
#pragma once

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"

#define AOEI_LAYER_POOLING_FOLDER "1_WeightedLayerPooling" /* folder that aoe writes */

/* Reads the configuration of the module in DIR/folder into c, and opens its weights in f. folder: NULL: the model has
 * no such module. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (the encoder is not a transformer), AOE_ENOENT, AOE_ENOMEM. */
int aoei_layer_pooling_open(aoei_encoder_config *c, aoei_model_files *f, aoei_model_dir dir, const char *folder,
                            aoe_error *err);
/* Finds the layer weights in f and sets the element of f->tensors for them. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED. */
int aoei_layer_pooling_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Returns the number of layer weights of the module, or 0 if a model with this pooling needs no module. For a pooling
 * that is a mean over two layers, the module has a weight for each hidden state from the first to the second of
 * them. */
size_t aoei_layer_pooling_states(const aoei_encoder_config *c, aoe_pooling pooling);
/* If the model has layer weights or its pooling is a mean over two layers, writes the folder of the module into the
 * directory `dir`. For an adapter directory, nothing is written for such a pooling, which aoe.json describes. */
int aoei_layer_pooling_write(const aoei_model_contents *m, const char *dir, aoe_error *err);
