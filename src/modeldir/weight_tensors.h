/* SPDX-License-Identifier: MIT
 * The tensors of a model's files, found and checked for each slot of its configuration.
 */
#ifndef AOEI_MODELDIR_WEIGHT_TENSORS_H
#define AOEI_MODELDIR_WEIGHT_TENSORS_H

#include "base/pool.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"

/* Fills f->tensors, prefix, storage and stored_bytes from the opened files for configuration c: every tensor has the slot's
 * shape and a type that is read. Tensors that do not exist in any file and are initialized by the caller (a masked-LM head of
 * which no tensor exists, new adapters) stay NULL. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_weight_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Checks that all values are finite, on all threads of `pool`. Errors: AOE_ENUMERIC (names tensor and element), AOE_EFORMAT
 * (-128 in an I8 tensor), AOE_ENOMEM. */
int aoei_weight_tensors_check_values(const aoei_model_files *f, const aoei_encoder_config *c, aoei_pool *pool, aoe_error *err);
/* Returns the name without prefix under which tensor t, which the encoder does not use, is copied when the model is saved (the
 * pooler of BERT); NULL: t is not copied. */
const char *aoei_copied_tensor(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t);

#endif
