/* SPDX-License-Identifier: MIT
 * Adds the mutations of mutate.h to those of libFuzzer.
 */
#include <string.h>

#include "mutate.h"

enum { LAST = 1 << 14 };

/* Functions that libFuzzer calls, and one that it provides. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static uint8_t last[LAST]; /* the input that was mutated last, from which the next mutations copy */
static size_t last_size;

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    if (seed & 1)
        return LLVMFuzzerMutate(data, size, max);
    fuzz_input in = {data, size, max};
    uint8_t other[LAST];
    const size_t other_size = last_size;
    memcpy(other, last, last_size);
    last_size = size < LAST ? size : LAST;
    memcpy(last, data, last_size);
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 0);
    fuzz_mutate(&in, other, other_size, &r);
    return in.size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t max, unsigned seed) {
    fuzz_input in = {out, a_size < max ? a_size : max, max};
    memcpy(out, a, in.size);
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 1);
    fuzz_mutate(&in, b, b_size, &r);
    return in.size;
}
