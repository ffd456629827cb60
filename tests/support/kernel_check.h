/* SPDX-License-Identifier: MIT
 * The frame of the kernel tests: which kernels there are (from kernels.def, so
 * that none can be forgotten), operands at any alignment and stride with
 * canaries around and between their rows, poisoned outputs, and comparisons
 * that a NaN fails. Every random case is a pure function of the printed seed
 * (AOE_TEST_SEED repeats one).
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

/* Runs fn once for each tier that has a kernel of its own for `op`, that this CPU has and AOE_CPU allows. Fails when there is
 * none. k holds the kernels of that tier. */
typedef void (*kernel_tier_fn)(const aoei_kernels *k);
void kernel_each_tier(const char *op, kernel_tier_fn fn);
/* What has been found out about the kernels so far, one entry a kernel of kernels.def. */
typedef struct kernel_record {
    const char *op; /* static */
    aoei_tier tier;
    size_t runs;        /* of kernel_each_tier */
    size_t failed;      /* of them */
    size_t comparisons; /* values compared with what they should be */
    double worst;       /* largest error as a share of its bound; 0 while everything was exact */
} kernel_record;
const kernel_record *kernel_records(size_t *n);
/* Adds a comparison to the record of the kernel that kernel_each_tier is at; bound 0: the value has to be exact. */
void kernel_compared(double error, double bound);
/* The tolerance column of `op` in kernels.def; fails for an unknown op. */
double kernel_tolerance(const char *op);

/* Only these ops from now on; kernel_each_tier passes over the others. */
void kernel_only(const char *const *ops, size_t n);

/* 0 with AOE_TEST_GUARDS=0: pages behind arrays stay open, for emulators whose masked accesses touch lanes that are masked off.
 */
int kernel_guards(void);
uint64_t kernel_seed(void); /* AOE_TEST_SEED, else 1 */
/* Random numbers for one test; prints the seed. */
aoei_rng kernel_rng(const char *test);
size_t kernel_size(aoei_rng *r, size_t low, size_t high); /* uniform in [low, high] */

/* A matrix [rows, cols] inside a block that is all canaries elsewhere: before it,
 * between rows, and behind it unless it is an input, which ends where the block ends, so that a sanitizer sees over-reads. */
typedef struct kernel_matrix {
    float *data; /* [rows, cols] */
    size_t rows, cols;
    size_t ld;     /* floats between rows, >= cols */
    float *block;  /* owned */
    size_t floats; /* in block */
} kernel_matrix;

kernel_matrix kernel_input(aoei_rng *r, size_t rows, size_t cols);  /* uniform in [-1, 1); random stride and alignment */
kernel_matrix kernel_output(aoei_rng *r, size_t rows, size_t cols); /* poisoned: all NaN; random stride and alignment */
/* Elements uniform in [low, high). */
void kernel_fill(kernel_matrix *m, aoei_rng *r, double low, double high);
/* Fails when a canary changed or, with `written`, when an element still is poison. */
void kernel_check_canaries(const kernel_matrix *m, const char *what, int written);
void kernel_free(kernel_matrix *m);

/* |value - expected| <= bound, written so that NaN fails; the message names what and where. */
void kernel_check_value(float value, double expected, double bound, const char *what, size_t row, size_t col);
/* The same bits; the message names what and where. */
void kernel_check_bits(float value, float expected, const char *what, size_t row, size_t col);

#endif
