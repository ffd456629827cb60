/* SPDX-License-Identifier: MIT
 * Float64 products and softmax sums of matrices in panels (kernels.h), for the
 * objectives. Each call runs on the calling thread, which may be a task of a
 * parallel loop: the caller splits the work, by shapes alone.
 */
#ifndef AOEI_NN_PANELS_H
#define AOEI_NN_PANELS_H

#include "base/context.h"
#include "kernels/kernels.h"

/* The meaning of each is the kernel's of that name. */
void aoei_panels_gemm(const aoe_context *ctx, const aoei_gemm_f64 *g);
void aoei_panels_row_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum);
void aoei_panels_column_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum);
void aoei_panels_score_weights(const aoe_context *ctx, const aoei_scores_f64 *b, const double *row_weight,
                               const double *row_log, const double *column_weight, const double *column_log);
/* Joins max[n] and sum[n], the sums of n rows so far (-infinity and 0 at first), with those of a further block, m[n] and s[n].
 */
void aoei_panels_add_sums(size_t n, const double *m, const double *s, double *max, double *sum);

#endif
