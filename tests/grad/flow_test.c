/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/flow
 * Tests the normalizing flow of BERT-flow (nn/flow.h). Outputs and losses are compared with values that NumPy computed.
 * The logarithm of the determinant is compared with that of the numeric Jacobian, the gradients of all parameters with
 * finite differences, and the initial parameters with the definition of the initialization. The flow of a module chain
 * must compute the rounded values of the flow in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/flow.h"
#include "nn/module_chain.h"

enum { ROWS = 70 /* capacity of a flow in rows, unless a test splits the rows */ };

typedef struct fixture {
    aoei_flow f;
    double *memory; /* owned */
} fixture;

/* Creates a flow for training. Its parameters are 0.4 sin(1 + 1.7 k), the parameters of the NumPy reference. */
static void set_up(fixture *t, aoei_flow_shape shape, size_t rows) {
    t->memory = calloc(aoei_flow_doubles(&shape, rows, 1), sizeof *t->memory);
    assert_non_null(t->memory);
    aoei_flow_place(&t->f, &shape, rows, 1, t->memory);
    for (size_t k = 0; k < t->f.parameters; k++)
        t->f.value[k] = 0.4 * sin(1 + 1.7 * (double)k);
    aoei_flow_update(&t->f);
}

static void tear_down(fixture *t) {
    free(t->memory);
}

static void close_to(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.15g, expected %.15g", got, want);
}

/* Element k of row r_i of the specified test values. */
static double specified(int i, int k) {
    return (((5 * i + 3 * k + i * k) % 13) - 6) / 4.0;
}

/* One step with four components and width 2, whose first scalings inside the network are the identity. The outputs of
 * row 0 are the specified values; relu suppresses the network for this row, so the other rows are also tested. */
static void one_step(void **state) {
    (void)state;
    static const double want[6][4] = {
        {1.417351747955, 0.232366848546, -0.65, -1.291061964638},
        {-0.2699717615152006, -1.5103845155467681, 1.0456384427898733, -1.1933692080556306},
        {2.4297458536368057, 0.5228254092277274, -0.9, 0.8607079764250578},
        {0.7424223441668019, -1.2199259548646972, 0.6, -0.8607079764250578},
        {-0.9449011653032021, 0.8132839699097981, -1.15, 0.21517699410626445},
        {1.7548164498488041, -0.9294673941826265, 0.35, 1.2910619646375867}};
    fixture t;
    set_up(&t, (aoei_flow_shape){.dims = 4, .levels = 1, .depth = 1, .width = 2}, 6);
    assert_int_equal(t.f.parameters, 8 + 3 * 4 + 12);
    memset(t.f.value, 0, t.f.parameters * sizeof *t.f.value);
    for (int k = 0; k < 4; k++) {
        t.f.value[k] = 0.1 * k;
        t.f.value[4 + k] = 0.05 * (k - 1);
    }
    for (int part = 0; part < 3; part++) /* W1, W2 and W3; 4 parameters follow each of them */
        for (int k = 0; k < 4; k++)
            t.f.value[8 + 8 * part + k] = specified(2 * part + k / 2, k % 2);
    aoei_flow_update(&t.f);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 4; k++)
            t.f.input[4 * i + k] = specified(i, k);
    aoei_flow_forward(&t.f, NULL, 6);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 4; k++)
            close_to(t.f.output[4 * i + k], want[i][k], i ? 1e-14 : 1e-12);
    close_to(aoei_flow_logdet(&t.f), 0.3, 1e-15);
    close_to(aoei_flow_bits(t.f.output, 4, aoei_flow_logdet(&t.f)), 1.966344576179, 1e-12);
    tear_down(&t);
}

/* Three levels of two steps. The values were computed with NumPy. */
static void reference_values(void **state) {
    (void)state;
    static const double want[2][16] = {
        {-0.15003431167685546, -0.492504295624252, -1.072805739915834, -0.4713075664598979, -0.684690646009815,
         0.0007918800846581364, 2.70040694165831, 1.5139137546516204, -4.122152968069608, -5.6080977896279425,
         -9.906309528925384, 7.356255235190066, 1.9785154143298096, -58.099812056373615, 1.94154651539067,
         2.698220508108832},
        {-1.6438381034367118, -0.5643875800112479, 0.06593005677176947, 4.361377558226463, -0.13505101403571068,
         -0.25738240393326217, -0.4566267982498562, -1.3750602824317628, 7.687980090934374, 3.642492682384797,
         0.42847035916948506, 0.2752998483172372, -1.351322976528616, 15.58082857340405, 1.5085801078966947,
         -1.8337815346805784}};
    fixture t;
    set_up(&t, (aoei_flow_shape){.dims = 16, .levels = 3, .depth = 2, .width = 5}, 2);
    assert_int_equal(t.f.parameters, 718);
    for (size_t k = 0; k < 32; k++)
        t.f.input[k] = cos(0.3 + 0.9 * (double)k);
    aoei_flow_forward(&t.f, NULL, 2);
    for (size_t k = 0; k < 32; k++)
        close_to(t.f.output[k], want[k / 16][k % 16], 1e-11);
    close_to(aoei_flow_logdet(&t.f), 0.5038749513648623, 1e-12);
    close_to(aoei_flow_bits(t.f.output, 16, aoei_flow_logdet(&t.f)), 163.71587808404328, 1e-9);
    close_to(aoei_flow_bits(t.f.output + 16, 16, aoei_flow_logdet(&t.f)), 16.928574305959522, 1e-10);
    tear_down(&t);
    const aoei_flow_shape paper = {.dims = 768, .levels = 3, .depth = 3, .width = 32};
    assert_int_equal(aoei_flow_parameters(&paper), 151488);
}

static void inverse(void **state) {
    (void)state;
    fixture t;
    double x[3 * 16];
    set_up(&t, (aoei_flow_shape){.dims = 16, .levels = 3, .depth = 2, .width = 5}, 3);
    for (size_t k = 0; k < 48; k++)
        x[k] = t.f.input[k] = cos(0.3 + 0.9 * (double)k);
    aoei_flow_forward(&t.f, NULL, 3);
    memset(t.f.input, 0, sizeof x);
    aoei_flow_inverse(&t.f, 3);
    for (size_t k = 0; k < 48; k++)
        close_to(t.f.input[k], x[k], 1e-11);
    tear_down(&t);
}

/* Returns ln |det a| of a [n, n], which is overwritten (Gaussian elimination with pivots). */
static double log_determinant(double *a, size_t n) {
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t r = c; r < n; r++)
            pivot = fabs(a[r * n + c]) > fabs(a[pivot * n + c]) ? r : pivot;
        for (size_t k = 0; k < n; k++) {
            const double swap = a[c * n + k];
            a[c * n + k] = a[pivot * n + k];
            a[pivot * n + k] = swap;
        }
        sum += log(fabs(a[c * n + c]));
        for (size_t r = c + 1; r < n; r++)
            for (size_t k = n; k-- > c;)
                a[r * n + k] -= a[r * n + c] / a[c * n + c] * a[c * n + k];
    }
    return sum;
}

static void determinant(void **state) {
    (void)state;
    enum { D = 8 };
    const double h = 1e-5;
    double jacobian[D * D];
    fixture t;
    set_up(&t, (aoei_flow_shape){.dims = D, .levels = 3, .depth = 2, .width = 3}, 2 * D);
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k < D; k++) {
            t.f.input[2 * i * D + k] = cos(0.3 + 0.9 * (double)k) + (i == k ? h : 0);
            t.f.input[(2 * i + 1) * D + k] = cos(0.3 + 0.9 * (double)k) - (i == k ? h : 0);
        }
    aoei_flow_forward(&t.f, NULL, 2 * D);
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k < D; k++)
            jacobian[i * D + k] = (t.f.output[2 * i * D + k] - t.f.output[(2 * i + 1) * D + k]) / (2 * h);
    close_to(log_determinant(jacobian, D), aoei_flow_logdet(&t.f), 1e-8);
    tear_down(&t);
}

/* ---------------------------------------------------------- initial values */

/* Checks that the columns of h [n, cols] have mean 0 and variance 1. */
static void check_moments(const double *h, size_t n, size_t cols) {
    for (size_t k = 0; k < cols; k++) {
        double mean = 0, square = 0;
        for (size_t r = 0; r < n; r++)
            mean += h[r * cols + k] / (double)n;
        for (size_t r = 0; r < n; r++)
            square += (h[r * cols + k] - mean) * (h[r * cols + k] - mean) / (double)n;
        close_to(mean, 0, 1e-12);
        close_to(square, 1, 1e-3); /* the denominator contains 1e-6; the inputs of the hidden units are small */
    }
}

/* Sets y [n, cols] to (x W + b) exp(3 s), or to (x + b) exp(3 s) if w is NULL. x: [n, in]. */
static void scaled(double *y, const double *x, const double *w, const double *b, const double *s, size_t n, size_t in,
                   size_t cols) {
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < cols; k++) {
            double sum = w ? 0 : x[r * in + k];
            for (size_t i = 0; w && i < in; i++)
                sum += x[r * in + i] * w[i * cols + k];
            y[r * cols + k] = (sum + b[k]) * exp(3 * s[k]);
        }
}

/* Applies a flow with initial parameters, for which the network of each step is 0, and checks all scaled values. */
static void initial_moments(void **state) {
    (void)state;
    enum { D = 16, N = 40, W = 6, LEVELS = 3, DEPTH = 2 };
    static double x[N * D], y[N * D], p[N * D], h1[N * W], h2[N * W], start[N * D], workspace[2 * N * W];
    fixture t;
    set_up(&t, (aoei_flow_shape){.dims = D, .levels = LEVELS, .depth = DEPTH, .width = W}, N);
    for (size_t k = 0; k < N * D; k++)
        start[k] = x[k] = 3 + sin(1.3 * (double)k + 0.01 * (double)(k * k)) * (1 + (double)(k % D));
    aoei_flow_init(&t.f, start, N, workspace, 7);
    const double *v = t.f.value;
    double sum = 0, squares = 0;
    size_t n_weights = 0;
    for (size_t i = 0; i < LEVELS * DEPTH; i++) {
        const size_t C = D >> i / DEPTH, H = C / 2;
        const double *w1 = v + 2 * C, *b1 = w1 + H * W, *w2 = b1 + 2 * W, *b2 = w2 + W * W, *w3 = b2 + 2 * W;
        scaled(y, x, NULL, v, v + C, N, C, C);
        check_moments(y, N, C);
        for (size_t r = 0; r < N; r++)
            for (size_t k = 0; k < C; k++)
                x[r * C + k] = y[r * C + C - 1 - k];
        for (size_t r = 0; r < N; r++)
            memcpy(p + r * H, x + r * C, H * sizeof *p);
        scaled(h1, p, w1, b1, b1 + W, N, H, W);
        check_moments(h1, N, W);
        for (size_t k = 0; k < N * W; k++)
            h1[k] = h1[k] > 0 ? h1[k] : 0;
        scaled(h2, h1, w2, b2, b2 + W, N, W, W);
        check_moments(h2, N, W);
        for (size_t k = 0; k < H * W + 2 * H; k++)
            assert_true(w3[k] == 0);
        for (size_t k = 0; k < H * W + W * W; k++) {
            const double w = k < H * W ? w1[k] : w2[k - H * W];
            sum += w;
            squares += w * w;
        }
        n_weights += H * W + W * W;
        v = w3 + W * H + 2 * H;
        if ((i + 1) % DEPTH == 0) /* the first half is the input of the next level */
            memcpy(x, p, N * H * sizeof *x);
    }
    assert_int_equal(v - t.f.value, t.f.parameters);
    close_to(sum / (double)n_weights, 0, 3 * 0.05 / sqrt((double)n_weights));
    close_to(sqrt(squares / (double)n_weights), 0.05, 0.05 * 3 / sqrt(2 * (double)n_weights));
    tear_down(&t);
}

/* Without scaling and with W3, b3 and s3 of 0, the output is a permutation of the input, and the loss is that of a
 * standard normal distribution. */
static void identity(void **state) {
    (void)state;
    enum { D = 16 };
    double x[D];
    int used[D] = {0};
    fixture t;
    set_up(&t, (aoei_flow_shape){.dims = D, .levels = 3, .depth = 3, .width = 4}, 1);
    memset(t.f.value, 0, t.f.parameters * sizeof *t.f.value);
    for (size_t i = 0, at = 0; i < 9; i++) { /* random W1 and W2 */
        const size_t H = (size_t)D >> (i / 3 + 1);
        for (size_t k = 0; k < H * 4 + 8 + 16; k++)
            t.f.value[at + 4 * H + k] = k < H * 4 || k >= H * 4 + 8 ? 0.05 * sin((double)(i + k)) : 0;
        at += 4 * H + 2 * H * 4 + 16 + 16 + 2 * H;
    }
    aoei_flow_update(&t.f);
    double squares = 0;
    for (size_t k = 0; k < D; k++) {
        x[k] = t.f.input[k] = cos(0.3 + 0.9 * (double)k);
        squares += x[k] * x[k];
    }
    aoei_flow_forward(&t.f, NULL, 1);
    for (size_t k = 0; k < D; k++)
        for (size_t i = 0; i < D; i++)
            used[i] += t.f.output[k] == x[i];
    for (size_t i = 0; i < D; i++)
        assert_int_equal(used[i], 1);
    assert_true(aoei_flow_logdet(&t.f) == 0);
    close_to(aoei_flow_bits(t.f.output, D, 0), (squares / 2 + D / 2.0 * log(2 * acos(-1))) / (D * log(2)), 1e-14);
    tear_down(&t);
}

/* --------------------------------------------------------------- gradients */

/* Returns the sum of the losses of the rows, for x, which contains the input [rows, D] and the parameters. */
static double loss(void *arg, const double *x) {
    fixture *t = arg;
    const size_t D = t->f.shape.dims, rows = t->f.max_rows;
    double sum = 0;
    memcpy(t->f.input, x, rows * D * sizeof *x);
    memcpy(t->f.value, x + rows * D, t->f.parameters * sizeof *x);
    aoei_flow_update(&t->f);
    aoei_flow_forward(&t->f, NULL, rows);
    for (size_t r = 0; r < rows; r++)
        sum += aoei_flow_bits(t->f.output + r * D, D, aoei_flow_logdet(&t->f));
    return sum;
}

/* Computes the gradient of `loss` at x. */
static void gradient(fixture *t, const double *x, double *grad) {
    const size_t D = t->f.shape.dims, rows = t->f.max_rows;
    loss(t, x);
    for (size_t k = 0; k < rows * D; k++)
        t->f.output[k] /= (double)D * log(2);
    memset(t->f.grad, 0, t->f.parameters * sizeof *grad);
    aoei_flow_backward(&t->f, NULL, rows);
    aoei_flow_logdet_backward(&t->f, -(double)rows / ((double)D * log(2)));
    memcpy(grad, t->f.input, rows * D * sizeof *grad);
    memcpy(grad + rows * D, t->f.grad, t->f.parameters * sizeof *grad);
}

/* Every component of the gradient is compared with a finite difference. */
static void gradients(void **state) {
    (void)state;
    static const aoei_flow_shape shapes[] = {{.dims = 8, .levels = 2, .depth = 2, .width = 3},
                                             {.dims = 4, .levels = 1, .depth = 1, .width = 9},
                                             {.dims = 24, .levels = 3, .depth = 1, .width = 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fixture t;
        set_up(&t, shapes[i], 3);
        const size_t inputs = 3 * shapes[i].dims, n = inputs + t.f.parameters;
        double *x = calloc(n, sizeof *x), *grad = calloc(n, sizeof *grad), norm = 0;
        for (size_t k = 0; k < n; k++)
            x[k] = k < inputs ? cos(0.3 + 0.9 * (double)k) : 0.5 * t.f.value[k - inputs];
        gradient(&t, x, grad);
        for (size_t k = 0; k < n; k++)
            norm += grad[k] * grad[k];
        for (size_t k = 0; k < n; k++) {
            const double at = x[k], h = 1e-6;
            x[k] = at + h;
            const double above = loss(&t, x);
            x[k] = at - h;
            const double below = loss(&t, x);
            x[k] = at;
            close_to(grad[k], (above - below) / (2 * h), 1e-8 * sqrt(norm));
        }
        free(x);
        free(grad);
        tear_down(&t);
    }
}

/* The results must not depend on the number of threads, nor on the number of rows per call. */
static void equal_bits(void **state) {
    (void)state;
    enum { D = 16 };
    const aoei_flow_shape shape = {.dims = D, .levels = 3, .depth = 2, .width = 5};
    static double want[2][ROWS * D], grad[718];
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t rows = ROWS; rows > 0; rows = rows == ROWS ? 7 : rows == 7 ? 1 : 0) {
            aoe_context *ctx = test_context(test_best_tier(), threads);
            fixture t;
            set_up(&t, shape, rows);
            assert_int_equal(t.f.parameters, 718);
            for (size_t first = 0; first < ROWS; first += rows) {
                for (size_t k = 0; k < rows * D; k++)
                    t.f.input[k] = cos(0.3 + 0.9 * (double)(first * D + k));
                aoei_flow_forward(&t.f, ctx->pool, rows);
                if (threads == 1 && rows == ROWS)
                    memcpy(want[0], t.f.output, sizeof want[0]);
                assert_memory_equal(t.f.output, want[0] + first * D, rows * D * sizeof(double));
                aoei_flow_backward(&t.f, ctx->pool, rows);
                if (threads == 1 && rows == ROWS)
                    memcpy(want[1], t.f.input, sizeof want[1]);
                assert_memory_equal(t.f.input, want[1] + first * D, rows * D * sizeof(double));
            }
            if (threads == 1 && rows == ROWS)
                memcpy(grad, t.f.grad, sizeof grad);
            assert_memory_equal(t.f.grad, grad, sizeof grad);
            tear_down(&t);
            aoe_context_destroy(ctx);
        }
}

/* ------------------------------------------------------------ module chain */

/* The Flow module of a chain must compute the values of the flow, rounded to float32. The numbers of rows are above and
 * below the number of rows that the module computes at a time. */
static void module(void **state) {
    (void)state;
    enum { D = 16, P = 718 };
    const aoei_module m = {.kind = AOEI_MODULE_FLOW, .in = D, .out = D, .levels = 3, .depth = 2, .width = 5};
    for (size_t training = 0; training < 2; training++) {
        aoe_context *ctx = test_context(test_best_tier(), 2);
        aoei_arena plan, arena;
        aoei_module_chain chain;
        fixture t;
        set_up(&t, aoei_module_flow_shape(&m), ROWS);
        aoei_arena_measure(&plan);
        aoei_module_chain_layout(&chain, &m, 1, ROWS, D, (int)training, &plan);
        assert_int_equal(aoei_arena_create(&arena, plan.used, NULL), 0);
        aoei_module_chain_layout(&chain, &m, 1, ROWS, D, (int)training, &arena);
        const aoei_tensor w[AOEI_MODULE_WEIGHTS] = {test_tensor(1, P, 0, 0.3, 1)};
        const aoei_tensor x = test_tensor(ROWS, D, 0, 1, 2), dy = test_tensor(ROWS, D, 0, 1, 3);
        const aoei_tensor g[AOEI_MODULE_WEIGHTS] = {test_tensor(1, P, 0, 0, 0)};
        test_to_double(t.f.value, w[0]);
        test_to_double(t.f.input, x);
        aoei_flow_update(&t.f);
        aoei_flow_forward(&t.f, NULL, ROWS);
        memcpy(chain.value[0].data, x.data, ROWS * D * sizeof(float));
        aoei_module_chain_forward(ctx, &chain, ROWS, w, NULL);
        for (size_t k = 0; k < ROWS * D; k++)
            assert_true(test_at(chain.value[1], k / D, k % D) == (float)t.f.output[k]);
        if (training) {
            memcpy(chain.grad[1].data, dy.data, ROWS * D * sizeof(float));
            aoei_module_chain_backward(ctx, &chain, ROWS, w, g, NULL);
            test_to_double(t.f.output, dy);
            aoei_flow_backward(&t.f, NULL, ROWS);
            for (size_t k = 0; k < ROWS * D; k++)
                assert_true(test_at(chain.grad[0], k / D, k % D) == (float)t.f.input[k]);
            for (size_t k = 0; k < P; k++)
                assert_true(test_at(g[0], 0, k) == (float)t.f.grad[k]);
        }
        test_tensor_free(w[0]);
        test_tensor_free(g[0]);
        test_tensor_free(x);
        test_tensor_free(dy);
        aoei_arena_destroy(&arena);
        tear_down(&t);
        aoe_context_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step),    cmocka_unit_test(reference_values), cmocka_unit_test(inverse),
        cmocka_unit_test(determinant), cmocka_unit_test(initial_moments),  cmocka_unit_test(identity),
        cmocka_unit_test(gradients),   cmocka_unit_test(equal_bits),       cmocka_unit_test(module),
    };
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
