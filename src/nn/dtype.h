/* SPDX-License-Identifier: MIT
 * The data type of a model's matmuls, chosen from what the caller asks for and the CPU tier.
 */
#ifndef AOEI_NN_DTYPE_H
#define AOEI_NN_DTYPE_H

#include "base/context.h"
#include "kernels/kernels.h"

/* The data type of matmuls for `wanted`. AOE_DTYPE_AUTO gives bf16 if the CPU tier has bf16 instructions, else float32. */
aoei_dtype aoei_context_type(const aoe_context *ctx, aoe_dtype wanted);
/* The public name of a data type of matmuls. */
aoe_dtype aoei_public_dtype(aoei_dtype type);

#endif
