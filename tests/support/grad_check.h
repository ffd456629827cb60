/* SPDX-License-Identifier: MIT
 * Checking nn/ operations: random inputs, contexts of every tier, and gradients against
 * finite differences of a double-precision function of the same inputs. The function is
 * the test's own forward pass, so that a gradient is held to float32 rounding instead of
 * to the noise of a float32 difference.
 */
#ifndef AOE_TESTS_GRAD_CHECK_H
#define AOE_TESTS_GRAD_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* float32 rounding of a backward pass, relative to the norm of the gradient: a few dozen roundings of 6e-8 each
 * that do not conspire. */
#define TEST_GRAD_TOLERANCE 2e-6

/* Rounding to bf16, relative to the value: half a unit of the last of 8 bits. */
#define TEST_BF16_ROUNDOFF 0x1p-8

/* The highest tier that this CPU has and AOE_CPU allows. */
aoei_tier test_best_tier(void);
/* Sets AOE_CPU; what it was before goes back with test_restore_tier, so that a cap on the whole run holds. */
char *test_force_tier(const char *name);
void test_restore_tier(char *saved);

/* A context of `tier` with `threads` threads, or NULL when that is above test_best_tier. aoe_context_destroy. */
aoe_context *test_context(aoei_tier tier, size_t threads);
/* Runs fn with a context of each tier that this CPU has, with one thread. */
void test_each_tier(void (*fn)(const aoe_context *ctx));

/* x[n] = normal numbers times sd; a pure function of (substream, n). */
void test_fill_normal(float *x, size_t n, double sd, uint32_t substream);
/* A tensor of such numbers with `ld` floats between rows, NaN in between; test_tensor_free. ld 0: contiguous. */
aoei_tensor test_tensor(size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
/* All NaN: an output that must be overwritten. */
aoei_tensor test_tensor_poisoned(size_t rows, size_t cols, size_t ld);
/* The same of a type: bf16 numbers are those of float32, rounded. */
aoei_tensor test_tensor_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
aoei_tensor test_poisoned_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld);
void test_tensor_free(aoei_tensor t);
/* Rounds every element to bf16; the type stays. */
void test_round(aoei_tensor t);
float test_at(aoei_tensor t, size_t row, size_t col);
/* out[rows, cols] = t, contiguous. */
void test_to_double(double *out, aoei_tensor t);
/* The bytes of every row are equal, and what lies between rows is still NaN in both. */
void test_same_bits(aoei_tensor a, aoei_tensor b);
/* |a - b| <= tolerance * |b| in the Euclidean norm; NaN fails. */
void test_close(aoei_tensor a, const double *b, double tolerance);
/* Element by element |a - want| <= bound; NaN fails. */
void test_within(aoei_tensor a, const double *want, const double *bound, const char *what);

/* A packed batch of texts of these lengths with ids in [0, vocab), some of them equal; text_index is 5, 6, ... */
aoei_batch test_batch(const size_t *lengths, size_t n_texts, size_t vocab);
/* One text of it as a batch of its own: shares ids and positions. */
aoei_batch test_batch_text(const aoei_batch *b, size_t text);
/* shared: it came from test_batch_text. */
void test_batch_free(aoei_batch b, int shared);

/* Loss of inputs x[n] in double. */
typedef double (*test_loss_fn)(void *arg, const double *x);
/* Asserts that grad[n] is the gradient of loss at x: element by element for small n, else along 16 random directions of
 * 1, 3, 9 ... elements up to all; |difference| <= tolerance * |grad| * |direction|. */
void test_gradient(test_loss_fn loss, void *arg, const double *x, const double *grad, size_t n, double tolerance);

#endif
