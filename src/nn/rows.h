/* SPDX-License-Identifier: MIT
 * Gathers and scatters rows of matrices. index[i] is a row of the larger matrix, for each row i of the smaller matrix. The
 * matrices of a call have one type.
 */
#ifndef AOEI_NN_ROWS_H
#define AOEI_NN_ROWS_H

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

#define AOEI_NO_ROW UINT32_MAX /* an index that refers to no row */
/* to[i] = from[index[i]] for every row of `to`. The index AOEI_NO_ROW gives a row of zeros. */
void aoei_rows_gather(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* Sets `to` to 0, then to[index[i]] = from[i]. Rows with the index AOEI_NO_ROW are skipped. No other index occurs twice. */
void aoei_rows_scatter(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to[index[i]] = from[i]; other rows of `to` are unchanged. Rows with the index AOEI_NO_ROW are skipped. No other index occurs
 * twice. */
void aoei_rows_put(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to[index[i]] += from[i], float32 only. No index occurs twice. */
void aoei_rows_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);

#endif
