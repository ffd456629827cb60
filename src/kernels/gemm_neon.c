/* SPDX-License-Identifier: MIT
 * Matmul kernels for NEON. The bf16 matmul is emulated in float32. This file instantiates gemm_simd.h for tiles of up to 6 x 16
 * elements of the output matrix C. The accumulators of a tile occupy 24 registers. The file also defines transpose_lines, which
 * gemm_simd.h uses to pack operands.
 */
#include "kernels/simd_neon.h"

#define GEMM_ROWS 6

typedef struct quad {
    float32x4_t v0, v1, v2, v3;
} quad;

/* Transposes a 4 x 4 matrix of floats: loads columns [k, k + 4) of its four rows, and returns these columns. */
static inline quad load_transposed(const float *const row[4], size_t k) {
    const float32x4_t r0 = vld1q_f32(row[0] + k), r1 = vld1q_f32(row[1] + k), r2 = vld1q_f32(row[2] + k);
    const float32x4_t r3 = vld1q_f32(row[3] + k);
    const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1)), b = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1));
    const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3)), d = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
    return (quad){vreinterpretq_f32_f64(vzip1q_f64(a, c)), vreinterpretq_f32_f64(vzip1q_f64(b, d)),
                  vreinterpretq_f32_f64(vzip2q_f64(a, c)), vreinterpretq_f32_f64(vzip2q_f64(b, d))};
}

/* Transposes VF_LANES lines of K floats: sets dst[k * stride + i] = line[i][k] for all i < VF_LANES and all k < n, where n is K
 * rounded down to a multiple of 4. Returns n. The caller transposes the remaining K - n floats of each line. */
static size_t transpose_lines(float *dst, size_t stride, const float *const line[VF_LANES], size_t K) {
    size_t k = 0;
    for (; k + 4 <= K; k += 4) {
        const quad x = load_transposed(line, k), y = load_transposed(line + 4, k);
        float *d = dst + k * stride;
        vf_store(d, (vf){x.v0, y.v0});
        vf_store(d + stride, (vf){x.v1, y.v1});
        vf_store(d + 2 * stride, (vf){x.v2, y.v2});
        vf_store(d + 3 * stride, (vf){x.v3, y.v3});
    }
    return k;
}

/* The words of A for one k are loaded into two registers, because the instruction for the fused multiply-add can use one lane
 * of a register for all lanes. Words after the last row are undefined and unused. */
#define LANE(x, i)     ((vf){vdupq_laneq_f32(x, i), vdupq_laneq_f32(x, i)})
#define GEMM_LOAD_A(a) const vf column = vf_load(a)
#define GEMM_A(i)      LANE(i < 4 ? column.lo : column.hi, i % 4)

#define GEMM_STEP(x, b, sum)  vf_fma(x, b, sum)
#define GEMM_START(t, offset) vf_zero()
#define GEMM_SYMBOL2(op)      aoei_##op##_neon
#define GEMM_SYMBOL(op)       GEMM_SYMBOL2(op)
#define GEMM_EPILOGUE         aoei_gemm_epilogue_neon
#include "kernels/gemm_simd.h"

#define GEMM_OP          gemm_f32
#define GEMM_TYPE        AOEI_F32
#define GEMM_WORD        1
#define GEMM_KIND        WORD_F32
#define GEMM_KIND_OF_F32 WORD_F32
#include "kernels/gemm_ops.h"

#define GEMM_OP          gemm_bf16
#define GEMM_TYPE        AOEI_BF16
#define GEMM_WORD        1
#define GEMM_KIND        WORD_F32
#define GEMM_KIND_OF_F32 WORD_ROUNDED
#include "kernels/gemm_ops.h"
