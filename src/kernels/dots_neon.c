/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for NEON. Products of int8 values are summed in pairs in 16
 * bits, and pairs of these sums are added to sums of 32 bits.
 */
#include <arm_neon.h>

#include "kernels/kernels.h"
#include "kernels/tier.h"

/* Two products, of which no factor of the query is -128, fit 16 bits. */
static inline int32x4_t add_codes(int32x4_t sum, int8x16_t x, int8x16_t q) {
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(q));
    return vpadalq_s16(sum, vmlal_high_s8(low, x, q));
}

/* Each sum of 16 bits grows by at most 254. */
static inline int16x8_t add_masked(int16x8_t sum, int8x16_t mask, int8x16_t q) {
    return vpadalq_s8(sum, vandq_s8(mask, q));
}

static inline int32x4_t finish(int16x8_t sum) {
    return vpaddlq_s16(sum);
}

#define SUMS      int16x8_t
#define SUMS_ZERO vdupq_n_s16(0)
#define SAFE      (128 / 8 * (size_t)128)
#include "kernels/dots_neon.h"
