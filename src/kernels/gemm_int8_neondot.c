/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for ARM64 CPUs with FEAT_DotProd. Operands are packed as words of four elements with adjacent k.
 * The instruction SDOT multiplies four int8 values by four int8 values and adds the products to an int32 sum.
 */
#include "kernels/simd_neon.h"
#include "kernels/gemm_neon.h"

#define GEMM_ROWS 6

/* Returns the int8 values of a register. */
static inline int8x16_t bytes(float32x4_t x) {
    return vreinterpretq_s8_f32(x);
}

/* In each lane, adds the four products of the int8 values of x and b to the running sum, an int32 value. */
static inline vf add_products(vf x, vf b, vf sum) {
    return (vf){vreinterpretq_f32_s32(vdotq_s32(vreinterpretq_s32_f32(sum.lo), bytes(b.lo), bytes(x.lo))),
                vreinterpretq_f32_s32(vdotq_s32(vreinterpretq_s32_f32(sum.hi), bytes(b.hi), bytes(x.hi)))};
}

/* SDOT can use one lane of a register for all lanes. The intrinsics require a constant lane, so these are macros.
 * Compilers do not generate this form of SDOT from add_products and GEMM_A. */
#define DOT_LANE(i, b, sum)                                                                                            \
    vreinterpretq_f32_s32(                                                                                             \
        vdotq_laneq_s32(vreinterpretq_s32_f32(sum), bytes(b), bytes(i < 4 ? column.lo : column.hi), i % 4))

#define GEMM_STEP(x, b, sum)     add_products(x, b, sum)
#define GEMM_STEP_ROW(i, b, sum) ((vf){DOT_LANE(i, (b).lo, (sum).lo), DOT_LANE(i, (b).hi, (sum).hi)})
#define GEMM_START(t, offset)    vf_zero()
#define GEMM_EPILOGUE            aoei_gemm_epilogue_neon
#include "kernels/gemm_simd.h"

#define GEMM_WORD     4
#define GEMM_KIND     WORD_INT8
#define GEMM_UNSIGNED 0
#include "kernels/gemm_int8_ops.h"
