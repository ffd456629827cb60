/* SPDX-License-Identifier: MIT
 * Reads and writes the modules CNN and LSTM of sentence-transformers, which compute new token vectors from the last
 * hidden states of a text. The new token vectors are the input of the pooling. A model has at most one of these
 * modules.
 *
 * CNN: cnn_config.json contains in_word_embedding_dimension (or in_embedding_dimension), out_channels, kernel_sizes and
 * optionally stride_sizes. The tensors are convs.N.weight [out_channels, hidden size, kernel size] and convs.N.bias
 * [out_channels]. aoe supports odd kernel sizes and strides of 1, for which the number of token vectors is the number
 * of tokens.
 *
 * LSTM: lstm_config.json contains word_embedding_dimension (or embedding_dimension), hidden_dim, and optionally
 * num_layers, dropout and bidirectional. The tensors are the same as in nn.LSTM of PyTorch with the prefix "encoder.".
 */
#pragma once

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"

/* Returns the name of the type of a module, such as "CNN", or NULL if `kind` is AOEI_TOKEN_MODULE_NONE. */
const char *aoei_token_module_name(aoei_token_module kind);
/* Returns the kind of module with this type name, or AOEI_TOKEN_MODULE_NONE. */
aoei_token_module aoei_token_module_find(const char *name);
/* Returns the name of the configuration file of a module, such as "cnn_config.json". */
const char *aoei_token_module_file(aoei_token_module kind);
/* Returns the name of the folder to which a module is written, such as "1_CNN". */
const char *aoei_token_module_folder(aoei_token_module kind);

/* Reads the configuration of the module in DIR/folder into c. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOENT,
 * AOE_ENOMEM. */
int aoei_token_module_read(aoei_encoder_config *c, aoei_token_module kind, aoei_model_dir dir, const char *folder,
                           aoe_error *err);
/* Reads the configuration of the module that `settings` names into c, and opens its weights in f. Does nothing if the
 * model has no such module. Errors: as for aoei_token_module_read; AOE_EUNSUPPORTED if the encoder or the pooling does
 * not support it. */
int aoei_token_module_open(aoei_encoder_config *c, aoei_model_files *f, aoei_model_dir dir,
                           const aoei_settings *settings, aoe_error *err);
/* Finds the weights of the module in f and sets the elements of f->tensors for them. Errors: AOE_EFORMAT,
 * AOE_EUNSUPPORTED. */
int aoei_token_module_tensors(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Checks that a model with this configuration and pooling may have such a module. dir: directory for messages. Errors:
 * AOE_EUNSUPPORTED. */
int aoei_token_module_check(const aoei_encoder_config *c, aoei_token_module kind, aoe_pooling pooling, const char *dir,
                            aoe_error *err);
/* If the model has such a module, writes its folder into the directory `dir`. */
int aoei_token_module_write(const aoei_model_contents *m, const char *dir, aoe_error *err);
