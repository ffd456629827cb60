/* SPDX-License-Identifier: MIT
 * Functions that aoe_init, aoe_convert, aoe_average, aoe_whiten and aoe_word_vectors use to write a new model
 * directory. aoei_check_new_model, aoei_convert_check and aoei_check_base_kept check the arguments. aoei_convert_write
 * saves the model and returns a summary of the sizes.
 */
#pragma once

#include "aoe_convert.h"
#include "aoe.h"
#include "model/save.h"

/* Checks the storage type and the output directory of a new model. Errors: AOE_EARG (invalid `storage`), AOE_EEXIST
 * (`to` contains a model and `force` is 0), AOE_EIO (`to` is not writable). */
int aoei_check_new_model(const char *to, aoe_storage storage, int force, aoe_error *err);
/* Returns AOE_EARG if m was opened from an adapter directory and the base model is in the directory `to` or in a folder
 * inside `to`. Writing the output would replace the base model. */
int aoei_check_base_kept(const aoe_model *m, const char *to, aoe_error *err);
/* Checks the options, the input directory `from` and the output directory `to`, without reading the input. Errors: see
 * aoei_check_new_model; AOE_EARG (`from` and `to` are the same directory and o->force is 0); AOE_EARG or AOE_ENOENT
 * (o->merge is 1, but `from` is not an adapter directory). */
int aoei_convert_check(const char *from, const char *to, const aoe_convert_options *o, aoe_error *err);
/* Saves `contents` in the directory `to`. m: input model, which may have more layers than `contents`. If `result` is
 * not NULL, *result is set to the storage types and the sizes of the input and of the output. If the weights are stored
 * as int8, logs a warning that only aoe can read them. */
int aoei_convert_write(const aoe_model *m, const aoei_model_contents *contents, const char *to,
                       aoe_convert_result *result, aoe_error *err);
