/* SPDX-License-Identifier: MIT
 * Finds the tensor of each weight in the files of a model, and checks shapes, types and values.
 */
#ifndef AOEI_MODELDIR_WEIGHT_TENSORS_H
#define AOEI_MODELDIR_WEIGHT_TENSORS_H

#include "base/pool.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"

/* Sets f->tensors, prefix, storage and stored_bytes for the configuration c. Shapes and data types are checked. The tensors
 * of weights that the caller initializes are NULL: new adapters, and a masked-LM head if the files contain no tensor of it.
 * Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_weight_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Checks that all values are finite, on all threads of `pool`. Errors: AOE_ENUMERIC (names tensor and element), AOE_EFORMAT
 * (-128 in an I8 tensor), AOE_ENOMEM. */
int aoei_weight_tensors_check_values(const aoei_model_files *f, const aoei_encoder_config *c, aoei_pool *pool, aoe_error *err);
/* The encoder does not use the pooler of BERT, but saving a model copies the tensors of the pooler. If t is a tensor of the
 * pooler, returns the name of the copy (without prefix, borrowed from t), otherwise NULL. */
const char *aoei_copied_tensor_name(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t);

#endif
