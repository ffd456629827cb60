/* SPDX-License-Identifier: MIT
 * Dropout of a row, vector body. Include simd_avx2.h or simd_avx512.h first.
 * The layout of kernels.h makes word j of 16 neighbouring Philox counters the mask of 16
 * neighbouring columns, so that lanes are counters and nothing is transposed. Masks and
 * results are the same bits in every tier: product and sum are rounded apart.
 */
#ifndef AOEI_KERNELS_DROPOUT_SIMD_H
#define AOEI_KERNELS_DROPOUT_SIMD_H

#include "kernels/kernels.h"

/* Philox4x32-10 in every lane; c holds the counters and receives the words. */
static inline void philox_lanes(vu c[4], const uint32_t key[2]) {
    const vu m0 = vu_set1(0xD2511F53u), m1 = vu_set1(0xCD9E8D57u);
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        vu high0, low0, high1, low1;
        vu_mul_wide(c[0], m0, &high0, &low0);
        vu_mul_wide(c[2], m1, &high1, &low1);
        c[0] = vu_xor(vu_xor(high1, c[1]), vu_set1(k0));
        c[1] = low1;
        c[2] = vu_xor(vu_xor(high0, c[3]), vu_set1(k1));
        c[3] = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* A row whose x has type x_type, and y and residual y_type; the types are constants where it is expanded. */
static inline void drop_row(void *y, aoei_dtype y_type, const void *x, aoei_dtype x_type, const void *residual,
                            const aoei_dropout_row *d, size_t n) {
    const vf scale = vf_set1(d->scale);
    const vu threshold = vu_set1(d->threshold);
    for (size_t block = 0; block < n; block += 64) {
        for (size_t lane = 0; lane < 16 && block + lane < n; lane += VF_LANES) {
            vu word[4] = {vu_iota(d->counter[0] + (uint32_t)(block / 4 + lane)), vu_set1(d->counter[1]), vu_set1(d->counter[2]),
                          vu_set1(d->counter[3])};
            philox_lanes(word, d->key);
            for (size_t j = 0; j < 4; j++) {
                const size_t c = block + 16 * j + lane;
                if (c >= n)
                    break;
                const size_t part = n - c < VF_LANES ? n - c : VF_LANES;
                const vf in = x_type == AOEI_BF16 ? vf_load_bf16_part((const aoei_bf16 *)x + c, part)
                                                  : vf_load_part((const float *)x + c, part);
                vf v = vf_keep_ge(vf_mul(in, scale), word[j], threshold);
                if (residual)
                    v = vf_add(y_type == AOEI_BF16 ? vf_load_bf16_part((const aoei_bf16 *)residual + c, part)
                                                   : vf_load_part((const float *)residual + c, part),
                               v);
                if (y_type == AOEI_BF16)
                    vf_store_bf16_part((aoei_bf16 *)y + c, part, v);
                else
                    vf_store_part((float *)y + c, part, v);
            }
        }
    }
}

void AOEI_SIMD(dropout_f32)(float *y, const float *x, const float *residual, const aoei_dropout_row *d, size_t n) {
    drop_row(y, AOEI_F32, x, AOEI_F32, residual, d, n);
}

void AOEI_SIMD(dropout_bf16)(aoei_bf16 *y, const aoei_bf16 *x, const aoei_bf16 *residual, const aoei_dropout_row *d, size_t n) {
    drop_row(y, AOEI_BF16, x, AOEI_BF16, residual, d, n);
}

void AOEI_SIMD(dropout_to_bf16)(aoei_bf16 *y, const float *x, const aoei_dropout_row *d, size_t n) {
    drop_row(y, AOEI_BF16, x, AOEI_F32, NULL, d, n);
}

#endif
