/* SPDX-License-Identifier: MIT
 * The data type of a model's matmuls, which depends on the requested type and on the CPU tier.
 */
#ifndef AOEI_NN_DTYPE_H
#define AOEI_NN_DTYPE_H

#include "base/context.h"
#include "kernels/kernels.h"

/* Returns the data type of matmuls if `wanted` is requested. AOE_DTYPE_AUTO gives bf16 if the CPU tier has bf16 instructions,
 * otherwise float32. */
aoei_dtype aoei_context_type(const aoe_context *ctx, aoe_dtype wanted);
/* Converts a data type of matmuls to the public enum. */
aoe_dtype aoei_public_dtype(aoei_dtype type);

#endif
