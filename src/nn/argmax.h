/* SPDX-License-Identifier: MIT
 * The column with the largest element of each row of a matrix.
 */
#pragma once

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

/* Sets best[i] to the first of the first `cols` columns whose element is the largest of row i of x [N, >= cols], a
 * float32 matrix. NaN is never the largest element; a row of NaN gives 0. cols must be positive. */
void aoei_argmax_rows(const aoe_context *ctx, aoei_tensor x, size_t cols, int32_t *best);
