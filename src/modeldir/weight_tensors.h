/* SPDX-License-Identifier: MIT
 * Finds the tensor of each weight in the files of a model, and checks the shapes, data types and values of the tensors.
 */
#pragma once

#include "base/pool.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"

/* Sets f->tensors, f->prefix, f->storage and f->stored_bytes for the configuration c. Checks shapes and data types. The
 * elements of f->tensors are NULL for weights that the caller initializes. These are new adapters, and a masked-LM head
 * if the files contain no tensor of the head. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_weight_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
/* Checks on all threads of `pool` that all values are finite. Calls other_work(arg) in the same parallel loop, see
 * aoei_weights_check. Errors: AOE_ENUMERIC (a value is NaN or infinite; the message names the tensor and the element),
 * AOE_EFORMAT (-128 in an I8 tensor, or -16 in an int5 tensor), AOE_ENOMEM. */
int aoei_weight_tensors_check_values(const aoei_model_files *f, const aoei_encoder_config *c, aoei_pool *pool,
                                     void (*other_work)(void *arg), void *arg, aoe_error *err);
/* The encoder does not use the pooler of BERT, but the tensors of the pooler are copied when a model is saved. If t is
 * a tensor of the pooler, returns the name of the copy. This is the name of t without the prefix, borrowed from t. For
 * all other tensors, returns NULL. */
const char *aoei_copied_tensor_name(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t);
