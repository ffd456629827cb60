/* SPDX-License-Identifier: MIT
 * Guarded arrays for the kernel tests. An array ends at an inaccessible page, or a few floats before it, and has canaries
 * around it. A read or write outside the array is therefore detected even in code that sanitizers do not instrument (masked
 * vector loads). kernel_check.h provides the tiers, the tolerances and random matrices.
 */
#ifndef AOE_TESTS_SPAN_H
#define AOE_TESTS_SPAN_H

#include <float.h>
#include <stddef.h>

#include "base/cpu.h"
#include "kernels/kernels.h"

#define EPS32 ((double)FLT_EPSILON)

typedef struct test_span {
    float *data; /* [n], initially NaN; aligned to 4 bytes only */
    size_t n;
    size_t slack; /* number of canaries between data and the inaccessible page */
    void *block;  /* owned mapping */
    size_t bytes; /* size of the mapping */
} test_span;

test_span test_span_create(size_t n, size_t slack);
/* Returns an array of normally distributed numbers with standard deviation sd. */
test_span test_span_normal(size_t n, size_t slack, double sd, unsigned substream);
void test_span_check(const test_span *s); /* asserts that the canaries are unchanged */
void test_span_free(test_span *s);        /* checks the canaries and frees the array */

/* Asserts that |got - want| <= bound. If want is NaN or infinite, got must be the same value. The message contains `what`, the
 * tier, n and i, the index of the element among n. */
void test_value(float got, double want, double bound, const char *what, aoei_tier tier, size_t n, size_t i);
/* Asserts that the arrays are bit-identical, except that any NaN equals any other. */
void test_same_floats(const float *a, const float *b, size_t n);

/* Values that often cause errors: zeros, infinities, NaN, subnormals, the largest and smallest normal numbers. */
extern const float test_specials[];
extern const size_t test_n_specials;

#endif
