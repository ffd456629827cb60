/* SPDX-License-Identifier: MIT
 * Gathers and scatters rows of matrices. Each call has a larger and a smaller matrix of one type. index[i] is the row
 * of the larger matrix that corresponds to row i of the smaller matrix.
 */
#pragma once

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

#define AOEI_NO_ROW UINT32_MAX /* index of a row that does not exist */
/* Copies row index[i] of `from` to row i of `to`, for all rows i of `to`. If index[i] is AOEI_NO_ROW, row i is set to
 * 0. */
void aoei_rows_gather(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* Sets `to` to 0, then copies row i of `from` to row index[i] of `to`, for all rows i of `from`. If index[i] is
 * AOEI_NO_ROW, row i is skipped. Every other index occurs at most once. */
void aoei_rows_scatter(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* Copies row i of `from` to row index[i] of `to`, for all rows i of `from`. Other rows of `to` are unchanged. If
 * index[i] is AOEI_NO_ROW, row i is skipped. Every other index occurs at most once. */
void aoei_rows_put(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* Adds row i of `from` to row index[i] of `to`, for all rows i of `from`. The tensors are float32. Every index occurs
 * at most once. */
void aoei_rows_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* Sets the rows index[i] of `to` to 0, for all i below n. */
void aoei_rows_clear(const aoe_context *ctx, aoei_tensor to, const uint32_t *index, size_t n);
