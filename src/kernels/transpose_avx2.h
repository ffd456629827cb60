/* SPDX-License-Identifier: MIT
 * Defines transpose_lines for AVX2, which transposes 8 lines of 32-bit words. A line is a row of A or a column of B.
 * The matmul kernels use it to pack operands. Include simd_avx2.h first.
 */
#pragma once

typedef struct quad {
    vf v0, v1, v2, v3;
} quad;

/* Transposes one 4 x 4 matrix of floats in every 128-bit lane. The four vectors of q contain the four rows of the
 * matrix; the four vectors of the result contain its columns. */
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

/* Transposes VF_LANES lines of K floats: sets dst[k * stride + i] = line[i][k] for all i < VF_LANES and all k < n,
 * where n is K rounded down to a multiple of 4. Returns n. The caller transposes the remaining K - n floats of each
 * line. */
static size_t transpose_lines(float *dst, size_t stride, const float *const line[VF_LANES], size_t K) {
    size_t k = 0;
    for (; k + 4 <= K; k += 4) {
        quad x = {load_pair(line[0] + k, line[4] + k), load_pair(line[1] + k, line[5] + k),
                  load_pair(line[2] + k, line[6] + k), load_pair(line[3] + k, line[7] + k)};
        x = transpose_lanes(x);
        float *d = dst + k * stride;
        _mm256_storeu_ps(d, x.v0);
        _mm256_storeu_ps(d + stride, x.v1);
        _mm256_storeu_ps(d + 2 * stride, x.v2);
        _mm256_storeu_ps(d + 3 * stride, x.v3);
    }
    return k;
}
