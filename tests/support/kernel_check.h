/* SPDX-License-Identifier: MIT
 * Helpers for kernel tests. They run a test for every kernel in kernels.def, and create operands with random alignments
 * and strides. Operands have canaries around them and between their rows, and outputs are initially NaN. Comparisons
 * fail for NaN. Every random case depends only on the printed seed. To repeat a case, set the environment variable
 * AOE_TEST_SEED to its seed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "kernels/kernel_table.h"
#include "kernels/kernels.h"

/* Unit roundoff of float32, which is the largest relative error of one rounding: 2^-24. */
#define KERNEL_ROUNDOFF (1.0 / 16777216.0)

/* Calls fn for each tier (instruction set) that has its own kernel for `op`. Skips tiers that the CPU does not support
 * or that the environment variable AOE_CPU excludes. Fails if no tier remains. k contains the kernels of the tier. */
typedef void (*kernel_tier_fn)(const aoei_kernels *k);
void kernel_each_tier(const char *op, kernel_tier_fn fn);
/* Results of all tests so far for one kernel in kernels.def. */
typedef struct kernel_record {
    const char *op; /* name of the operation in kernels.def */
    aoei_tier tier;
    size_t runs;        /* number of tests that kernel_each_tier ran for this kernel */
    size_t failed;      /* number of these tests that failed */
    size_t comparisons; /* number of values that were compared with expected values */
    double worst;       /* largest error divided by its bound; 0 if all values were exact */
} kernel_record;
/* Returns the records of all kernels in kernels.def and sets *n to their number. */
const kernel_record *kernel_records(size_t *n);
/* Adds a comparison of one value to the record of the kernel that kernel_each_tier is testing. `error` is the error of
 * the value, and `bound` is its maximum. If bound is 0, the error must be 0. */
void kernel_compared(double error, double bound);
/* Returns the tolerance of `op` in kernels.def; fails for an unknown op. */
double kernel_tolerance(const char *op);

/* Makes kernel_each_tier skip all ops except ops[n]. The array must stay valid. */
void kernel_only(const char *const *ops, size_t n);
/* Makes kernel_each_tier test only the kernel of the highest tier that the CPU and AOE_CPU support. */
void kernel_highest_only(void);

/* Returns 0 if the environment variable AOE_TEST_GUARDS is 0, otherwise 1. If the result is 1, test_span (span.h) makes
 * the page after each array inaccessible. CPU emulators whose masked loads also read disabled lanes need
 * AOE_TEST_GUARDS=0. */
int kernel_guards(void);
/* Returns N if the environment variable AOE_TEST_EVERY is a number N > 1, otherwise 1. Long kernel tests then test
 * every N-th value or shape only, for CPU emulators. N should be a prime number that is not the length of a vector
 * register or the number of cases of an option, such as 7. */
size_t kernel_every(void);
uint64_t kernel_seed(void); /* returns AOE_TEST_SEED, or 1 if it is not set */
/* Returns a random number generator for one test and prints its seed. */
aoei_rng kernel_rng(const char *test);
size_t kernel_size(aoei_rng *r, size_t low, size_t high); /* returns a random number in [low, high] */

/* A matrix [rows, cols] inside a larger block. All other elements of the block are canaries. Canaries are before the
 * matrix, between its rows and, if the matrix is an output, after it. The last element of an input is the last element
 * of the block, so that a sanitizer detects a read after the end of the input. */
typedef struct kernel_matrix {
    float *data; /* [rows, cols] */
    size_t rows, cols;
    size_t ld;     /* row stride in floats, at least cols */
    float *block;  /* [floats] owned */
    size_t floats; /* size of `block` in floats */
} kernel_matrix;

kernel_matrix kernel_input(aoei_rng *r, size_t rows, size_t cols);  /* uniform numbers in [-1, 1); random stride and
                                                                       alignment */
kernel_matrix kernel_output(aoei_rng *r, size_t rows, size_t cols); /* filled with NaN; random stride and alignment */
/* Fills the matrix with uniformly distributed numbers in [low, high). */
void kernel_fill(kernel_matrix *m, aoei_rng *r, double low, double high);
/* Fails if a canary has changed. If `written` is 1, also fails if an element of the matrix was not written. `what` is
 * the name of the matrix in the message. */
void kernel_check_canaries(const kernel_matrix *m, const char *what, int written);
void kernel_free(kernel_matrix *m);

/* Asserts that |value - expected| <= bound. Fails if value is NaN. `what`, row and col appear in the message. */
void kernel_check_value(float value, double expected, double bound, const char *what, size_t row, size_t col);
/* Returns x as the matmul kernels of k store it in a matrix of `type`. The conversion instruction of AVX512-BF16
 * replaces subnormal numbers by 0. */
float kernel_stored(const aoei_kernels *k, aoei_dtype type, float x);
/* Asserts that value and expected have equal bits. `what`, row and col appear in the message. */
void kernel_check_bits(float value, float expected, const char *what, size_t row, size_t col);

/* Returns the kernel of an activation other than AOEI_IDENTITY, or of its gradient. */
aoei_gelu_f32_fn *kernel_activation(const aoei_kernels *k, aoei_activation activation);
aoei_gelu_grad_f32_fn *kernel_activation_grad(const aoei_kernels *k, aoei_activation activation);
