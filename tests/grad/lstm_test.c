/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/lstm
 * Tests the LSTM: the values of a small example that was computed independently, both directions against a direct
 * computation in double, the gradients by finite differences, the symmetry of the two directions, and equal bits for
 * any number of threads, for a text alone and in a batch, and for a batch in parts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/span.h"
#include "../support/support.h"
#include "nn/linear.h"
#include "nn/lstm.h"

enum { TEXTS = 5, D = 5, H = 3, N = 5 + 1 + 3 + 5 + 2, LONGEST = 5, WEIGHTS = 4 * H * (D + H + 2), SMALL = 1 << 14 };

static const size_t lengths[TEXTS] = {5, 1, 3, 5, 2};

/* An LSTM with its weights, its gradients and all buffers. */
typedef struct fixture {
    float w[WEIGHTS], g[WEIGHTS], x[N * D], y[N * H], dy[N * H], dx[N * D];
    float gates[N * 4 * H], cells[N * H], state[TEXTS * H], recurrent[TEXTS * 4 * H], zeros[H], grad_cell[TEXTS * H],
        previous[N * H];
    uint32_t order[TEXTS];
    size_t active[LONGEST + 1];
    _Alignas(64) float packed[SMALL];
    _Alignas(64) float workspace[SMALL];
} fixture;

static aoei_tensor tensor(float *data, size_t rows, size_t cols) {
    return (aoei_tensor){.data = data, .rows = rows, .cols = cols, .ld = cols};
}

/* Sets the tensors of the weights in the array v[4 out (in + out + 2)]. */
static void weights_of(aoei_tensor *to, float *v, size_t in, size_t out) {
    to[AOEI_LSTM_INPUT] = tensor(v, 4 * out, in);
    to[AOEI_LSTM_RECURRENT] = tensor(v + 4 * out * in, 4 * out, out);
    to[AOEI_LSTM_INPUT_BIAS] = tensor(v + 4 * out * (in + out), 1, 4 * out);
    to[AOEI_LSTM_RECURRENT_BIAS] = tensor(v + 4 * out * (in + out + 1), 1, 4 * out);
}

static aoei_lstm lstm(fixture *f, const aoei_tensor *w, size_t out, int reverse) {
    return (aoei_lstm){.out = out,
                       .reverse = reverse,
                       .w = w,
                       .gates = tensor(f->gates, N, 4 * out),
                       .cells = tensor(f->cells, N, out),
                       .state = tensor(f->state, TEXTS, out),
                       .recurrent = tensor(f->recurrent, TEXTS, 4 * out),
                       .zeros = tensor(f->zeros, 1, out),
                       .grad_cell = tensor(f->grad_cell, TEXTS, out),
                       .previous = tensor(f->previous, N, out),
                       .order = f->order,
                       .active = f->active,
                       .packed = f->packed,
                       .workspace = tensor(f->workspace, 1, SMALL)};
}

static void forward(const aoe_context *ctx, fixture *f, const aoei_batch *batch, int reverse) {
    aoei_tensor w[AOEI_LSTM_WEIGHTS];
    weights_of(w, f->w, D, H);
    const aoei_lstm l = lstm(f, w, H, reverse);
    assert_true(aoei_lstm_packed_size(ctx, H) <= sizeof f->packed);
    assert_true(aoei_linear_workspace(ctx, AOEI_F32, N, 4 * H, D) <= sizeof f->workspace);
    aoei_lstm_forward(ctx, &l, tensor(f->y, batch->n_tokens, H), tensor(f->x, batch->n_tokens, D), batch);
}

/* Runs the forward and the backward pass. */
static void run(const aoe_context *ctx, fixture *f, const aoei_batch *batch, int reverse) {
    aoei_tensor w[AOEI_LSTM_WEIGHTS], g[AOEI_LSTM_WEIGHTS];
    const size_t n = batch->n_tokens;
    weights_of(w, f->w, D, H);
    weights_of(g, f->g, D, H);
    const aoei_lstm l = lstm(f, w, H, reverse);
    forward(ctx, f, batch, reverse);
    aoei_lstm_backward(ctx, &l, tensor(f->dx, n, D), g, tensor(f->dy, n, H), tensor(f->y, n, H), tensor(f->x, n, D),
                       batch);
}

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    test_fill_normal(f->w, WEIGHTS, 0.5, 1);
    test_fill_normal(f->x, (size_t)N * D, 1, 2);
    test_fill_normal(f->dy, (size_t)N * H, 1, 3);
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

/* Computes the outputs y[N, H] in double. v: weights, then inputs. */
static void reference(double *y, const double *v, const aoei_batch *batch, int reverse) {
    const double *w = v, *u = w + 4 * H * D, *b = u + 4 * H * H, *b2 = b + 4 * H, *x = v + WEIGHTS;
    for (size_t text = 0; text < batch->n_texts; text++) {
        double h[H] = {0}, c[H] = {0};
        const size_t first = batch->offsets[text], n = batch->offsets[text + 1] - first;
        for (size_t t = 0; t < n; t++) {
            const size_t token = reverse ? first + n - 1 - t : first + t;
            double a[4 * H];
            for (size_t k = 0; k < 4 * H; k++) {
                a[k] = b[k] + b2[k];
                for (size_t i = 0; i < D; i++)
                    a[k] += w[k * D + i] * x[token * D + i];
                for (size_t i = 0; i < H; i++)
                    a[k] += u[k * H + i] * h[i];
            }
            for (size_t k = 0; k < H; k++) {
                c[k] = logistic(a[H + k]) * c[k] + logistic(a[k]) * tanh(a[2 * H + k]);
                h[k] = logistic(a[3 * H + k]) * tanh(c[k]);
                y[token * H + k] = h[k];
            }
        }
    }
}

typedef struct loss_args {
    const aoei_batch *batch;
    const float *dy;
    int reverse;
} loss_args;

static double loss(void *arg, const double *v) {
    const loss_args *a = arg;
    double y[N * H] = {0}, sum = 0;
    reference(y, v, a->batch, a->reverse);
    for (size_t i = 0; i < (size_t)N * H; i++)
        sum += (double)a->dy[i] * y[i];
    return sum;
}

static void each_tier_equals_reference(const aoe_context *ctx) {
    aoei_batch batch = test_batch(lengths, TEXTS, 10);
    fixture *f = malloc(sizeof *f);
    for (int reverse = 0; reverse < 2; reverse++) {
        double v[WEIGHTS + N * D], grad[WEIGHTS + N * D], y[N * H];
        loss_args a = {&batch, f->dy, reverse};
        begin(f);
        run(ctx, f, &batch, reverse);
        for (size_t i = 0; i < WEIGHTS + N * D; i++) {
            v[i] = (double)(i < WEIGHTS ? f->w[i] : f->x[i - WEIGHTS]);
            grad[i] = (double)(i < WEIGHTS ? f->g[i] : f->dx[i - WEIGHTS]);
        }
        reference(y, v, &batch, reverse);
        test_close(tensor(f->y, N, H), y, 1e-6);
        test_gradient(loss, &a, v, grad, WEIGHTS + N * D, TEST_GRAD_TOLERANCE);
    }
    free(f);
    test_batch_free(batch, 0);
}

static void equals_reference(void **state) {
    (void)state;
    test_each_tier(each_tier_equals_reference);
}

/* One component, all weights 0.5, all biases 0, three inputs. The values were computed independently. */
static void known_values(void **state) {
    (void)state;
    static const double want[] = {-0.064483503672, -0.075681750633, 0.099279848883};
    static const float inputs[] = {-1.5f, -0.25f, 1.0f};
    static const size_t three = 3;
    fixture *f = malloc(sizeof *f);
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    aoei_batch batch = test_batch(&three, 1, 10);
    aoei_tensor w[AOEI_LSTM_WEIGHTS];
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < 8; i++)
        f->w[i] = 0.5f;
    memcpy(f->x, inputs, sizeof inputs);
    weights_of(w, f->w, 1, 1);
    const aoei_lstm l = lstm(f, w, 1, 0);
    aoei_lstm_forward(ctx, &l, tensor(f->y, 3, 1), tensor(f->x, 3, 1), &batch);
    for (size_t i = 0; i < 3; i++)
        if (fabs((double)f->y[i] - want[i]) > 4 * EPS32 * fabs(want[i]))
            fail_msg("token %zu: %.9g, expected %.12g", i, (double)f->y[i], want[i]);
    test_batch_free(batch, 0);
    aoe_context_destroy(ctx);
    free(f);
}

/* The reverse direction of a text is the forward direction of the reversed text. */
static void reverse_of_reversed(void **state) {
    (void)state;
    const size_t one = LONGEST;
    fixture *f = malloc(sizeof *f), *g = malloc(sizeof *g);
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    aoei_batch batch = test_batch(&one, 1, 10);
    begin(f);
    begin(g);
    for (size_t t = 0; t < LONGEST; t++) {
        memcpy(g->x + t * D, f->x + (LONGEST - 1 - t) * D, D * sizeof(float));
        memcpy(g->dy + t * H, f->dy + (LONGEST - 1 - t) * H, H * sizeof(float));
    }
    run(ctx, f, &batch, 0);
    run(ctx, g, &batch, 1);
    for (size_t t = 0; t < LONGEST; t++) {
        assert_memory_equal(g->y + t * H, f->y + (LONGEST - 1 - t) * H, H * sizeof(float));
        assert_memory_equal(g->dx + t * D, f->dx + (LONGEST - 1 - t) * D, D * sizeof(float));
    }
    test_batch_free(batch, 0);
    aoe_context_destroy(ctx);
    free(f);
    free(g);
}

static void each_tier_same_bits(const aoe_context *ctx) {
    aoei_batch batch = test_batch(lengths, TEXTS, 10);
    fixture *f = malloc(sizeof *f), *g = malloc(sizeof *g);
    aoe_context *three = test_context(ctx->tier, 3);
    for (int reverse = 0; reverse < 2; reverse++) {
        begin(f);
        begin(g);
        run(ctx, f, &batch, reverse);
        run(three, g, &batch, reverse);
        assert_memory_equal(f->y, g->y, sizeof f->y);
        assert_memory_equal(f->g, g->g, sizeof f->g);
        assert_memory_equal(f->dx, g->dx, sizeof f->dx);
        /* each text alone; the gradients of the weights are added in the order of the texts */
        float sum[WEIGHTS] = {0};
        for (size_t text = 0; text < TEXTS; text++) {
            aoei_batch alone = test_batch(lengths + text, 1, 10);
            const size_t at = batch.offsets[text];
            begin(g);
            memmove(g->x, g->x + at * D, lengths[text] * D * sizeof(float));
            memmove(g->dy, g->dy + at * H, lengths[text] * H * sizeof(float));
            memcpy(g->g, sum, sizeof sum);
            run(ctx, g, &alone, reverse);
            memcpy(sum, g->g, sizeof sum);
            assert_memory_equal(g->y, f->y + at * H, lengths[text] * H * sizeof(float));
            assert_memory_equal(g->dx, f->dx + at * D, lengths[text] * D * sizeof(float));
            test_batch_free(alone, 0);
        }
        assert_memory_equal(sum, f->g, sizeof sum);
    }
    aoe_context_destroy(three);
    test_batch_free(batch, 0);
    free(f);
    free(g);
}

static void same_bits(void **state) {
    (void)state;
    test_each_tier(each_tier_same_bits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values), cmocka_unit_test(equals_reference),
                                       cmocka_unit_test(reverse_of_reversed), cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
