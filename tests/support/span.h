/* SPDX-License-Identifier: MIT
 * Guarded arrays for kernel tests. An array is surrounded by canaries. It ends at an inaccessible page, or a few floats
 * before this page. Therefore, tests detect an access outside the array even for masked vector loads, which sanitizers
 * do not instrument.
 */
#pragma once

#include <float.h>
#include <stddef.h>

#include "base/cpu.h"
#include "kernels/kernels.h"

#define EPS32 ((double)FLT_EPSILON)

typedef struct test_span {
    float *data; /* [n] initially NaN; the address is a multiple of 4 */
    size_t n;
    size_t slack; /* number of canaries between the end of data and the inaccessible page */
    void *block;  /* memory mapping, owned */
    size_t bytes; /* size of `block` */
} test_span;

/* Returns an array of n NaNs. slack: number of canaries after the array. */
test_span test_span_create(size_t n, size_t slack);
/* Returns an array of normally distributed numbers with standard deviation sd. `substream` selects the random
 * numbers. */
test_span test_span_normal(size_t n, size_t slack, double sd, unsigned substream);
void test_span_check(const test_span *s); /* fails if a canary has changed */
void test_span_free(test_span *s);        /* checks the canaries and frees the array */

/* Asserts that |got - want| <= bound. If want is NaN, got must be NaN. If want is infinite, got must be equal to want.
 * The message contains `what`, the tier (instruction set), and the position of the value: element i of n. */
void test_value(float got, double want, double bound, const char *what, aoei_tier tier, size_t n, size_t i);
/* Asserts that a[n] and b[n] are bit-identical, except that NaNs may have different bits. */
void test_same_floats(const float *a, const float *b, size_t n);

/* Values that often cause errors: zeros, infinities, NaN, subnormal numbers, and the largest and smallest normal
 * numbers. */
extern const float test_specials[];
extern const size_t test_n_specials;
