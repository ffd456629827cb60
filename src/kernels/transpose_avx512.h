/* SPDX-License-Identifier: MIT
 * Defines transpose_lines for AVX-512, which transposes 16 lines of 32-bit words. A line is a row of A or a column of
 * B. The matmul kernels use it to pack operands. Include simd_avx512.h first.
 */
#pragma once

typedef struct quad {
    vf v0, v1, v2, v3;
} quad;

/* Transposes one 4 x 4 matrix of floats in every 128-bit lane. The four vectors of q contain the four rows of the
 * matrix; the four vectors of the result contain its columns. */
static inline quad transpose_lanes(quad q) {
    vf a = _mm512_unpacklo_ps(q.v0, q.v1), b = _mm512_unpackhi_ps(q.v0, q.v1);
    vf c = _mm512_unpacklo_ps(q.v2, q.v3), d = _mm512_unpackhi_ps(q.v2, q.v3);
    return (quad){_mm512_shuffle_ps(a, c, 0x44), _mm512_shuffle_ps(a, c, 0xee), _mm512_shuffle_ps(b, d, 0x44),
                  _mm512_shuffle_ps(b, d, 0xee)};
}

/* Returns a vector of the 8 floats at x followed by the 8 floats at y. */
static inline vf load_pair(const float *x, const float *y) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(x)), _mm256_loadu_ps(y), 1);
}

/* Transposes VF_LANES lines of K words: sets dst[k * stride + i] = row[i][k] for all i < VF_LANES and all k < n, where
 * n is K rounded down to a multiple of 8. Returns n. The caller transposes the remaining K - n words of each line. */
static size_t transpose_lines(float *dst, size_t stride, const float *const row[VF_LANES], size_t K) {
    size_t k = 0;
    for (; k + 8 <= K; k += 8) {
        quad x = {load_pair(row[0] + k, row[4] + k), load_pair(row[1] + k, row[5] + k),
                  load_pair(row[2] + k, row[6] + k), load_pair(row[3] + k, row[7] + k)};
        quad y = {load_pair(row[8] + k, row[12] + k), load_pair(row[9] + k, row[13] + k),
                  load_pair(row[10] + k, row[14] + k), load_pair(row[11] + k, row[15] + k)};
        x = transpose_lanes(x);
        y = transpose_lanes(y);
        float *d = dst + k * stride;
        _mm512_storeu_ps(d, _mm512_shuffle_f32x4(x.v0, y.v0, 0x88));
        _mm512_storeu_ps(d + stride, _mm512_shuffle_f32x4(x.v1, y.v1, 0x88));
        _mm512_storeu_ps(d + 2 * stride, _mm512_shuffle_f32x4(x.v2, y.v2, 0x88));
        _mm512_storeu_ps(d + 3 * stride, _mm512_shuffle_f32x4(x.v3, y.v3, 0x88));
        _mm512_storeu_ps(d + 4 * stride, _mm512_shuffle_f32x4(x.v0, y.v0, 0xdd));
        _mm512_storeu_ps(d + 5 * stride, _mm512_shuffle_f32x4(x.v1, y.v1, 0xdd));
        _mm512_storeu_ps(d + 6 * stride, _mm512_shuffle_f32x4(x.v2, y.v2, 0xdd));
        _mm512_storeu_ps(d + 7 * stride, _mm512_shuffle_f32x4(x.v3, y.v3, 0xdd));
    }
    return k;
}
