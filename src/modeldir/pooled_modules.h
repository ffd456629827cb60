/* SPDX-License-Identifier: MIT
 * Reads and writes the folders of the modules that follow the pooling: the modules Dense, LayerNorm, Dropout and
 * Normalize of sentence-transformers, and the module Flow, which only aoe has. Each module is stored in a folder of the
 * model directory. modules.json or aoe.json contains the list of the folders (aoei_settings.modules). aoe always writes
 * the weights as float32.
 */
#pragma once

#include <jansson.h>

#include "encoder/config.h"
#include "modeldir/contents.h"
#include "modeldir/model_files.h"

/* Checks the keys module_input_name and module_output_name of a module after the pooling. scores: 1 if the output of
 * the module may be the scores of a cross-encoder. path: path of the file in messages.
 * Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (the module does not replace the vector of the text). */
int aoei_module_check_names(const json_t *config, int scores, const char *path, aoe_error *err);
/* Reads the configurations of the modules in `modules` (see aoei_settings), whose folders are in `dir`, into c. Opens
 * the weights of the modules as f->modules. `modules` may be NULL. Errors: AOE_EFORMAT, AOE_ENOENT, AOE_EUNSUPPORTED
 * (names the file and the key), AOE_ENOMEM. */
int aoei_modules_open(aoei_encoder_config *c, aoei_model_files *f, aoei_model_dir dir, const json_t *modules,
                      aoe_error *err);
/* Finds the weights of the modules in f->modules and sets the elements of f->tensors for them. Errors: AOE_EFORMAT
 * (missing tensor or wrong shape), AOE_EUNSUPPORTED (data type). */
int aoei_modules_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Returns the contents of config.json of a module as a new reference, or NULL if an allocation fails. */
json_t *aoei_module_config_json(const aoei_module *m);
/* Writes the folders of the modules of the model into the directory `dir`, which must exist. */
int aoei_modules_write(const aoei_model_contents *m, const char *dir, aoe_error *err);
