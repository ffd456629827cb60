/* SPDX-License-Identifier: MIT
 * Mutations of inputs for the fuzz harnesses. They know the structure of text formats: they replace, remove and
 * duplicate JSON values, and replace words by words of another input of the same harness. The words of the corpus are
 * therefore the dictionary of a harness.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

typedef struct fuzz_input {
    uint8_t *data; /* [max] */
    size_t size;   /* number of used bytes */
    size_t max;    /* a mutation that would need more bytes does nothing */
} fuzz_input;

/* Makes a few random changes to an input. other: another input of the same harness, from which bytes, words and JSON
 * values are copied; it must not be in the memory of `in`. */
void fuzz_mutate(fuzz_input *in, const uint8_t *other, size_t other_size, aoei_rng *r);
