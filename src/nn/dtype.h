/* SPDX-License-Identifier: MIT
 * The data type in which matmuls are computed. It depends on the requested type and on the instruction set of the CPU.
 * The request is always an aoe_dtype, from the option of the caller to the open model. aoei_dtype is another concept:
 * the type of the elements of a tensor, or of a packed copy of a weight, in memory. A request for int8 gives tensors of
 * several types.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"

/* Returns the data type of activations and of matmuls if `wanted` is requested. For AOE_DTYPE_AUTO, this is AOEI_BF16
 * if ctx uses bf16 instructions (AVX512-BF16, AMX or FEAT_BF16), otherwise AOEI_F32. For AOE_DTYPE_INT8, it is the type
 * for AOE_DTYPE_AUTO, in which everything except the linear layers of transformer layers is computed. */
aoei_dtype aoei_context_type(const aoe_context *ctx, aoe_dtype wanted);
/* Returns the data type in use, which is never AOE_DTYPE_AUTO, if `wanted` was requested and `type` is the type of the
 * activations. */
aoe_dtype aoei_dtype_in_use(aoe_dtype wanted, aoei_dtype type);
