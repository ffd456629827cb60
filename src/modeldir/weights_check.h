/* SPDX-License-Identifier: MIT
 * Checks that all weights of a model are finite. The check is one parallel loop over all tensors and reads the complete files.
 */
#ifndef AOEI_MODELDIR_WEIGHTS_CHECK_H
#define AOEI_MODELDIR_WEIGHTS_CHECK_H

#include "base/pool.h"
#include "modeldir/safetensors.h"

/* Sets *bad to the index of the first tensor that contains an invalid value, or to n if there is no such tensor. NaN and
 * infinity are invalid; in an I8 tensor, -128 is invalid. tensors: [n] tensors of the type F32, F16, BF16 or I8; NULL elements
 * are skipped. The scales of I8 tensors are not checked; aoei_int8_check checks them. Errors: AOE_ENOMEM. */
int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n, aoe_error *err);

#endif
