/* SPDX-License-Identifier: MIT
 * Code of the matmul kernels for NEON that does not depend on the element type: transpose_lines, which gemm_words.h
 * uses to pack operands, and the macros with which gemm_simd.h loads the words of A. Include simd_neon.h first.
 */
#pragma once

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

/* Transposes VF_LANES lines of K floats: sets dst[k * stride + i] = line[i][k] for all i < VF_LANES and all k < n,
 * where n is K rounded down to a multiple of 4. Returns n. The caller transposes the remaining K - n floats of each
 * line. */
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

/* The words of A for one k are loaded into two registers, because the instruction for the fused multiply-add can use
 * one lane of a register for all lanes. Words after the last row are undefined and unused. */
#define LANE(x, i)     ((vf){vdupq_laneq_f32(x, i), vdupq_laneq_f32(x, i)})
#define GEMM_LOAD_A(a) const vf column = vf_load(a)
#define GEMM_A(i)      LANE(i < 4 ? column.lo : column.hi, i % 4)
