/* SPDX-License-Identifier: MIT
 * Matmul kernels for AVX2. The bf16 matmul is emulated in float32. This file instantiates gemm_simd.h for tiles of up to 6 x 16
 * elements of the output matrix C. The accumulators of a tile occupy 12 registers. The file also defines transpose_lines, which
 * gemm_simd.h uses to pack operands.
 */
#include "kernels/simd_avx2.h"

#define GEMM_ROWS 6

typedef struct quad {
    vf v0, v1, v2, v3;
} quad;

/* Transposes one 4 x 4 matrix of floats in every 128-bit lane. The four vectors of q contain the four rows of the matrix; the
 * four vectors of the result contain its columns. */
static inline quad transpose_lanes(quad q) {
    vf a = _mm256_unpacklo_ps(q.v0, q.v1), b = _mm256_unpackhi_ps(q.v0, q.v1);
    vf c = _mm256_unpacklo_ps(q.v2, q.v3), d = _mm256_unpackhi_ps(q.v2, q.v3);
    return (quad){_mm256_shuffle_ps(a, c, 0x44), _mm256_shuffle_ps(a, c, 0xee), _mm256_shuffle_ps(b, d, 0x44),
                  _mm256_shuffle_ps(b, d, 0xee)};
}

/* Returns a vector of the 4 floats at x followed by the 4 floats at y. */
static inline vf load_pair(const float *x, const float *y) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)), _mm_loadu_ps(y), 1);
}

/* Transposes VF_LANES lines of K floats: sets dst[k * stride + i] = line[i][k] for all i < VF_LANES and all k < n, where n is K
 * rounded down to a multiple of 4. Returns n. The caller transposes the remaining K - n floats of each line. */
static size_t transpose_lines(float *dst, size_t stride, const float *const line[VF_LANES], size_t K) {
    size_t k = 0;
    for (; k + 4 <= K; k += 4) {
        quad x = {load_pair(line[0] + k, line[4] + k), load_pair(line[1] + k, line[5] + k), load_pair(line[2] + k, line[6] + k),
                  load_pair(line[3] + k, line[7] + k)};
        x = transpose_lanes(x);
        float *d = dst + k * stride;
        _mm256_storeu_ps(d, x.v0);
        _mm256_storeu_ps(d + stride, x.v1);
        _mm256_storeu_ps(d + 2 * stride, x.v2);
        _mm256_storeu_ps(d + 3 * stride, x.v3);
    }
    return k;
}

#define GEMM_STEP(x, b, sum) vf_fma(x, b, sum)
#define GEMM_SYMBOL2(op)     aoei_##op##_avx2
#define GEMM_SYMBOL(op)      GEMM_SYMBOL2(op)
#define GEMM_EPILOGUE        aoei_gemm_epilogue_avx2
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
