/* SPDX-License-Identifier: MIT
 * Selects the data type in which a context computes matmuls.
 */
#include "nn/dtype.h"

aoei_dtype aoei_context_type(const aoe_context *ctx, aoe_dtype wanted) {
    if (wanted == AOE_DTYPE_AUTO || wanted == AOE_DTYPE_INT8)
        return aoei_tier_bf16(ctx->tier) ? AOEI_BF16 : AOEI_F32;
    return wanted == AOE_DTYPE_BF16 ? AOEI_BF16 : AOEI_F32;
}

aoe_dtype aoei_dtype_in_use(aoe_dtype wanted, aoei_dtype type) {
    return wanted == AOE_DTYPE_INT8 ? wanted : type == AOEI_BF16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
}
