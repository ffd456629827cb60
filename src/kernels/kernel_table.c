/* SPDX-License-Identifier: MIT
 * Dispatch: starts with tier c and lays each tier up to the wanted one over it. The tier in use is the highest
 * that had a kernel to lay.
 */
#include "kernels/kernels.h"

void aoei_kernels_init(aoei_kernels *k, aoei_tier tier) {
    k->tier = AOEI_TIER_C;
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op_, TIER, suffix)                                                                                         \
    if (tier >= AOEI_TIER_##TIER) {                                                                                            \
        k->op_ = aoei_##op_##_##suffix;                                                                                        \
        k->tier = k->tier > AOEI_TIER_##TIER ? k->tier : AOEI_TIER_##TIER;                                                     \
    }
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
}
