/* SPDX-License-Identifier: MIT
 * Dispatch: starts with tier c and lays each tier up to the wanted one over it.
 */
#include "kernels/kernels.h"

void aoei_kernels_init(aoei_kernels *k, aoei_tier tier) {
    k->tier = tier;
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op_, TIER, suffix)                                                                                         \
    if (tier >= AOEI_TIER_##TIER)                                                                                              \
        k->op_ = aoei_##op_##_##suffix;
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
}
