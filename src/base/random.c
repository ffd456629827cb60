/* SPDX-License-Identifier: MIT
 * Implements the Philox4x32-10 random number generator, and a sequential generator that uses it. The struct aoei_rng
 * contains the complete state as integers, so equal fields give equal numbers on every platform.
 */
#include "base/random.h"

#include <assert.h>
#include <math.h>

#define ROUNDS       10
#define MULTIPLIER_0 UINT32_C(0xD2511F53)
#define MULTIPLIER_1 UINT32_C(0xCD9E8D57)
#define WEYL_0       UINT32_C(0x9E3779B9) /* (sqrt(5) - 1) / 2 as a fraction of 2^32 */
#define WEYL_1       UINT32_C(0xBB67AE85) /* sqrt(3) - 1 as a fraction of 2^32 */
#define TWO_PI       6.283185307179586476925286766559

void aoei_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void aoei_rng_init(aoei_rng *r, uint64_t seed, uint32_t stream, uint32_t substream) {
    *r = (aoei_rng){.seed = seed, .stream = stream, .substream = substream};
}

uint32_t aoei_rng_u32(aoei_rng *r) {
    if (r->left == 0) {
        const uint32_t counter[4] = {(uint32_t)r->index, (uint32_t)(r->index >> 32), r->substream, r->stream};
        const uint32_t key[2] = {(uint32_t)r->seed, (uint32_t)(r->seed >> 32)};
        aoei_philox(r->word, counter, key);
        r->index++;
        r->left = 4;
    }
    return r->word[4 - r->left--];
}

/* The high half of x * n is uniform if x is drawn again whenever the low half is less than 2^32 mod n (Lemire, "Fast
 * random integer generation in an interval", 2019). */
uint32_t aoei_rng_below(aoei_rng *r, uint32_t n) {
    assert(n > 0);
    uint64_t product = (uint64_t)aoei_rng_u32(r) * n;
    if ((uint32_t)product < n) {
        uint32_t reject_below = (UINT32_MAX - n + 1) % n; /* 2^32 mod n */
        while ((uint32_t)product < reject_below)
            product = (uint64_t)aoei_rng_u32(r) * n;
    }
    return (uint32_t)(product >> 32);
}

double aoei_rng_uniform(aoei_rng *r) {
    uint32_t high = aoei_rng_u32(r) >> 5; /* 27 bits */
    uint32_t low = aoei_rng_u32(r) >> 6;  /* 26 bits */
    return ((double)high * 0x1p26 + (double)low) * 0x1p-53;
}

double aoei_rng_normal(aoei_rng *r) {
    double u = ((double)aoei_rng_u32(r) + 1.0) * 0x1p-32; /* in (0, 1] */
    double v = (double)aoei_rng_u32(r) * 0x1p-32;         /* in [0, 1) */
    return sqrt(-2.0 * log(u)) * cos(TWO_PI * v);
}

void aoei_rng_shuffle(aoei_rng *r, size_t *index, size_t n) {
    assert(n <= UINT32_MAX);
    for (size_t i = n; i > 1; i--) {
        size_t j = aoei_rng_below(r, (uint32_t)i);
        size_t swap = index[i - 1];
        index[i - 1] = index[j];
        index[j] = swap;
    }
}

void aoei_dropout_key(uint32_t key[2], uint64_t seed, uint64_t step) {
    const uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), 0, AOEI_STREAM_DROPOUT};
    const uint32_t seed_key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    aoei_philox(out, counter, seed_key);
    key[0] = out[0];
    key[1] = out[1];
}
