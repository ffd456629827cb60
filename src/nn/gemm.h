/* SPDX-License-Identifier: MIT
 * One matrix product on all threads of a context. The split is a grid over the
 * output that depends on shapes alone; every element is still the one chain
 * that kernels.h promises.
 */
#ifndef AOEI_NN_GEMM_H
#define AOEI_NN_GEMM_H

#include "nn/context.h"

/* Same meaning as the kernel's, for A and B of type `type`; M or N may be 0. */
void aoei_gemm(const aoe_context *ctx, aoei_dtype type, const aoei_product *g);
/* Packs the whole of B[K,N] of type b_type for products of type `type`. */
void aoei_gemm_pack(const aoe_context *ctx, aoei_dtype type, void *packed, const void *b, aoei_dtype b_type, size_t b_row,
                    size_t b_col, size_t K, size_t N);

#endif
