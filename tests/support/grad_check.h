/* SPDX-License-Identifier: MIT
 * Helpers for tests of nn/ operations: random inputs, contexts of every CPU tier, and comparison of gradients with
 * finite differences of a double-precision function of the same inputs. The function is a separate forward pass in
 * the test, so gradients are compared at the accuracy of float32 rounding instead of at the noise of a float32
 * difference.
 */
#ifndef AOE_TESTS_GRAD_CHECK_H
#define AOE_TESTS_GRAD_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Bound for the float32 rounding error of a backward pass, relative to the norm of the gradient: a few dozen independent
 * roundings of 6e-8 each. */
#define TEST_GRAD_TOLERANCE 2e-6

/* Error of rounding to bf16, relative to the value: half a unit in the last of 8 bits. */
#define TEST_BF16_ROUNDOFF 0x1p-8

/* Returns the highest tier that the CPU supports and AOE_CPU allows. */
aoei_tier test_best_tier(void);
/* Sets AOE_CPU to the name of a tier. Returns the previous value, which test_restore_tier restores and frees. */
char *test_force_tier(const char *name);
void test_restore_tier(char *saved);

/* Returns a context with this tier and number of threads, or NULL if the tier is above test_best_tier. Destroy it with
 * aoe_context_destroy. */
aoe_context *test_context(aoei_tier tier, size_t threads);
/* Calls fn with a single-threaded context for each tier that the CPU supports. */
void test_each_tier(void (*fn)(const aoe_context *ctx));

/* Fills x[n] with normally distributed numbers of standard deviation sd: a pure function of (substream, n). */
void test_fill_normal(float *x, size_t n, double sd, uint32_t substream);
/* Returns a tensor of normally distributed numbers with row stride ld (0: cols) and NaN between rows; free it with
 * test_tensor_free. */
aoei_tensor test_tensor(size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
/* Returns a tensor of NaN, for an output that must be overwritten. */
aoei_tensor test_tensor_poisoned(size_t rows, size_t cols, size_t ld);
/* Like test_tensor and test_tensor_poisoned, with elements of the given type; bf16 elements are the rounded float32 numbers. */
aoei_tensor test_tensor_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
aoei_tensor test_poisoned_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld);
void test_tensor_free(aoei_tensor t);
/* Rounds every element to bf16 without changing the type of the tensor. */
void test_round(aoei_tensor t);
float test_at(aoei_tensor t, size_t row, size_t col);
/* Writes t to out[rows, cols], contiguous. */
void test_to_double(double *out, aoei_tensor t);
/* Asserts that all rows have equal bytes and that the padding between rows is still NaN in both tensors. */
void test_same_bits(aoei_tensor a, aoei_tensor b);
/* Asserts that |a - b| <= tolerance * |b| in the Euclidean norm; NaN fails. */
void test_close(aoei_tensor a, const double *b, double tolerance);
/* Asserts that |a - want| <= bound for every element; NaN fails. */
void test_within(aoei_tensor a, const double *want, const double *bound, const char *what);

/* Returns a packed batch of texts with these lengths, ids in [0, vocab), some of which are equal, and text_index 5, 6, ... */
aoei_batch test_batch(const size_t *lengths, size_t n_texts, size_t vocab);
/* Returns one text of b as a batch of its own, which shares ids and positions with b. */
aoei_batch test_batch_text(const aoei_batch *b, size_t text);
/* shared: 1 if test_batch_text returned the batch. */
void test_batch_free(aoei_batch b, int shared);

/* Returns the loss of the inputs x[n] in double precision. */
typedef double (*test_loss_fn)(void *arg, const double *x);
/* Asserts that grad[n] is the gradient of loss at x: element by element for small n, otherwise along 16 random directions
 * with 1, 3, 9 ... up to all nonzero elements. The bound is |difference| <= tolerance * |grad| * |direction|. */
void test_gradient(test_loss_fn loss, void *arg, const double *x, const double *grad, size_t n, double tolerance);

#endif
