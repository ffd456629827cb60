/* SPDX-License-Identifier: MIT
 * covers: nn/adapter
 * Tests linear layers with LoRA adapters. The frozen weights have every type that the layer supports. Outputs and
 * gradients are compared with a double-precision implementation of y = x W^T + b + scale (mask * x) A^T B^T and its
 * derivatives. Another test checks that results do not depend on the number of threads.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "base/random.h"
#include "modeldir/storage.h"
#include "nn/adapter.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/linear.h"

enum { N = 75, I = 40, O = 70, R = 5 };
#define SCALE 0.75

typedef struct layer {
    aoei_tensor x, w, b, dy, gate; /* inputs of both passes; w may have another type than x */
    /* y and pre are the outputs of the forward pass; dx, dw and db are the outputs of the backward pass. The backward
     * pass adds to the initial values of dw and db, and also of dx if `accumulate` is set. */
    aoei_tensor y, pre, dx, dw, db;
    aoei_tensor down, up, ddown, dup, low, dropped, workspace;
    aoei_tensor w32; /* w converted to float32 */
    float *scales;
    aoei_batch batch;
    aoei_adapter adapter;
} layer;

static aoei_tensor frozen(aoei_dtype type, aoei_tensor w, float *scales) {
    const aoei_tensor t = aoei_tensor_wrap_typed(type, calloc(w.rows * w.cols, 4), scales, w.rows, w.cols);
    assert_non_null(t.data);
    for (size_t r = 0; r < w.rows; r++) {
        const float *row = aoei_tensor_at(w, r, 0);
        if (type == AOEI_I8)
            scales[r] = aoei_int8_row(aoei_tensor_at(t, r, 0), row, w.cols);
        for (size_t c = 0; c < w.cols; c++)
            if (type == AOEI_BF16)
                ((aoei_bf16 *)aoei_tensor_at(t, r, 0))[c] = aoei_bf16_from_f32(row[c]);
            else if (type == AOEI_F32)
                ((float *)aoei_tensor_at(t, r, 0))[c] = row[c];
    }
    return t;
}

static layer layer_create(const aoe_context *ctx, aoei_dtype type, aoei_dtype weights, double dropout) {
    static const size_t lengths[] = {1, 40, 34};
    layer l = {.x = test_tensor_typed(type, N, I, 0, 1, 1),
               .b = test_tensor(1, O, 0, 1, 3),
               .dy = test_tensor_typed(type, N, O, 0, 1, 5),
               .gate = test_tensor_typed(type, N, I, 0, 1, 8),
               .y = test_poisoned_typed(type, N, O, 0),
               .pre = test_poisoned_typed(type, N, O, 0),
               .dx = test_tensor_typed(type, N, I, 0, 1, 9),
               .dw = test_tensor(O, I, 0, 1, 6),
               .db = test_tensor(1, O, 0, 1, 7),
               .down = test_tensor(R, I, 0, 0.5, 10),
               .up = test_tensor(O, R, 0, 0.5, 11),
               .ddown = test_tensor(R, I, 0, 1, 12),
               .dup = test_tensor(O, R, 0, 1, 13),
               .low = test_tensor_poisoned(1, aoei_adapter_low_bytes(N, R) / sizeof(float), 0),
               .dropped = test_tensor_poisoned(1, aoei_adapter_dropped_bytes(N, I) / sizeof(float), 0),
               .workspace = test_tensor_poisoned(1, aoei_linear_workspace(ctx, type, N, O, I) / sizeof(float) + 1, 0),
               .w32 = test_tensor(O, I, 0, 0.3, 2),
               .scales = calloc(O, sizeof(float)),
               .batch = test_batch(lengths, 3, 10)};
    assert_non_null(l.scales);
    l.w = frozen(weights, l.w32, l.scales);
    aoei_tensor_copy(ctx, l.w32, l.w);
    l.adapter = (aoei_adapter){.down = l.down,
                               .up = l.up,
                               .ddown = l.ddown,
                               .dup = l.dup,
                               .scale = SCALE,
                               .drop = {.p = dropout, .key = {1, 2}, .site = 77},
                               .low = l.low,
                               .dropped = l.dropped};
    return l;
}

static void layer_free(layer *l) {
    const aoei_tensor all[] = {l->x,    l->b,  l->dy,    l->gate, l->y,   l->pre,     l->dx,        l->dw, l->db,
                               l->down, l->up, l->ddown, l->dup,  l->low, l->dropped, l->workspace, l->w32};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
    free(l->w.data);
    free(l->scales);
    test_batch_free(l->batch, 0);
}

static double gelu(double x) {
    return x * 0.5 * erfc(-x / sqrt(2));
}

static double gelu_derivative(double x) {
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
}

typedef struct expected {
    double pre[N * O], y[N * O], dx[N * I], dw[O * I], db[O], ddown[R * I], dup[O * R];
} expected;

/* Computes the results that both passes of the layer l should have, in double. As in the layer, weight gradients are
 * added to the initial values of the gradient tensors. mask: [N, I], the dropout mask of x. */
static void compute_expected(expected *e, const layer *l, const double *mask, aoei_activation activation,
                             int accumulate) {
    static double x[N * I], w[O * I], b[O], dy[N * O], gate[N * I], down[R * I], up[O * R];
    double low[R], dlow[R];
    test_to_double(x, l->x);
    test_to_double(w, l->w32);
    test_to_double(b, l->b);
    test_to_double(dy, l->dy);
    test_to_double(gate, l->gate);
    test_to_double(down, l->down);
    test_to_double(up, l->up);
    test_to_double(e->dx, l->dx);
    test_to_double(e->dw, l->dw);
    test_to_double(e->db, l->db);
    test_to_double(e->ddown, l->ddown);
    test_to_double(e->dup, l->dup);
    for (size_t n = 0; n < N; n++) {
        const double *xn = x + n * I, *m = mask + n * I, *dyn = dy + n * O;
        for (size_t r = 0; r < R; r++) {
            low[r] = dlow[r] = 0;
            for (size_t i = 0; i < I; i++)
                low[r] += m[i] * xn[i] * down[r * I + i];
            for (size_t o = 0; o < O; o++)
                dlow[r] += SCALE * dyn[o] * up[o * R + r];
            for (size_t i = 0; i < I; i++)
                e->ddown[r * I + i] += dlow[r] * m[i] * xn[i];
        }
        for (size_t o = 0; o < O; o++) {
            double sum = b[o];
            for (size_t i = 0; i < I; i++) {
                sum += xn[i] * w[o * I + i];
                e->dw[o * I + i] += dyn[o] * xn[i];
            }
            for (size_t r = 0; r < R; r++) {
                sum += SCALE * low[r] * up[o * R + r];
                e->dup[o * R + r] += dyn[o] * SCALE * low[r];
            }
            e->db[o] += dyn[o];
            e->pre[n * O + o] = sum;
            e->y[n * O + o] = activation == AOEI_GELU ? gelu(sum) : sum;
        }
        for (size_t i = 0; i < I; i++) {
            double sum = 0;
            for (size_t o = 0; o < O; o++)
                sum += dyn[o] * w[o * I + i];
            for (size_t r = 0; r < R; r++)
                sum += dlow[r] * down[r * I + i] * m[i];
            e->dx[n * I + i] = (accumulate ? e->dx[n * I + i] : 0) +
                               sum * (activation == AOEI_GELU ? gelu_derivative(gate[n * I + i]) : 1);
        }
    }
}

/* Writes the dropout mask of x to mask[N * I]. An element is 0 or 1 / (1 - p). */
static void read_mask(const aoe_context *ctx, const layer *l, double *mask) {
    aoei_tensor ones = test_tensor_poisoned(N, I, 0);
    for (size_t i = 0; i < N * I; i++)
        aoei_f32(ones)[i] = 1;
    if (l->adapter.drop.p > 0)
        aoei_dropout_add(ctx, ones, ones, (aoei_tensor){0}, &l->batch, &l->adapter.drop);
    test_to_double(mask, ones);
    test_tensor_free(ones);
}

static void run(const aoe_context *ctx, layer *l, aoei_activation activation, int accumulate) {
    l->adapter.batch = &l->batch;
    const aoei_linear_epilogue e = {.activation = activation,
                                    .pre = activation ? l->pre : (aoei_tensor){0},
                                    .workspace = l->workspace,
                                    .adapter = &l->adapter};
    aoei_linear_forward(ctx, l->y, l->x, l->w, l->b, &e);
    const aoei_linear_grads g = {.dx = l->dx,
                                 .accumulate = accumulate,
                                 .activation = activation,
                                 .gate = activation ? l->gate : (aoei_tensor){0},
                                 .dw = l->dw,
                                 .db = l->db,
                                 .workspace = l->workspace,
                                 .adapter = &l->adapter};
    aoei_linear_backward(ctx, &g, l->dy, l->x, l->w);
}

static void check(const aoe_context *ctx, aoei_dtype type, aoei_dtype weights, aoei_activation activation,
                  double dropout, double tolerance) {
    static expected e;
    static double mask[N * I];
    const int accumulate = type == AOEI_F32 && !activation;
    layer l = layer_create(ctx, type, weights, dropout);
    if (type == AOEI_BF16) { /* the layer rounds the operands of its matrix products to bf16 */
        test_round(l.w32);
        test_round(l.down);
        test_round(l.up);
    }
    read_mask(ctx, &l, mask);
    compute_expected(&e, &l, mask, activation, accumulate);
    run(ctx, &l, activation, accumulate);
    test_close(l.y, e.y, tolerance);
    if (activation)
        test_close(l.pre, e.pre, tolerance);
    test_close(l.dx, e.dx, tolerance);
    test_close(l.dw, e.dw, tolerance);
    test_close(l.db, e.db, tolerance);
    test_close(l.ddown, e.ddown, tolerance);
    test_close(l.dup, e.dup, tolerance);
    layer_free(&l);
}

static void float32(const aoe_context *ctx) {
    for (int weights = AOEI_F32; weights <= AOEI_I8; weights++)
        for (int a = AOEI_IDENTITY; a <= AOEI_GELU; a++)
            for (int dropped = 0; dropped < 2; dropped++)
                check(ctx, AOEI_F32, (aoei_dtype)weights, (aoei_activation)a, dropped * 0.3, 2e-6);
}

static void test_float32(void **state) {
    (void)state;
    test_each_tier(float32);
}

/* Tests activations in bf16. The layer rounds three kinds of values to bf16: the low-rank products, x W^T + b before
 * the output of the adapter is added, and the results. */
static void bf16(const aoe_context *ctx) {
    for (int weights = AOEI_F32; weights <= AOEI_I8; weights++)
        for (int a = AOEI_IDENTITY; a <= AOEI_GELU; a++)
            for (int dropped = 0; dropped < 2; dropped++)
                check(ctx, AOEI_BF16, (aoei_dtype)weights, (aoei_activation)a, dropped * 0.3, 4e-3);
}

static void test_bf16(void **state) {
    (void)state;
    test_each_tier(bf16);
}

static void test_threads(void **state) {
    (void)state;
    for (int type = AOEI_F32; type <= AOEI_BF16; type++)
        for (int weights = AOEI_F32; weights <= AOEI_I8; weights++) {
            layer l[2];
            for (size_t i = 0; i < 2; i++) {
                aoe_context *ctx = test_context(test_best_tier(), 1 + 2 * i);
                l[i] = layer_create(ctx, (aoei_dtype)type, (aoei_dtype)weights, 0.1);
                run(ctx, &l[i], AOEI_GELU, 0);
                aoe_context_destroy(ctx);
            }
            test_same_bits(l[0].y, l[1].y);
            test_same_bits(l[0].dx, l[1].dx);
            test_same_bits(l[0].ddown, l[1].ddown);
            test_same_bits(l[0].dup, l[1].dup);
            layer_free(&l[0]);
            layer_free(&l[1]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float32), cmocka_unit_test(test_bf16),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
