/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares, vectorized for AVX2, AVX-512 and NEON. Column sums are computed in float32, row
 * by row, and are bit-identical on all instruction sets. The sum of squares is computed in double, in which the square
 * of a float is exact. It uses two accumulators. Of each pair of vectors, the first vector is added to the first
 * accumulator and the second to the second accumulator. Vectors that remain after the last pair are added to the first
 * accumulator.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"

void AOEI_SIMD(column_sum_f32)(float *sum, const float *x, size_t x_row, size_t rows, size_t cols) {
    size_t c = 0;
    for (; c + 4 * VF_LANES <= cols; c += 4 * VF_LANES) {
        vf s0 = vf_load(sum + c), s1 = vf_load(sum + c + VF_LANES);
        vf s2 = vf_load(sum + c + 2 * VF_LANES), s3 = vf_load(sum + c + 3 * VF_LANES);
        for (size_t r = 0; r < rows; r++) {
            const float *xr = x + r * x_row + c;
            s0 = vf_add(s0, vf_load(xr));
            s1 = vf_add(s1, vf_load(xr + VF_LANES));
            s2 = vf_add(s2, vf_load(xr + 2 * VF_LANES));
            s3 = vf_add(s3, vf_load(xr + 3 * VF_LANES));
        }
        vf_store(sum + c, s0);
        vf_store(sum + c + VF_LANES, s1);
        vf_store(sum + c + 2 * VF_LANES, s2);
        vf_store(sum + c + 3 * VF_LANES, s3);
    }
    for (; c < cols; c += VF_LANES) {
        const size_t n = cols - c < VF_LANES ? cols - c : VF_LANES;
        vf s = vf_load_part(sum + c, n);
        for (size_t r = 0; r < rows; r++)
            s = vf_add(s, vf_load_part(x + r * x_row + c, n));
        vf_store_part(sum + c, n, s);
    }
}

void AOEI_SIMD(column_sum_bf16)(float *sum, const aoei_bf16 *x, size_t x_row, size_t rows, size_t cols) {
    size_t c = 0;
    for (; c + 4 * VF_LANES <= cols; c += 4 * VF_LANES) {
        vf s0 = vf_load(sum + c), s1 = vf_load(sum + c + VF_LANES);
        vf s2 = vf_load(sum + c + 2 * VF_LANES), s3 = vf_load(sum + c + 3 * VF_LANES);
        for (size_t r = 0; r < rows; r++) {
            const aoei_bf16 *xr = x + r * x_row + c;
            s0 = vf_add(s0, vf_load_bf16(xr));
            s1 = vf_add(s1, vf_load_bf16(xr + VF_LANES));
            s2 = vf_add(s2, vf_load_bf16(xr + 2 * VF_LANES));
            s3 = vf_add(s3, vf_load_bf16(xr + 3 * VF_LANES));
        }
        vf_store(sum + c, s0);
        vf_store(sum + c + VF_LANES, s1);
        vf_store(sum + c + 2 * VF_LANES, s2);
        vf_store(sum + c + 3 * VF_LANES, s3);
    }
    for (; c < cols; c += VF_LANES) {
        const size_t n = cols - c < VF_LANES ? cols - c : VF_LANES;
        vf s = vf_load_part(sum + c, n);
        for (size_t r = 0; r < rows; r++)
            s = vf_add(s, vf_load_bf16_part(x + r * x_row + c, n));
        vf_store_part(sum + c, n, s);
    }
}

double AOEI_SIMD(sum_squares_f32)(const float *x, size_t n) {
    vd s0 = vd_zero(), s1 = vd_zero();
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        const vd a = vd_from(vf_load(x + i)), b = vd_from(vf_load(x + i + VF_LANES));
        s0 = vd_fma(a, a, s0);
        s1 = vd_fma(b, b, s1);
    }
    for (; i < n; i += VF_LANES) {
        const vd a = vd_from(vf_load_part(x + i, n - i < VF_LANES ? n - i : VF_LANES));
        s0 = vd_fma(a, a, s0);
    }
    return vd_hsum(vd_add(s0, s1));
}
