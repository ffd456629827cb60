/* SPDX-License-Identifier: MIT
 * Helpers for tests of the operations in src/nn: random inputs, contexts of every CPU tier, and the comparison of gradients
 * with finite differences. The finite differences are computed from a function in double precision: a separate implementation
 * of the forward pass in the test. Gradients can therefore be compared with the accuracy of float32 rounding. Finite
 * differences of a float32 function would be too inaccurate.
 */
#ifndef AOE_TESTS_GRAD_CHECK_H
#define AOE_TESTS_GRAD_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Tolerance for the float32 rounding error of a backward pass, relative to the norm of the gradient. It corresponds to a few
 * dozen independent roundings of 6e-8 each. */
#define TEST_GRAD_TOLERANCE 2e-6

/* Relative error of rounding to bf16: half a unit in the last of the 8 bits of the significand. */
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

/* Fills x[n] with normally distributed numbers of standard deviation sd. The numbers depend only on `substream` and n. */
void test_fill_normal(float *x, size_t n, double sd, uint32_t substream);
/* Returns a tensor of normally distributed numbers with row stride ld (0: cols) and NaN between rows; free it with
 * test_tensor_free. */
aoei_tensor test_tensor(size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
/* Returns a tensor whose elements are NaN, for an output that the tested operation must overwrite. */
aoei_tensor test_tensor_poisoned(size_t rows, size_t cols, size_t ld);
/* Return tensors like test_tensor and test_tensor_poisoned, whose elements have the given type. bf16 elements are the rounded
 * float32 numbers. */
aoei_tensor test_tensor_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
aoei_tensor test_poisoned_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld);
void test_tensor_free(aoei_tensor t);
/* Rounds every element to bf16 without changing the type of the tensor. */
void test_round(aoei_tensor t);
float test_at(aoei_tensor t, size_t row, size_t col);
/* Writes the elements of t to out[rows, cols], without padding between rows. */
void test_to_double(double *out, aoei_tensor t);
/* Asserts that all rows have equal bytes and that the padding between rows is still NaN in both tensors. */
void test_same_bits(aoei_tensor a, aoei_tensor b);
/* Asserts that |a - b| <= tolerance * |b| in the Euclidean norm; NaN fails. */
void test_close(aoei_tensor a, const double *b, double tolerance);
/* Asserts that |a - want| <= bound for every element; NaN fails. */
void test_within(aoei_tensor a, const double *want, const double *bound, const char *what);

/* Returns a packed batch of texts with these lengths. The token ids are random numbers below `vocab`, some of which are equal.
 * text_index is 5, 6, ... */
aoei_batch test_batch(const size_t *lengths, size_t n_texts, size_t vocab);
/* Returns one text of b as a batch of its own, which shares ids and positions with b. */
aoei_batch test_batch_text(const aoei_batch *b, size_t text);
/* Frees a batch. shared: 1 if test_batch_text returned the batch, whose ids and positions belong to another batch. */
void test_batch_free(aoei_batch b, int shared);

/* Returns the loss of the inputs x[n] in double precision. */
typedef double (*test_loss_fn)(void *arg, const double *x);
/* Asserts that grad[n] is the gradient of the loss at x. For small n, every element is checked. Otherwise, the derivative is
 * checked along 16 random directions, which have 1, 3, 9, ... and finally n nonzero elements. The error must satisfy
 * |difference| <= tolerance * |grad| * |direction|. */
void test_gradient(test_loss_fn loss, void *arg, const double *x, const double *grad, size_t n, double tolerance);

#endif
