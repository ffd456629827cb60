/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for ARM64 CPUs with FEAT_DotProd. The instruction SDOT adds
 * four products of int8 values to a sum of 32 bits.
 */
#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/tier.h"

static inline int32x4_t add_codes(int32x4_t sum, int8x16_t x, int8x16_t q) {
    return vdotq_s32(sum, x, q);
}

/* The elements of the mask are -1 and 0, so the products are subtracted. */
static inline int32x4_t add_masked(int32x4_t sum, int8x16_t mask, int8x16_t q) {
    return vdotq_s32(sum, mask, q);
}

static inline int32x4_t finish(int32x4_t sum) {
    return vnegq_s32(sum);
}

#define SUMS      int32x4_t
#define SUMS_ZERO vdupq_n_s32(0)
#define SAFE      SIZE_MAX
#include "kernels/dots_neon.h"
