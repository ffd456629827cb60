/* SPDX-License-Identifier: MIT
 * One matrix product on all threads of a context. The split is a grid over the
 * output that depends on shapes alone; every element is still the one chain
 * that kernels.h promises.
 */
#ifndef AOEI_NN_GEMM_H
#define AOEI_NN_GEMM_H

#include "base/context.h"
#include "nn/tensor.h"

/* Same meaning as the kernel's, for A and B of type `type`; M or N may be 0. */
void aoei_gemm(const aoe_context *ctx, aoei_dtype type, const aoei_product *g);
/* Packs t, or where `transposed` its transpose, whole as the right-hand side of products of type `type`. t is of any type;
 * unless it needs no conversion or is float32, both its sides are at most AOEI_CONVERTED_SIDE. */
void aoei_gemm_pack(const aoe_context *ctx, aoei_dtype type, void *packed, aoei_tensor t, int transposed);
#define AOEI_CONVERTED_SIDE (AOEI_WORKER_SCRATCH / AOEI_GEMM_PANEL)

/* The product of A of type `type` and B = b, or its transpose; g says the rest. B is packed into `workspace`
 * (aoei_linear_workspace, may be absent) by all threads unless g->packed has it, where there are rows enough to repay it or it
 * must be converted. */
void aoei_multiply(const aoe_context *ctx, aoei_dtype type, aoei_product *g, aoei_tensor b, int transposed,
                   aoei_tensor workspace);

/* Size in bytes of the packed form of a weight [out, in] for x of `type`, a multiple of 64. */
size_t aoei_weight_packed_size(const aoe_context *ctx, aoei_dtype type, size_t out, size_t in);
/* Packs a weight for x of `type` into `memory` (64-byte aligned), which the caller owns and keeps as long as the weight. */
void aoei_weight_pack(const aoe_context *ctx, aoei_dtype type, aoei_tensor *w, void *memory);

#endif
