/* SPDX-License-Identifier: MIT
 * Checks that all weights of a model are finite. The check is one parallel loop over all tensors and reads the complete
 * files.
 */
#pragma once

#include "base/pool.h"
#include "modeldir/safetensors.h"

/* Sets *bad to the index of the first tensor that contains an invalid value, or to n if there is no such tensor. NaN
 * and infinity are invalid; in an I8 tensor, -128 is invalid, and in an I5 tensor, -16. tensors: [n] tensors of the
 * type F32, F16, BF16, I8 or I5; NULL elements are skipped. The scales of I8 and I5 tensors are not checked;
 * aoei_int8_check and aoei_int5_check check them.
 * The parallel loop also calls other_work(arg) once, so that slow serial work of the caller overlaps with the check.
 * other_work is NULL if there is no such work. If aoei_weights_check fails, other_work is not called. Errors:
 * AOE_ENOMEM. */
int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n,
                       void (*other_work)(void *arg), void *arg, aoe_error *err);
