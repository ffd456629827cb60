/* SPDX-License-Identifier: MIT
 * Functions shared by aoe_convert, aoe_average, aoe_whiten and aoe_word_vectors, which write a new model directory: checks
 * before the input is read, and saving with a summary of the sizes.
 */
#ifndef AOEI_CREATE_CONVERT_H
#define AOEI_CREATE_CONVERT_H

#include "aoe_train.h"
#include "aoe.h"
#include "model/save.h"

/* Checks the type of the new weights and the output directory. Errors: AOE_EARG (invalid storage), AOE_EEXIST (`to` contains
 * a model and force is 0), AOE_EIO (`to` is not writable). */
int aoei_check_new_model(const char *to, aoe_storage storage, int force, aoe_error *err);
/* Fails with AOE_EARG if m consists of adapters and their base model is `to` or inside `to`, so that writing the output would
 * replace the base model. */
int aoei_check_base_kept(const aoe_model *m, const char *to, aoe_error *err);
/* Checks the options, the input path `from` and the output directory `to` without reading the input. Errors: those of
 * aoei_check_new_model; AOE_EARG (input and output are the same and o->force is 0); AOE_EARG or AOE_ENOENT (o->merge is set,
 * but `from` is not a directory of adapters). */
int aoei_convert_check(const char *from, const char *to, const aoe_convert_options *o, aoe_error *err);
/* Saves `contents`, whose configuration is that of the open model m, in the directory `to`, and fills *result, unless result
 * is NULL. Logs a warning if the weights are stored as int8, which only aoe can read. */
int aoei_convert_write(const aoe_model *m, const aoei_model_contents *contents, const char *to, aoe_convert_result *result,
                       aoe_error *err);

#endif
