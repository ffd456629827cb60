/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for NEON. Operands are packed as pairs of int16 values with adjacent k. smull multiplies the
 * pairs, and addp adds both products of each pair.
 */
#include "kernels/simd_neon.h"
#include "kernels/gemm_neon.h"

#define GEMM_ROWS 6

/* Returns the sums of both products of the int16 pairs of x and b, one int32 value per pair. */
static inline int32x4_t pair_products(float32x4_t x, float32x4_t b) {
    const int16x8_t p = vreinterpretq_s16_f32(x), q = vreinterpretq_s16_f32(b);
    return vpaddq_s32(vmull_s16(vget_low_s16(p), vget_low_s16(q)), vmull_high_s16(p, q));
}

/* In each lane, adds both products of the int16 pairs of x and b to the running sum, an int32 value. The sum of two
 * products of int8 values cannot overflow. */
static inline vf add_products(vf x, vf b, vf sum) {
    return (vf){vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(sum.lo), pair_products(x.lo, b.lo))),
                vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(sum.hi), pair_products(x.hi, b.hi)))};
}

#define GEMM_STEP(x, b, sum)  add_products(x, b, sum)
#define GEMM_START(t, offset) vf_zero()
#define GEMM_EPILOGUE         aoei_gemm_epilogue_neon
#include "kernels/gemm_simd.h"

#define GEMM_WORD     2
#define GEMM_KIND     WORD_INT16
#define GEMM_UNSIGNED 0
#include "kernels/gemm_int8_ops.h"
