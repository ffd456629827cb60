/* SPDX-License-Identifier: MIT
 * covers: nn/dense
 * Tests dense layers over pooled vectors. The forward pass is compared with double precision, and the gradients with
 * finite differences of a double-precision forward pass. The backward pass must add the gradients of the weights to the
 * stored values. The bits of a result must not depend on the number of rows or threads, nor on whether dx is stored in
 * the memory of x.
 * tags: threads
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/dense.h"
#include "nn/linear.h"

enum { MAX_N = 9, MAX_SIDE = 40, MAX_CELLS = MAX_N * MAX_SIDE + MAX_SIDE * MAX_SIDE + MAX_SIDE };

typedef struct problem {
    size_t N, in, out;
    int bias, with_tanh;
    double pick[MAX_N * MAX_SIDE]; /* [N, out] weights of the loss, which is the sum of pick * y */
} problem;

static problem p;

/* Computes the output y [N, out] of the layer in double. `at` is the concatenation of x [N, in], w [out, in] and b
 * [out]. */
static void expected_output(const double *at, double *y) {
    const double *x = at, *w = x + p.N * p.in, *b = w + p.out * p.in;
    for (size_t i = 0; i < p.N; i++)
        for (size_t o = 0; o < p.out; o++) {
            double sum = p.bias ? b[o] : 0;
            for (size_t k = 0; k < p.in; k++)
                sum += x[i * p.in + k] * w[o * p.in + k];
            y[i * p.out + o] = p.with_tanh ? tanh(sum) : sum;
        }
}

static double loss(void *arg, const double *at) {
    double y[MAX_N * MAX_SIDE], sum = 0;
    (void)arg;
    expected_output(at, y);
    for (size_t i = 0; i < p.N * p.out; i++)
        sum += p.pick[i] * y[i];
    return sum;
}

/* Computes y[N, O] = f(x[N, I] w[O, I]^T + b[1, O]), as a Dense module does. b may be absent. */
static void forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                    aoei_dense_activation f) {
    aoei_linear_forward(ctx, y, x, w, b, NULL);
    aoei_dense_activate(ctx, y, y, f, 0);
}

/* Computes the gradients of a dense layer whose activation function does not need its input, as a Dense module does. */
static void backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dw, aoei_tensor db, aoei_tensor dy,
                     aoei_tensor x, aoei_tensor y, aoei_tensor w, aoei_dense_activation f) {
    const aoei_tensor none = {0};
    const aoei_linear_grads g = {.dx = dx, .dw = dw, .db = db};
    aoei_dense_activate_backward(ctx, dy, dy, y, none, f);
    aoei_linear_backward(ctx, &g, dy, x, w);
}

static void check(const aoe_context *ctx) {
    static double at[MAX_CELLS], grad[MAX_CELLS], y64[MAX_N * MAX_SIDE];
    const size_t n_x = p.N * p.in, n_w = p.out * p.in;
    aoei_tensor x = test_tensor(p.N, p.in, 0, 1, 1), w = test_tensor(p.out, p.in, 0, 0.3, 2),
                b = test_tensor(1, p.out, 0, 1, 3), dy = test_tensor(p.N, p.out, 0, 1, 4),
                y = test_tensor_poisoned(p.N, p.out, 0), dx = test_tensor_poisoned(p.N, p.in, 0),
                dw = test_tensor(p.out, p.in, 0, 1, 5), db = test_tensor(1, p.out, 0, 1, 6);
    const aoei_tensor none = {0}, before_w = test_tensor(p.out, p.in, 0, 1, 5),
                      before_b = test_tensor(1, p.out, 0, 1, 6);
    test_to_double(at, x);
    test_to_double(at + n_x, w);
    test_to_double(at + n_x + n_w, b);
    test_to_double(p.pick, dy);
    forward(ctx, y, x, w, p.bias ? b : none, p.with_tanh);
    expected_output(at, y64);
    test_close(y, y64, 1e-6);
    backward(ctx, dx, dw, p.bias ? db : none, dy, x, y, w, p.with_tanh);
    test_to_double(grad, dx);
    for (size_t i = 0; i < n_w; i++)
        grad[n_x + i] = (double)aoei_f32(dw)[i] - (double)aoei_f32(before_w)[i];
    for (size_t i = 0; i < p.out; i++)
        grad[n_x + n_w + i] = p.bias ? (double)aoei_f32(db)[i] - (double)aoei_f32(before_b)[i] : 0;
    test_gradient(loss, NULL, at, grad, n_x + n_w + p.out, 4 * TEST_GRAD_TOLERANCE);
    /* one row is computed in a call of its own, and dx is stored in the memory of x */
    aoei_tensor row = test_tensor_poisoned(1, p.out, 0), dy2 = test_tensor(p.N, p.out, 0, 1, 4);
    forward(ctx, row, aoei_tensor_rows(x, p.N - 1, 1), w, p.bias ? b : none, p.with_tanh);
    test_same_bits(row, aoei_tensor_rows(y, p.N - 1, 1));
    backward(ctx, x, none, none, dy2, x, y, w, p.with_tanh);
    test_same_bits(x, dx);
    const aoei_tensor all[] = {x, w, b, dy, y, dx, dw, db, before_w, before_b, row, dy2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
}

static void gradients(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{1, 1, 1}, {2, 3, 5}, {9, 40, 17}, {3, 16, 40}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int ways = 0; ways < 4; ways++) {
            p = (problem){
                .N = shapes[s][0], .in = shapes[s][1], .out = shapes[s][2], .bias = ways & 1, .with_tanh = ways >> 1};
            test_each_tier(check);
        }
}

/* Tests that the results are bitwise independent of the number of threads. */
static void threads(void **state) {
    (void)state;
    enum { N = 33, SIDE = 40 };
    aoei_tensor x = test_tensor(N, SIDE, 0, 1, 1), w = test_tensor(SIDE, SIDE, 0, 0.3, 2),
                b = test_tensor(1, SIDE, 0, 1, 3);
    aoei_tensor first[4] = {{0}};
    for (size_t n = 1; n <= 3; n++) {
        aoe_context *ctx = test_context(test_best_tier(), n);
        aoei_tensor got[4] = {test_tensor_poisoned(N, SIDE, 0), test_tensor_poisoned(N, SIDE, 0),
                              test_tensor(SIDE, SIDE, 0, 1, 5), test_tensor(1, SIDE, 0, 1, 6)};
        aoei_tensor dy = test_tensor(N, SIDE, 0, 1, 4);
        forward(ctx, got[0], x, w, b, 1);
        backward(ctx, got[1], got[2], got[3], dy, x, got[0], w, 1);
        for (size_t i = 0; i < 4; i++) {
            if (n > 1) {
                test_same_bits(got[i], first[i]);
                test_tensor_free(got[i]);
            } else {
                first[i] = got[i];
            }
        }
        test_tensor_free(dy);
        aoe_context_destroy(ctx);
    }
    for (size_t i = 0; i < 4; i++)
        test_tensor_free(first[i]);
    test_tensor_free(x);
    test_tensor_free(w);
    test_tensor_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(threads)};
    return cmocka_run_group_tests_name("dense", tests, NULL, NULL);
}
