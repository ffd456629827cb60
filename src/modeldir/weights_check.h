/* SPDX-License-Identifier: MIT
 * Checks that all weights of a model are finite, in one parallel loop over all tensors. This reads the complete files.
 */
#ifndef AOEI_MODELDIR_WEIGHTS_CHECK_H
#define AOEI_MODELDIR_WEIGHTS_CHECK_H

#include "base/pool.h"
#include "modeldir/safetensors.h"

/* Sets *bad to the index of the first tensor that contains NaN, infinity or, if its type is I8, -128. If there is no such
 * tensor, sets *bad to n. tensors: [n] of type F32, F16, BF16 or I8; NULL elements are skipped. The scales of I8 tensors are
 * not checked (aoei_int8_check checks them). Errors: AOE_ENOMEM. */
int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n, aoe_error *err);

#endif
