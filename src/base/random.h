/* SPDX-License-Identifier: MIT
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
 * Each random number is a pure function of (key, counter). Random numbers therefore do not depend on threads or on the
 * order of calls, and a checkpoint stores the state of a generator as a few integers. docs/numerics.md specifies key
 * and counter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sets out[4] to a block of four random 32-bit words, which depend only on counter and key. */
void aoei_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* Stream indices, which are stored in counter[3]. Each purpose has its own stream, so that one seed gives different
 * random numbers for each purpose. */
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
    AOEI_STREAM_ISSUES = 15,
    AOEI_STREAM_MATRYOSHKA = 16,
    AOEI_STREAM_TWIN = 17,
    AOEI_STREAM_VIEW = 18,
    AOEI_STREAM_LAYERS = 19,
    AOEI_STREAM_ESE = 20,
    AOEI_STREAM_FLOW = 21,
    AOEI_STREAM_REPLACE = 22,
    AOEI_STREAM_FLOW_NOISE = 23,
    AOEI_STREAM_TEACHER_MAP = 24,
    AOEI_STREAM_PCA = 25
};

/* A sequential generator for one stream: counter = (index low, index high, substream, stream), key = seed. */
typedef struct aoei_rng {
    uint64_t seed;
    uint64_t index;     /* index of the next block of four words */
    uint32_t stream;    /* stream index, AOEI_STREAM_* */
    uint32_t substream; /* for example the epoch or the index of a tensor */
    uint32_t word[4];   /* current block */
    uint32_t left;      /* number of unused words in the current block */
} aoei_rng;

void aoei_rng_init(aoei_rng *r, uint64_t seed, uint32_t stream, uint32_t substream);
uint32_t aoei_rng_u32(aoei_rng *r);
uint32_t aoei_rng_below(aoei_rng *r, uint32_t n);            /* uniform in [0, n), unbiased; n > 0 */
double aoei_rng_uniform(aoei_rng *r);                        /* uniform in [0, 1), 53 random bits */
double aoei_rng_normal(aoei_rng *r);                         /* standard normal (Box-Muller transform of two words) */
void aoei_rng_shuffle(aoei_rng *r, size_t *index, size_t n); /* shuffles index[n] (Fisher-Yates); n < 2^32 */

/* Computes the key of the dropout masks of one optimizer step, a pure function of (seed, step). */
void aoei_dropout_key(uint32_t key[2], uint64_t seed, uint64_t step);
