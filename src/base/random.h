/* SPDX-License-Identifier: MIT
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11). The n-th number of a stream is a pure
 * function of (key, counter), so nothing depends on threads or on order, and
 * the state of a resumed run is a few integers. docs/numerics.md fixes the layout.
 */
#ifndef AOEI_BASE_RANDOM_H
#define AOEI_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void aoei_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Streams keep users of one seed apart: counter word 3 of the stream generator. */
enum {
    AOEI_STREAM_INIT = 1,
    AOEI_STREAM_SHUFFLE = 2,
    AOEI_STREAM_DROPOUT = 3,
    AOEI_STREAM_BENCH = 4,
    AOEI_STREAM_TEST = 5,
    AOEI_STREAM_MASK = 6,
    AOEI_STREAM_HELD_OUT = 7,
    AOEI_STREAM_DRAW = 8,
    AOEI_STREAM_BATCHES = 9,
    AOEI_STREAM_MINE = 10,
    AOEI_STREAM_BOOTSTRAP = 11,
    AOEI_STREAM_QUERIES = 12,
    AOEI_STREAM_SPLIT = 13,
    AOEI_STREAM_BACKOFF = 14,
    AOEI_STREAM_ISSUES = 15
};

/* A sequential generator over one stream: counter = (i lo, i hi, substream, stream), key = seed. */
typedef struct aoei_rng {
    uint64_t seed;
    uint64_t index;     /* next block of four words */
    uint32_t stream;    /* AOEI_STREAM_* */
    uint32_t substream; /* e.g. the epoch or the tensor's number */
    uint32_t word[4];
    uint32_t left; /* words of the current block not yet used */
} aoei_rng;

void aoei_rng_init(aoei_rng *r, uint64_t seed, uint32_t stream, uint32_t substream);
uint32_t aoei_rng_u32(aoei_rng *r);
uint32_t aoei_rng_below(aoei_rng *r, uint32_t n); /* uniform in [0, n), unbiased; n > 0 */
double aoei_rng_uniform(aoei_rng *r);             /* [0, 1), 53 bits */
double aoei_rng_normal(aoei_rng *r);              /* standard normal (Box-Muller, the cosine half: two words a value) */
void aoei_rng_shuffle(aoei_rng *r, size_t *index, size_t n); /* Fisher-Yates; n < 2^32 */

/* Key of the dropout masks of one optimiser step: a pure function of (seed, step). */
void aoei_dropout_key(uint32_t key[2], uint64_t seed, uint64_t step);

#endif
