/* SPDX-License-Identifier: MIT
 * Checks that all weights of a model are finite. The whole file is read for it, in one parallel loop over all tensors.
 */
#ifndef AOEI_MODELDIR_WEIGHTS_CHECK_H
#define AOEI_MODELDIR_WEIGHTS_CHECK_H

#include "base/pool.h"
#include "modeldir/safetensors.h"

/* tensors: [n] of F32, F16, BF16 or I8 as stored, NULL where absent. *bad: index of the first tensor that holds NaN, infinity,
 * or in I8 -128 (aoei_int8_check checks the scales); n if there is none. Errors: AOE_ENOMEM. */
int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n, aoe_error *err);

#endif
