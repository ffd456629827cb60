/* SPDX-License-Identifier: MIT
 * Helpers of the kernel tests. They provide the list of kernels from kernels.def, so that no kernel is missed, and operands
 * with any alignment and stride. Operands have canaries around them and between their rows, and outputs are filled with NaN.
 * Comparisons fail for NaN. Every random case depends only on the printed seed; set AOE_TEST_SEED to repeat it.
 */
#ifndef AOE_TESTS_KERNEL_CHECK_H
#define AOE_TESTS_KERNEL_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "kernels/kernel_table.h"
#include "kernels/kernels.h"

/* Unit roundoff of float32, 2^-24: the relative error of one rounding. */
#define KERNEL_ROUNDOFF (1.0 / 16777216.0)

/* Calls fn for each tier that has its own kernel for `op`, provided that the CPU supports the tier and AOE_CPU allows it. Fails
 * if there is no such tier. k contains the kernels of the tier. */
typedef void (*kernel_tier_fn)(const aoei_kernels *k);
void kernel_each_tier(const char *op, kernel_tier_fn fn);
/* Results of the tests so far for one kernel of kernels.def. */
typedef struct kernel_record {
    const char *op; /* name of the operation; static */
    aoei_tier tier;
    size_t runs;        /* number of times that kernel_each_tier called a test of this kernel */
    size_t failed;      /* number of these calls in which the test failed */
    size_t comparisons; /* values that were compared with expected values */
    double worst;       /* largest error divided by its bound; 0 if all values were exact */
} kernel_record;
const kernel_record *kernel_records(size_t *n);
/* Adds a comparison to the record of the kernel that kernel_each_tier is testing. If bound is 0, the value must be exact. */
void kernel_compared(double error, double bound);
/* Returns the tolerance of `op` in kernels.def; fails for an unknown op. */
double kernel_tolerance(const char *op);

/* Restricts kernel_each_tier to these ops; it skips all others. */
void kernel_only(const char *const *ops, size_t n);

/* Returns 0 if AOE_TEST_GUARDS=0, otherwise 1. If it is 0, the pages after arrays stay accessible. CPU emulators need this if
 * their masked loads also read the disabled lanes. */
int kernel_guards(void);
uint64_t kernel_seed(void); /* returns AOE_TEST_SEED, or 1 if it is not set */
/* Returns a random number generator for one test and prints its seed. */
aoei_rng kernel_rng(const char *test);
size_t kernel_size(aoei_rng *r, size_t low, size_t high); /* uniform in [low, high] */

/* A matrix [rows, cols] inside a block whose other elements are canaries. There are canaries before the matrix, between its
 * rows and, if it is an output, after it. An input ends where the block ends, so that a sanitizer detects a read after its
 * end. */
typedef struct kernel_matrix {
    float *data; /* [rows, cols] */
    size_t rows, cols;
    size_t ld;     /* row stride in floats, >= cols */
    float *block;  /* owned memory */
    size_t floats; /* size of block */
} kernel_matrix;

kernel_matrix kernel_input(aoei_rng *r, size_t rows, size_t cols);  /* uniform in [-1, 1); random stride and alignment */
kernel_matrix kernel_output(aoei_rng *r, size_t rows, size_t cols); /* filled with NaN; random stride and alignment */
/* Fills the matrix with numbers uniform in [low, high). */
void kernel_fill(kernel_matrix *m, aoei_rng *r, double low, double high);
/* Fails if a canary has changed. If `written` is set, also fails if an element of the matrix was not written. `what` names the
 * matrix in the message. */
void kernel_check_canaries(const kernel_matrix *m, const char *what, int written);
void kernel_free(kernel_matrix *m);

/* Asserts that |value - expected| <= bound; NaN fails. `what`, row and col appear in the message. */
void kernel_check_value(float value, double expected, double bound, const char *what, size_t row, size_t col);
/* Asserts that the bits are equal. `what`, row and col appear in the message. */
void kernel_check_bits(float value, float expected, const char *what, size_t row, size_t col);

#endif
