/* SPDX-License-Identifier: MIT
 * Are all weights of a model finite (int8: in range)? The whole file has to be read for it, so
 * it is one parallel loop over all tensors.
 */
#ifndef AOEI_MODELDIR_WEIGHTS_CHECK_H
#define AOEI_MODELDIR_WEIGHTS_CHECK_H

#include "base/pool.h"
#include "modeldir/safetensors.h"

/* tensors: [n] of F32, F16, BF16 or I8 as stored, NULL where absent. *bad is the first that holds NaN or infinity, or -128 in
 * I8 (aoei_int8_check looks at the scales), or n.
 * beside(arg, 0, worker) runs in the same loop, first: work that does not split. AOE_ENOMEM: nothing was run. */
int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n, aoei_task_fn beside,
                       void *arg, aoe_error *err);

#endif
