/* SPDX-License-Identifier: MIT
 * The data type in which matmuls are computed. It depends on the requested type and on the instruction set of the CPU.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"

/* Returns the data type of activations and of matmuls if `wanted` is requested. For AOE_DTYPE_AUTO, this is AOEI_BF16
 * if ctx uses bf16 instructions (AVX512-BF16, AMX or FEAT_BF16), otherwise AOEI_F32. For AOE_DTYPE_INT8, it is the type
 * for AOE_DTYPE_AUTO, in which everything except the linear layers of transformer layers is computed. */
aoei_dtype aoei_context_type(const aoe_context *ctx, aoe_dtype wanted);
/* Returns the value of the public enum for a data type of matmuls. */
aoe_dtype aoei_public_dtype(aoei_dtype type);
