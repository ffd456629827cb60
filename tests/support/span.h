/* SPDX-License-Identifier: MIT
 * What the kernel tests stand on: arrays that end at (or a few floats before) a page that
 * may not be touched, with canaries around them, so that one element read or written too
 * far is seen even by code that a sanitizer does not instrument (masked vector loads).
 * kernel_check.h has the tiers, the tolerances and random matrices.
 */
#ifndef AOE_TESTS_SPAN_H
#define AOE_TESTS_SPAN_H

#include <float.h>
#include <stddef.h>

#include "base/cpu.h"
#include "kernels/kernels.h"

#define EPS32 ((double)FLT_EPSILON)

typedef struct test_span {
    float *data; /* [n], NaN at first; 4-byte aligned, no better */
    size_t n;
    size_t slack; /* canaries behind data, then the forbidden page */
    void *block;  /* owned mapping */
    size_t bytes; /* of it */
} test_span;

test_span test_span_create(size_t n, size_t slack);
/* The same with normal numbers times sd. */
test_span test_span_normal(size_t n, size_t slack, double sd, unsigned substream);
void test_span_check(const test_span *s); /* the canaries are untouched */
void test_span_free(test_span *s);        /* checks, too */

/* |got - want| <= bound, where a want that is NaN or infinite must come out so. Fails with the place. */
void test_value(float got, double want, double bound, const char *what, aoei_tier tier, size_t n, size_t i);
/* Bit-identical, except that any NaN equals any other. */
void test_same_floats(const float *a, const float *b, size_t n);

/* Values that go wrong easily: zeros, infinities, NaN, subnormals, the largest. */
extern const float test_specials[];
extern const size_t test_n_specials;

#endif
