/* SPDX-License-Identifier: MIT
 * Dropout of a row, vectorized for AVX2, AVX-512 and NEON. Philox computes four mask words from each counter. By the
 * definition in kernels.h, the j-th words of 16 consecutive counters are the mask words of 16 consecutive columns. Each
 * lane processes one counter, so a vector of j-th words is already in column order. The product x * scale and the
 * addition of the residual are rounded separately, so results are bit-identical on all instruction sets.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"

enum { ROUNDS = 10 /* rounds of Philox */, BLOCK = 64 /* columns whose masks are computed at a time */ };

/* Computes one round of Philox in the even lanes. The values of odd lanes are undefined and are never moved to an even
 * lane. */
static inline void philox_round(vu c[4], vu k0, vu k1) {
    const vu p0 = vu_mul_even(c[0], vu_set1(0xD2511F53u)), p1 = vu_mul_even(c[2], vu_set1(0xCD9E8D57u));
    c[0] = vu_xor(vu_xor(vu_odd_to_even(p1), c[1]), k0);
    c[2] = vu_xor(vu_xor(vu_odd_to_even(p0), c[3]), k1);
    c[1] = p1;
    c[3] = p0;
}

/* Mask generator of one row. It computes the masks in blocks of BLOCK columns. */
typedef struct row_masks {
    const aoei_dropout_row *d; /* parameters of the row, borrowed */
    uint32_t keys[ROUNDS][2];  /* Philox key of each round */
    vu word[BLOCK / VF_LANES]; /* mask words of the current block, in column order */
} row_masks;

static inline void start_row(row_masks *m, const aoei_dropout_row *d) {
    m->d = d;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        m->keys[r][0] = d->key[0] + r * 0x9E3779B9u;
        m->keys[r][1] = d->key[1] + r * 0xBB67AE85u;
    }
}

/* Computes the mask words of the BLOCK columns that start at column `block`. Each iteration computes the words of
 * VF_LANES counters. A 64-bit product occupies an even lane and the odd lane after it. The counters of even lanes and
 * the counters of odd lanes are therefore processed in two separate vectors, in the even lanes. */
static inline void compute_masks(row_masks *m, size_t block) {
    const vu c1 = vu_set1(m->d->counter[1]), c2 = vu_set1(m->d->counter[2]), c3 = vu_set1(m->d->counter[3]);
    for (size_t i = 0; i < 16 / VF_LANES; i++) {
        const vu c0 = vu_iota(m->d->counter[0] + (uint32_t)(block / 4 + i * VF_LANES));
        vu even[4] = {c0, c1, c2, c3}, odd[4] = {vu_odd_to_even(c0), c1, c2, c3};
        for (size_t r = 0; r < ROUNDS; r++) {
            const vu k0 = vu_set1(m->keys[r][0]), k1 = vu_set1(m->keys[r][1]);
            philox_round(even, k0, k1);
            philox_round(odd, k0, k1);
        }
        vu *word = m->word + i;
        word[0] = vu_interleave_even(even[0], odd[0]);
        word[16 / VF_LANES] = vu_interleave_even(even[1], odd[1]);
        word[32 / VF_LANES] = vu_interleave_even(even[2], odd[2]);
        word[48 / VF_LANES] = vu_interleave_even(even[3], odd[3]);
    }
}

/* Applies dropout to x, the elements of columns [c, c + VF_LANES), and returns the result. The caller passes c = 0,
 * VF_LANES, 2 VF_LANES, ... in this order. */
static inline vf drop(row_masks *m, size_t c, vf x) {
    if (c % BLOCK == 0)
        compute_masks(m, c);
    return vf_keep_ge(vf_mul(x, vf_set1(m->d->scale)), m->word[c % BLOCK / VF_LANES], vu_set1(m->d->threshold));
}

void AOEI_SIMD(dropout_f32)(float *y, const float *x, const float *residual, const aoei_dropout_row *d, size_t n) {
    row_masks m;
    start_row(&m, d);
    for (size_t c = 0; c < n; c += VF_LANES) {
        const size_t part = n - c < VF_LANES ? n - c : VF_LANES;
        const vf v = drop(&m, c, vf_load_part(x + c, part));
        vf_store_part(y + c, part, residual ? vf_add(vf_load_part(residual + c, part), v) : v);
    }
}

void AOEI_SIMD(dropout_bf16)(aoei_bf16 *y, const aoei_bf16 *x, const aoei_bf16 *residual, const aoei_dropout_row *d,
                             size_t n) {
    row_masks m;
    start_row(&m, d);
    for (size_t c = 0; c < n; c += VF_LANES) {
        const size_t part = n - c < VF_LANES ? n - c : VF_LANES;
        const vf v = drop(&m, c, vf_load_bf16_part(x + c, part));
        vf_store_bf16_part(y + c, part, residual ? vf_add(vf_load_bf16_part(residual + c, part), v) : v);
    }
}

void AOEI_SIMD(dropout_to_bf16)(aoei_bf16 *y, const float *x, const aoei_dropout_row *d, size_t n) {
    row_masks m;
    start_row(&m, d);
    for (size_t c = 0; c < n; c += VF_LANES) {
        const size_t part = n - c < VF_LANES ? n - c : VF_LANES;
        vf_store_bf16_part(y + c, part, drop(&m, c, vf_load_part(x + c, part)));
    }
}
