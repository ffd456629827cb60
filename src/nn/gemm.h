/* SPDX-License-Identifier: MIT
 * Matrix multiplication on all threads of a context. The division into tasks is a grid of output blocks that depends only on
 * the shapes. Every output element keeps the accumulation order that kernels.h defines.
 */
#ifndef AOEI_NN_GEMM_H
#define AOEI_NN_GEMM_H

#include "base/context.h"
#include "nn/tensor.h"

/* C = epilogue(A B), as defined by aoei_gemm_args. A and B have type `type`. M and N may be 0. */
void aoei_gemm(const aoe_context *ctx, aoei_dtype type, const aoei_gemm_args *g);
/* Packs all of t, or its transpose if `transposed` is 1, as the right-hand side of matmuls of type `type`. t may have any type.
 * If the type of t is neither float32 nor `type`, t must have at most AOEI_CONVERTED_SIDE rows and columns. */
void aoei_gemm_pack(const aoe_context *ctx, aoei_dtype type, void *packed, aoei_tensor t, int transposed);
#define AOEI_CONVERTED_SIDE (AOEI_WORKER_SCRATCH / AOEI_GEMM_PANEL)

/* Multiplies A by B, where B is b or, if `transposed` is 1, the transpose of b. A has the data type `type`. *g describes all
 * operands except B. If g->packed is NULL and there is a workspace (of aoei_linear_workspace bytes), B is packed into it in
 * parallel if A has enough rows to make this worthwhile, or if B must be converted. */
void aoei_multiply(const aoe_context *ctx, aoei_dtype type, aoei_gemm_args *g, aoei_tensor b, int transposed,
                   aoei_tensor workspace);

/* Returns the size in bytes of the packed form of a weight [out, in] for inputs x of data type `type`. The size is a multiple
 * of 64. */
size_t aoei_weight_packed_size(const aoe_context *ctx, aoei_dtype type, size_t out, size_t in);
/* Packs a weight for x of `type` into `memory` (64-byte aligned), which the caller owns and frees after the last use of the
 * weight. */
void aoei_weight_pack(const aoe_context *ctx, aoei_dtype type, aoei_tensor *w, void *memory);

#endif
