/* SPDX-License-Identifier: MIT
 * Reads and writes the module CNN of sentence-transformers: convolutions over the last hidden states of a text, whose outputs
 * are the input of the pooling. Its folder contains cnn_config.json, with the keys in_word_embedding_dimension (or
 * in_embedding_dimension), out_channels, kernel_sizes and optionally stride_sizes, and the tensors convs.N.weight
 * [out_channels, hidden size, kernel size] and convs.N.bias [out_channels]. aoe supports odd kernel sizes and strides of 1,
 * for which the number of token vectors is the number of tokens.
 */
#ifndef AOEI_MODELDIR_CNN_H
#define AOEI_MODELDIR_CNN_H

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"

#define AOEI_CNN_FOLDER "1_CNN" /* folder that aoe writes */

/* Reads the configuration of the module in DIR/folder into c. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOENT, AOE_ENOMEM. */
int aoei_cnn_read(aoei_encoder_config *c, const char *dir, const char *folder, aoe_error *err);
/* Reads the configuration of the module in DIR/settings->cnn into c, and opens its weights in f. Does nothing if the model has
 * no such module. Errors: as for aoei_cnn_read; AOE_EUNSUPPORTED if the encoder or the pooling does not support the module. */
int aoei_cnn_open(aoei_encoder_config *c, aoei_model_files *f, const char *dir, const aoei_settings *settings, aoe_error *err);
/* Finds the weights of the module in f and sets the elements of f->tensors for them. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED. */
int aoei_cnn_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Checks that a model with this configuration and pooling may have convolutions. dir: directory for messages. Errors:
 * AOE_EUNSUPPORTED. */
int aoei_cnn_check(const aoei_encoder_config *c, aoe_pooling pooling, const char *dir, aoe_error *err);
/* If the model has convolutions, writes the folder of the module into the directory `dir`. */
int aoei_cnn_write(const aoei_model_contents *m, const char *dir, aoe_error *err);

#endif
