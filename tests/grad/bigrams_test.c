/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/bigrams
 * Tests bigram embeddings against direct computations in double. The mean over the outputs for a text must be the mean
 * over its tokens and bigrams, a text of one token must keep its vector, and the order of the tokens must matter only
 * through the bigrams. Tables in bf16 and int8 must give the values of their rows. The bits must not depend on the
 * number of threads.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "nn/bigrams.h"

enum { D = 70, ROWS = 8, VOCAB = 5, TEXTS = 3, N = 8 };

static const size_t lengths[TEXTS] = {1, 3, 4};

static void copy(aoei_tensor to, aoei_tensor from) {
    for (size_t r = 0; r < from.rows; r++)
        memcpy(aoei_tensor_at(to, r, 0), aoei_tensor_at(from, r, 0), from.cols * sizeof(float));
}

/* Computes y from x as in nn/bigrams.h. */
static void reference(double *y, const double *x, const double *table, const aoei_batch *b) {
    for (size_t text = 0; text < b->n_texts; text++)
        for (size_t t = b->offsets[text], end = b->offsets[text + 1]; t < end; t++) {
            const double n = (double)(end - b->offsets[text]);
            for (size_t k = 0; k < D; k++) {
                double sum = x[t * D + k];
                if (t + 1 < end)
                    sum += table[aoei_bigram_row(b->ids[t], b->ids[t + 1], ROWS) * D + k];
                y[t * D + k] = sum * n / (2 * n - 1);
            }
        }
}

static void check_forward(const aoe_context *ctx) {
    double want[N * D], tokens[N * D], rows[ROWS * D];
    aoei_batch b = test_batch(lengths, TEXTS, VOCAB);
    aoei_tensor x = test_tensor(N, D, D + 3, 1, 1), y = test_tensor_poisoned(N, D, D + 3),
                table = test_tensor(ROWS, D, D, 1, 2), rounded = test_tensor_typed(AOEI_BF16, ROWS, D, D, 1, 2);
    copy(y, x);
    aoei_bigrams_forward(ctx, y, table, &b);
    test_to_double(tokens, x);
    test_to_double(rows, table);
    reference(want, tokens, rows, &b);
    test_close(y, want, 1e-6);
    assert_memory_equal(aoei_tensor_at(y, 0, 0), aoei_tensor_at(x, 0, 0), D * sizeof(float)); /* the text with one
                                                                                                 token */
    copy(y, x);
    aoei_bigrams_forward(ctx, y, rounded, &b);
    test_to_double(rows, rounded);
    reference(want, tokens, rows, &b);
    test_close(y, want, 1e-6);
    test_tensor_free(x);
    test_tensor_free(y);
    test_tensor_free(table);
    test_tensor_free(rounded);
    test_batch_free(b, 0);
}

static void forward(void **state) {
    (void)state;
    test_each_tier(check_forward);
}

static void int8_table(void **state) {
    (void)state;
    static int8_t cells[ROWS * D];
    static float scale[ROWS], values[ROWS * D];
    aoe_context *ctx = test_context(test_best_tier(), 1);
    aoei_batch b = test_batch(lengths, TEXTS, VOCAB);
    aoei_tensor y = test_tensor(N, D, D, 1, 1), z = test_tensor(N, D, D, 1, 1);
    for (size_t r = 0; r < ROWS; r++) {
        scale[r] = 0.125F * (float)(1 + r);
        for (size_t k = 0; k < D; k++) {
            cells[r * D + k] = (int8_t)((int)(31 * r + 7 * k) % 255 - 127);
            values[r * D + k] = scale[r] * (float)cells[r * D + k];
        }
    }
    aoei_bigrams_forward(ctx, y, aoei_tensor_wrap_typed(AOEI_I8, cells, scale, ROWS, D), &b);
    aoei_bigrams_forward(ctx, z, aoei_tensor_wrap(values, ROWS, D), &b);
    test_same_bits(y, z);
    test_tensor_free(y);
    test_tensor_free(z);
    test_batch_free(b, 0);
    aoe_context_destroy(ctx);
}

/* Computes the sum of the outputs of a text with the tokens ids[3]. */
static void sum_of(double sum[D], const aoe_context *ctx, const int32_t ids[3], aoei_tensor words, aoei_tensor table) {
    const size_t three = 3;
    aoei_batch b = test_batch(&three, 1, VOCAB);
    aoei_tensor x = test_tensor(3, D, D, 1, 1);
    const int32_t *own = b.ids;
    b.ids = ids;
    for (size_t t = 0; t < 3; t++)
        memcpy(aoei_tensor_at(x, t, 0), aoei_tensor_at(words, (size_t)ids[t], 0), D * sizeof(float));
    aoei_bigrams_forward(ctx, x, table, &b);
    for (size_t k = 0; k < D; k++)
        sum[k] = (double)test_at(x, 0, k) + (double)test_at(x, 1, k) + (double)test_at(x, 2, k);
    b.ids = own;
    test_tensor_free(x);
    test_batch_free(b, 0);
}

static void order_matters_through_bigrams(void **state) {
    (void)state;
    static const int32_t one[] = {1, 3, 4}, other[] = {4, 1, 3};
    aoe_context *ctx = test_context(test_best_tier(), 1);
    aoei_tensor words = test_tensor(VOCAB, D, D, 1, 3), table = test_tensor(ROWS, D, D, 1, 2),
                none = test_tensor(ROWS, D, D, 0, 2);
    double a[D], b[D], difference = 0;
    sum_of(a, ctx, one, words, none);
    sum_of(b, ctx, other, words, none);
    for (size_t k = 0; k < D; k++)
        assert_true(fabs(a[k] - b[k]) <= 1e-5);
    assert_int_not_equal(aoei_bigram_row(3, 4, ROWS), aoei_bigram_row(4, 1, ROWS));
    sum_of(a, ctx, one, words, table);
    sum_of(b, ctx, other, words, table);
    for (size_t k = 0; k < D; k++)
        difference += (a[k] - b[k]) * (a[k] - b[k]);
    assert_true(difference > 1);
    test_tensor_free(words);
    test_tensor_free(table);
    test_tensor_free(none);
    aoe_context_destroy(ctx);
}

/* The rows of the bigrams of few tokens must be distributed over the whole table. */
static void rows_of_the_table(void **state) {
    (void)state;
    enum { K = 64, TOKENS = 40 };
    size_t count[K] = {0};
    for (int32_t a = 0; a < TOKENS; a++)
        for (int32_t b = 0; b < TOKENS; b++) {
            const size_t row = aoei_bigram_row(a, b, K);
            assert_true(row < K);
            count[row]++;
        }
    for (size_t i = 0; i < K; i++) /* 25 bigrams per row on average */
        assert_true(count[i] >= 8 && count[i] <= 50);
    assert_int_equal(aoei_bigram_row(7, 9, 1), 0);
}

typedef struct inputs {
    const aoei_batch *b;
    aoei_tensor dy;
} inputs;

/* The sum of the products of dy and y, as a function of x and the table. */
static double loss(void *arg, const double *v) {
    const inputs *in = arg;
    double y[N * D], sum = 0;
    reference(y, v, v + N * D, in->b);
    for (size_t i = 0; i < N * D; i++)
        sum += y[i] * (double)test_at(in->dy, i / D, i % D);
    return sum;
}

static void gradients(void **state) {
    (void)state;
    static double v[N * D + ROWS * D], grad[N * D + ROWS * D];
    aoei_batch b = test_batch(lengths, TEXTS, VOCAB);
    aoei_tensor x = test_tensor(N, D, D, 1, 1), table = test_tensor(ROWS, D, D, 1, 2), dy = test_tensor(N, D, D, 1, 4),
                first = test_tensor(ROWS, D, D, 0, 0);
    inputs in = {&b, dy};
    test_to_double(v, x);
    test_to_double(v + N * D, table);
    for (size_t threads = 1; threads <= 3; threads++) {
        aoe_context *ctx = test_context(test_best_tier(), threads);
        aoei_tensor dx = test_tensor(N, D, D, 1, 4), dtable = test_tensor(ROWS, D, D, 0, 0),
                    kept = test_tensor(N, D, D, 1, 4);
        aoei_bigrams_backward(ctx, dx, dtable, &b);
        if (threads == 1) {
            test_to_double(grad, dx);
            test_to_double(grad + N * D, dtable);
            test_gradient(loss, &in, v, grad, N * D + ROWS * D, 1e-6);
            copy(first, dtable);
        }
        test_same_bits(dtable, first);
        aoei_bigrams_backward(ctx, kept, (aoei_tensor){0}, &b);
        test_same_bits(kept, dx);
        test_tensor_free(dx);
        test_tensor_free(dtable);
        test_tensor_free(kept);
        aoe_context_destroy(ctx);
    }
    test_tensor_free(x);
    test_tensor_free(table);
    test_tensor_free(dy);
    test_tensor_free(first);
    test_batch_free(b, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forward), cmocka_unit_test(int8_table),
                                       cmocka_unit_test(order_matters_through_bigrams),
                                       cmocka_unit_test(rows_of_the_table), cmocka_unit_test(gradients)};
    return cmocka_run_group_tests_name("bigrams", tests, NULL, NULL);
}
