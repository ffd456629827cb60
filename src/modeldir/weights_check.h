/* SPDX-License-Identifier: MIT
 * Checks that all weights of a model are finite. This reads the complete file, in one parallel loop over all tensors.
 */
#ifndef AOEI_MODELDIR_WEIGHTS_CHECK_H
#define AOEI_MODELDIR_WEIGHTS_CHECK_H

#include "base/pool.h"
#include "modeldir/safetensors.h"

/* tensors: [n], of type F32, F16, BF16 or I8; NULL entries are skipped. Sets *bad to the index of the first tensor that
 * contains NaN, infinity or, in I8, -128; to n if there is none. aoei_int8_check checks the scales. Errors: AOE_ENOMEM. */
int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n, aoe_error *err);

#endif
