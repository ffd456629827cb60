/* SPDX-License-Identifier: MIT
 * covers: nn/langml_layernorm nn/ran_ops nn/rows
 * Tests the element-wise operations of the recurrent encoder (RAN). These are:
 * - swish followed by RoPE
 * - a gated linear unit whose output is added to x, optionally after swish and dropout of x
 * - the LayerNorm variant of langml
 * The forward passes are compared with double precision, and the backward passes with finite differences, in float32
 * and bf16. Attention by spans is compared with attention by batches.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/random.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/ran_ops.h"
#include "nn/rows.h"
#include "nn/langml_layernorm.h"

enum { ROWS = 9, DIM = 6, HEADS = 3, WIDTH = HEADS * DIM, TOTAL = 3 * ROWS * WIDTH + 2 * WIDTH };

static const uint32_t positions[ROWS] = {0, 1, 2, 3, 0, 1, 5, 7, 2};
static const size_t lengths[] = {2, 1, 6};

/* The operation under test. `run` computes its output y from `in`, the concatenation of its inputs. The loss is
 * sum(weight * y). */
typedef struct problem {
    void (*run)(double *y, const double *in, const struct problem *p);
    double weight[ROWS * WIDTH];
    int option; /* 1: swish_reference applies the rotation, and sum_reference applies swish and dropout to x; 0:
                   neither */
    double kept[ROWS * WIDTH];
    double eps;
} problem;

static double loss(void *arg, const double *in) {
    const problem *p = arg;
    double y[ROWS * WIDTH], sum = 0;
    p->run(y, in, p);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        sum += p->weight[i] * y[i];
    return sum;
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static void swish_reference(double *y, const double *in, const problem *p) {
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        y[i] = in[i] * logistic(in[i]);
    for (size_t i = 0; i < ROWS * WIDTH && p->option; i += 2) {
        const double angle = (double)positions[i / WIDTH] * pow(10000, -(double)(i % DIM) / DIM), a = y[i],
                     b = y[i + 1];
        y[i] = a * cos(angle) - b * sin(angle);
        y[i + 1] = b * cos(angle) + a * sin(angle);
    }
}

/* Computes y = x + GLU(gated), with dropout(swish(x)) instead of x if `option` is 1. `in` is the concatenation of gated
 * [ROWS, 2 WIDTH] and x [ROWS, WIDTH]. */
static void sum_reference(double *y, const double *in, const problem *p) {
    const double *x = in + 2 * ROWS * WIDTH;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        const double *row = in + i / WIDTH * 2 * WIDTH;
        const double branch = p->option ? x[i] * logistic(x[i]) * p->kept[i] : x[i];
        y[i] = branch + row[i % WIDTH] * logistic(row[WIDTH + i % WIDTH]);
    }
}

/* Computes y = norm(x). `in` is the concatenation of x, gamma and beta. */
static void norm_reference(double *y, const double *in, const problem *p) {
    for (size_t r = 0; r < ROWS; r++) {
        const double *x = in + r * WIDTH;
        double mean = 0, square = 0;
        for (size_t c = 0; c < WIDTH; c++) {
            mean += x[c] / WIDTH;
            square += x[c] * x[c] / WIDTH;
        }
        for (size_t c = 0; c < WIDTH; c++)
            y[r * WIDTH + c] =
                (x[c] - mean) / sqrt(square + p->eps) * in[ROWS * WIDTH + c] + in[(ROWS + 1) * WIDTH + c];
    }
}

static double roundoff(aoei_dtype type) {
    return 3e-7 + (type == AOEI_BF16 ? TEST_BF16_ROUNDOFF : 0);
}

static double gradient_roundoff(aoei_dtype type) {
    return TEST_GRAD_TOLERANCE + (type == AOEI_BF16 ? TEST_BF16_ROUNDOFF : 0);
}

static void check_swish(const aoe_context *ctx, aoei_dtype type, int rotated) {
    aoei_tensor all = test_tensor_typed(type, ROWS, 2 * WIDTH, 0, 2, 1), x = aoei_tensor_cols(all, WIDTH, WIDTH);
    aoei_tensor y = test_poisoned_typed(type, ROWS, WIDTH, WIDTH + 3), dx = test_poisoned_typed(type, ROWS, WIDTH, 0);
    aoei_tensor dy = test_tensor(ROWS, WIDTH, WIDTH + 5, 1, 2), table = test_tensor_poisoned(8, DIM, 0);
    const aoei_rotation rotation = {.position = rotated ? positions : NULL, .table = table};
    problem p = {.run = swish_reference, .option = rotated};
    double in[TOTAL], want[ROWS * WIDTH], grad[ROWS * WIDTH];
    aoei_rotation_table(ctx, table, 10000);
    aoei_swish_forward(ctx, y, x, &rotation);
    test_to_double(in, x);
    test_to_double(p.weight, dy);
    p.run(want, in, &p);
    test_close(y, want, roundoff(type));
    aoei_swish_backward(ctx, dx, dy, x, &rotation);
    test_to_double(grad, dx);
    test_gradient(loss, &p, in, grad, ROWS * WIDTH, gradient_roundoff(type));
    aoei_swish_forward(ctx, x, x, &rotation); /* the output is in the memory of the input */
    test_to_double(want, y);
    test_close(x, want, 0);
    test_tensor_free(all);
    test_tensor_free(y);
    test_tensor_free(dx);
    test_tensor_free(dy);
    test_tensor_free(table);
}

/* Writes the dropout factors 0 or 1 / (1 - p) to kept[ROWS * WIDTH]. They are computed directly with the Philox
 * generator. */
static void masks(double *kept, const aoei_batch *b, const aoei_dropout *drop) {
    for (size_t text = 0; text < b->n_texts; text++)
        for (size_t r = b->offsets[text]; r < b->offsets[text + 1]; r++)
            for (size_t c = 0; c < WIDTH; c++) {
                const uint32_t counter[4] = {(uint32_t)(c / 64 * 16 + c % 16),
                                             (uint32_t)(r - b->offsets[text]) + b->first[text], b->text_index[text],
                                             drop->site << 16};
                uint32_t word[4];
                aoei_philox(word, counter, drop->key);
                kept[r * WIDTH + c] = word[c % 64 / 16] >= (uint32_t)(drop->p * 4294967296.0) ? 1 / (1 - drop->p) : 0;
            }
}

static void check_sum(const aoe_context *ctx, aoei_dtype type, int swish) {
    static const uint32_t numbers[] = {4, 0, 11};
    aoei_tensor gated = test_tensor_typed(type, ROWS, 2 * WIDTH, 0, 2, 1),
                x = test_tensor_typed(type, ROWS, WIDTH, WIDTH + 1, 2, 2);
    aoei_tensor y = test_poisoned_typed(type, ROWS, WIDTH, WIDTH + 3), dy = test_tensor(ROWS, WIDTH, 0, 1, 3);
    aoei_tensor dgated = test_poisoned_typed(type, ROWS, 2 * WIDTH, 0), dx = test_poisoned_typed(type, ROWS, WIDTH, 0);
    aoei_batch b = test_batch(lengths, 3, 10);
    b.first = numbers;
    const aoei_gated_sum s = {.gated = gated,
                              .x = x,
                              .swish = swish,
                              .batch = swish ? &b : NULL,
                              .drop = {.p = 0.3, .key = {5, 6}, .site = 9}};
    problem p = {.run = sum_reference, .option = swish};
    double in[TOTAL], want[ROWS * WIDTH], grad[3 * ROWS * WIDTH];
    masks(p.kept, &b, &s.drop);
    test_to_double(in, gated);
    test_to_double(in + 2 * ROWS * WIDTH, x);
    test_to_double(p.weight, dy);
    aoei_gated_sum_forward(ctx, y, &s);
    p.run(want, in, &p);
    test_close(y, want, roundoff(type));
    aoei_gated_sum_backward(ctx, dgated, dx, dy, &s);
    test_to_double(grad, dgated);
    test_to_double(grad + 2 * ROWS * WIDTH, swish ? dx : dy);
    test_gradient(loss, &p, in, grad, 3 * ROWS * WIDTH, gradient_roundoff(type));
    const aoei_tensor all[] = {gated, x, y, dy, dgated, dx};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
    b.first = NULL;
    test_batch_free(b, 0);
}

static void check_norm(const aoe_context *ctx, aoei_dtype type, double eps) {
    aoei_tensor x = test_tensor_typed(type, ROWS, WIDTH, WIDTH + 2, 1, 1), gamma = test_tensor(1, WIDTH, 0, 1, 2),
                beta = test_tensor(1, WIDTH, 0, 1, 3), dy = test_tensor(ROWS, WIDTH, 0, 1, 4), none = {0};
    aoei_tensor y = test_poisoned_typed(type, ROWS, WIDTH, 0), stats = test_tensor_poisoned(ROWS, 2, 0);
    aoei_tensor dx = test_tensor_poisoned(ROWS, WIDTH, 0), only = test_tensor_poisoned(ROWS, WIDTH, 0),
                dgamma = test_tensor_poisoned(1, WIDTH, 0), dbeta = test_tensor_poisoned(1, WIDTH, 0);
    problem p = {.run = norm_reference, .eps = eps};
    double in[TOTAL], want[ROWS * WIDTH], grad[(ROWS + 2) * WIDTH];
    test_to_double(in, x);
    test_to_double(in + ROWS * WIDTH, gamma);
    test_to_double(in + (ROWS + 1) * WIDTH, beta);
    test_to_double(p.weight, dy);
    aoei_langml_layernorm_forward(ctx, y, stats, x, gamma, beta, eps);
    p.run(want, in, &p);
    test_close(y, want, roundoff(type));
    aoei_tensor_zero(ctx, dgamma);
    aoei_tensor_zero(ctx, dbeta);
    aoei_langml_layernorm_backward(ctx, dx, dgamma, dbeta, dy, x, stats, gamma);
    test_to_double(grad, dx);
    test_to_double(grad + ROWS * WIDTH, dgamma);
    test_to_double(grad + (ROWS + 1) * WIDTH, dbeta);
    test_gradient(loss, &p, in, grad, (ROWS + 2) * WIDTH, TEST_GRAD_TOLERANCE);
    aoei_langml_layernorm_backward(ctx, only, none, none, dy, x, stats, gamma); /* only dx is requested */
    test_same_bits(only, dx);
    const aoei_tensor all[] = {x, gamma, beta, dy, y, stats, dx, only, dgamma, dbeta};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
}

static void on_tier(const aoe_context *ctx) {
    for (int type = AOEI_F32; type <= AOEI_BF16; type++)
        for (int option = 0; option < 2; option++) {
            check_swish(ctx, (aoei_dtype)type, option);
            check_sum(ctx, (aoei_dtype)type, option);
            check_norm(ctx, (aoei_dtype)type, option ? 1e-7 : 0.1);
        }
}

static void test_values(void **state) {
    (void)state;
    test_each_tier(on_tier);
}

/* Compares attention by spans (aoei_attention_spans_forward) with attention by batches (aoei_attention_forward). A span
 * consists of some queries of a text and of all keys of the text. The test divides each text into two spans. The
 * forward pass must give the same bits. The backward pass must add to the stored values of dk and dv. */
static void test_spans(void **state) {
    (void)state;
    static const size_t texts[] = {5, 70, 3};
    aoe_context *ctx = test_context(test_best_tier(), 2);
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        aoei_batch b = test_batch(texts, 3, 10);
        const aoei_attention a = {
            .heads = 2, .kv_heads = 2, .head_dim = 8, .scale = 0.3, .drop = {.p = 0.2, .key = {1, 2}, .site = 3}};
        const size_t N = b.n_tokens, H = 16;
        aoei_tensor in = test_tensor_typed((aoei_dtype)type, N, 3 * H, 0, 1, 1), q = aoei_tensor_cols(in, 0, H),
                    k = aoei_tensor_cols(in, H, H), v = aoei_tensor_cols(in, 2 * H, H);
        aoei_tensor want = test_poisoned_typed((aoei_dtype)type, N, H, 0),
                    out = test_poisoned_typed((aoei_dtype)type, N, H, 0);
        aoei_tensor dout = test_tensor_typed((aoei_dtype)type, N, H, 0, 1, 2), grad = test_tensor(N, 3 * H, 0, 0, 3),
                    whole = test_poisoned_typed(AOEI_F32, N, 3 * H, 0);
        aoei_attention_span spans[6];
        for (uint32_t i = 0; i < 6; i++) {
            const uint32_t first = b.offsets[i / 2], rows = b.offsets[i / 2 + 1] - first, cut = rows / 2;
            spans[i] = (aoei_attention_span){i % 2 ? first + cut : first, i % 2 ? rows - cut : cut, first, rows,
                                             b.text_index[i / 2],         i % 2 ? cut : 0};
        }
        const size_t bytes = aoei_attention_spans_scratch(ctx, &a, (aoei_dtype)type, 70, 70);
        aoei_tensor scratch = test_tensor_poisoned(1, bytes / sizeof(float) + 1, 0);
        aoei_attention_forward(ctx, want, q, k, v, &b, &a, scratch);
        aoei_attention_spans_forward(ctx, out, q, k, v, spans, 6, &a, scratch);
        test_same_bits(out, want);
        aoei_tensor_zero(ctx, whole);
        aoei_attention_backward(ctx, aoei_tensor_cols(whole, 0, H), aoei_tensor_cols(whole, H, H),
                                aoei_tensor_cols(whole, 2 * H, H), dout, q, k, v, &b, &a, scratch);
        /* the second call adds its dk and dv to the dk and dv of the first call */
        for (int half = 0; half < 2; half++) {
            aoei_attention_span part[3] = {spans[half], spans[2 + half], spans[4 + half]};
            aoei_attention_spans_backward(ctx, aoei_tensor_cols(grad, 0, H), aoei_tensor_cols(grad, H, H),
                                          aoei_tensor_cols(grad, 2 * H, H), dout, q, k, v, part, 3, &a, scratch);
        }
        double *expected = malloc(N * 3 * H * sizeof *expected);
        test_to_double(expected, whole);
        test_close(grad, expected, 1e-6);
        free(expected);
        const aoei_tensor all[] = {in, want, out, dout, grad, whole, scratch};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            test_tensor_free(all[i]);
        test_batch_free(b, 0);
    }
    aoe_context_destroy(ctx);
}

static void test_rows(void **state) {
    (void)state;
    static const uint32_t index[] = {3, AOEI_NO_ROW, 0}, plain[] = {3, 1, 0};
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    aoei_tensor a = test_tensor(3, 5, 0, 1, 1), to = test_tensor(4, 5, 7, 1, 2), before = test_tensor(4, 5, 0, 1, 2);
    aoei_rows_put(ctx, to, a, index);
    for (size_t c = 0; c < 5; c++)
        assert_true(test_at(to, 3, c) == test_at(a, 0, c) && test_at(to, 0, c) == test_at(a, 2, c) &&
                    test_at(to, 1, c) == test_at(before, 1, c) && test_at(to, 2, c) == test_at(before, 2, c));
    aoei_rows_gather(ctx, a, to, index);
    for (size_t c = 0; c < 5; c++)
        assert_true(test_at(a, 0, c) == test_at(to, 3, c) && test_at(a, 1, c) == 0 &&
                    test_at(a, 2, c) == test_at(to, 0, c));
    aoei_rows_add(ctx, to, a, plain);
    for (size_t c = 0; c < 5; c++)
        assert_true(test_at(to, 3, c) == 2 * test_at(a, 0, c) && test_at(to, 1, c) == test_at(before, 1, c));
    test_tensor_free(a);
    test_tensor_free(to);
    test_tensor_free(before);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_spans),
                                       cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
