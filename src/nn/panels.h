/* SPDX-License-Identifier: MIT
 * Float64 matmuls and softmax sums of matrices that are stored in panels (kernels.h), for the loss functions. Each
 * function runs on the calling thread, and may be called by a task of a parallel loop. The caller divides the work into
 * calls depending on shapes only.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"

/* Each function calls a kernel of kernels.h: aoei_panels_gemm calls gemm_f64, aoei_panels_row_sums calls row_sums_f64,
 * and so on. kernels.h describes the arguments. */
void aoei_panels_gemm(const aoe_context *ctx, const aoei_gemm_f64 *g);
void aoei_panels_row_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum);
void aoei_panels_column_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum);
void aoei_panels_score_weights(const aoe_context *ctx, const aoei_scores_f64 *b, const double *row_weight,
                               const double *row_log, const double *column_weight, const double *column_log);
/* Adds the softmax sums of a block of scores to the softmax sums max[n] and sum[n] of n rows. m[r] is the maximum score
 * of row r in the block, and s[r] is the sum of exp(score - m[r]) over the row in the block. max[r] and sum[r] are
 * updated so that they include the columns of the block. Before the first call, the caller sets max[n] to -infinity and
 * sum[n] to 0. */
void aoei_panels_add_sums(size_t n, const double *m, const double *s, double *max, double *sum);
