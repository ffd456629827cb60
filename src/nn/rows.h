/* SPDX-License-Identifier: MIT
 * Gathering and scattering rows of matrices. `index` has one entry per row of the smaller matrix.
 */
#ifndef AOEI_NN_ROWS_H
#define AOEI_NN_ROWS_H

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

#define AOEI_NO_ROW UINT32_MAX
/* to[i] = from[index[i]] for every row of `to`; one type. AOEI_NO_ROW gives a row of zeros. */
void aoei_rows_gather(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* Zeroes `to`, then to[index[i]] = from[i]; one type. No index occurs twice. */
void aoei_rows_scatter(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to[index[i]] = from[i]; one type. Other rows are unchanged, and rows with AOEI_NO_ROW are skipped. No index occurs twice. */
void aoei_rows_put(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to[index[i]] += from[i], float32. No index occurs twice. */
void aoei_rows_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);

#endif
