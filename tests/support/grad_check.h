/* SPDX-License-Identifier: MIT
 * Helpers for tests of the operations in src/nn: random inputs, contexts for every instruction set (tier), and the
 * comparison of gradients with finite differences. Each test implements the forward pass in double precision, and the
 * finite differences are computed from this implementation. Finite differences of a float32 function would be too
 * inaccurate.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Tolerance for the float32 rounding error of a backward pass, relative to the norm of the gradient. It allows for a
 * few dozen independent roundings of 6e-8 each. */
#define TEST_GRAD_TOLERANCE 2e-6

/* Largest relative error of rounding to bf16, whose significand has 8 bits. */
#define TEST_BF16_ROUNDOFF 0x1p-8

/* Returns the highest tier that the CPU supports and that the environment variable AOE_CPU allows. */
aoei_tier test_best_tier(void);
/* Sets the environment variable AOE_CPU to the name of a tier. Returns the previous value. test_restore_tier restores
 * this value and frees it. */
char *test_force_tier(const char *name);
void test_restore_tier(char *saved);

/* Returns a context with the given tier and number of threads, or NULL if the tier is above test_best_tier(). The
 * caller destroys it with aoe_context_destroy. */
aoe_context *test_context(aoei_tier tier, size_t threads);
/* Returns 1 if the kernels of the tier differ from those of a lower tier only in the int8 matmul. */
int test_tier_adds_int8(aoei_tier tier);
/* Returns 1 if tests of operations and encoders leave out the tier: test_tier_adds_int8 returns 1, or the tests are
 * compiled with a sanitizer, and the tier is not the best one. The tests in tests/kernels cover the kernels of every
 * tier. */
int test_skips_tier(aoei_tier tier);
/* Returns the pooling over tokens that follows `pooling` in the values of aoe_pooling that all architectures support
 * (AOEI_TOKEN_POOLINGS), or the first one if `pooling` is 0. Returns 0 after the last one. */
int test_next_pooling(int pooling);
/* Calls fn with a single-threaded context for each tier up to test_best_tier(), except those for which test_skips_tier
 * returns
 * 1. */
void test_each_tier(void (*fn)(const aoe_context *ctx));

/* Fills x[n] with normally distributed numbers of standard deviation sd. The numbers depend only on `substream` and
 * n. */
void test_fill_normal(float *x, size_t n, double sd, uint32_t substream);
/* Returns a tensor of normally distributed numbers with standard deviation sd. The row stride is ld, or cols if ld is
 * 0. The padding between rows is NaN. The caller frees the tensor with test_tensor_free. */
aoei_tensor test_tensor(size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
/* Returns a tensor whose elements are all NaN. It is used for outputs that the tested operation must overwrite. */
aoei_tensor test_tensor_poisoned(size_t rows, size_t cols, size_t ld);
/* These functions correspond to test_tensor and test_tensor_poisoned, but the elements have the given type. Elements in
 * bf16 are the rounded elements of the float32 tensor. */
aoei_tensor test_tensor_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld, double sd, uint32_t substream);
aoei_tensor test_poisoned_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld);
void test_tensor_free(aoei_tensor t);
/* Rounds every element to bf16 without changing the type of the tensor. */
void test_round(aoei_tensor t);
float test_at(aoei_tensor t, size_t row, size_t col);
/* Writes the elements of t to out[rows, cols], without padding between rows. */
void test_to_double(double *out, aoei_tensor t);
/* Asserts that the rows of a and b have equal bytes, and that the padding between rows is still NaN in both tensors. */
void test_same_bits(aoei_tensor a, aoei_tensor b);
/* Asserts that |a - b| <= tolerance * |b|, where |x| is the Euclidean norm. Fails if an element is NaN. */
void test_close(aoei_tensor a, const double *b, double tolerance);
/* Asserts that |a - want| <= bound for every element. Fails if an element is NaN. `what` appears in the message. */
void test_within(aoei_tensor a, const double *want, const double *bound, const char *what);

/* Returns a packed batch of texts with the given lengths. The token ids are random numbers below `vocab`, and some ids
 * are equal. The elements of text_index are 5, 6, ... */
aoei_batch test_batch(const size_t *lengths, size_t n_texts, size_t vocab);
/* Returns a batch that consists of one text of b. It shares the arrays ids and positions with b. */
aoei_batch test_batch_text(const aoei_batch *b, size_t text);
/* Frees a batch. shared: 1 if test_batch_text returned the batch; its ids and positions are not freed then. */
void test_batch_free(aoei_batch b, int shared);

/* A function that returns the loss for the inputs x[n] in double precision. */
typedef double (*test_loss_fn)(void *arg, const double *x);
/* Asserts that grad[n] is the gradient of the loss at x. For small n, every element is checked. For large n, the
 * derivatives along 16 random directions are checked. These directions have 1, 3, 9, ... and finally n nonzero
 * elements. The difference quotient along a direction may differ from the dot product of grad and the direction by at
 * most tolerance * |grad| * |direction|. */
void test_gradient(test_loss_fn loss, void *arg, const double *x, const double *grad, size_t n, double tolerance);
/* Asserts that g is the gradient of loss(arg) for the weight w[g.rows * g.cols], which `arg` contains, in a model with
 * layers after the encoder. The derivatives along g and along a random direction, which depends on `number`, are
 * compared with difference quotients. whole: norm of the gradient of all weights. The tolerances are twice those of
 * encoder_grad_test.c, because more roundings follow each other. */
void test_weight_gradient(const aoe_context *ctx, double *w, aoei_tensor g, double whole, uint32_t number,
                          double (*loss)(void *arg), void *arg);
