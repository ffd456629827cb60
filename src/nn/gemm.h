/* SPDX-License-Identifier: MIT
 * Matrix multiplication on all threads of a context. The output is divided into blocks, whose sizes do not depend on
 * the number of threads; a task computes one block. Every element of the output is summed in the order that kernels.h
 * defines.
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Computes C = epilogue(A B) as aoei_gemm_args describes. A and B have the data type `type`: AOEI_F32, AOEI_BF16 or
 * AOEI_I8. M and N may be 0. */
void aoei_gemm(const aoe_context *ctx, aoei_dtype type, const aoei_gemm_args *g);
/* Packs t, or the transpose of t if `transposed` is 1, as the right-hand side B of matmuls of data type `type`. t may
 * have any type. If the type of t is neither float32 nor `type`, t must have at most AOEI_CONVERTED_SIDE rows and
 * columns. If `type` is AOEI_I8, t must be int8 and `transposed` 1. */
void aoei_gemm_pack(const aoe_context *ctx, aoei_dtype type, void *packed, aoei_tensor t, int transposed);
#define AOEI_CONVERTED_SIDE (AOEI_WORKER_SCRATCH / AOEI_GEMM_PANEL)

/* Multiplies A by B. B is b or, if `transposed` is 1, the transpose of b. A has the data type `type`. *g describes all
 * operands except B. workspace is absent or has aoei_linear_workspace bytes. If there is a workspace and g->packed is
 * NULL, the function packs B into the workspace on all threads in two cases: A has at least 64 rows, or the type of b
 * is not `type`. Without a workspace, b must have the type `type`, or g->packed must be set. If `type` is AOEI_I8,
 * g->packed must be set. */
void aoei_multiply(const aoe_context *ctx, aoei_dtype type, aoei_gemm_args *g, aoei_tensor b, int transposed,
                   aoei_tensor workspace);

/* Returns the size in bytes of the packed form of a weight [out, in] for inputs of data type `type`. The size is a
 * multiple of
 * 64. */
size_t aoei_weight_packed_size(const aoe_context *ctx, aoei_dtype type, size_t out, size_t in);
/* Packs the weight *w into `memory`, which has aoei_weight_packed_size bytes, for inputs of data type `type`. If `type`
 * is AOEI_I8, w must be int8. Sets w->packed and w->packed_type. memory is aligned to 64 bytes. The caller owns it and
 * frees it after the last use of the weight. */
void aoei_weight_pack(const aoe_context *ctx, aoei_dtype type, aoei_tensor *w, void *memory);
