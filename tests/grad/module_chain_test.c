/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/module_chain
 * Tests chains of modules over pooled vectors. The forward pass is compared with double precision, and the gradients
 * with finite differences of a double-precision forward pass. The chains contain every kind of module, every activation
 * function and every residual connection. Dropout must be the identity without a dropout key, and its mask must not
 * depend on the other rows.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/module_chain.h"

enum { N = 4, MAX_COLS = 9, MAX_WEIGHTS = AOEI_MODULE_WEIGHTS * AOEI_MAX_MODULES, MAX_VALUES = 2000 };

#define DENSE(from, to, f, b, r)                                                                                       \
    { .kind = AOEI_MODULE_DENSE, .in = (from), .out = (to), .activation = (f), .no_bias = !(b), .residual = (r) }
#define SAME(k, cols)                                                                                                  \
    { .kind = (k), .in = (cols), .out = (cols), .dropout = 0.4 }

typedef struct chain_case {
    aoei_module module[AOEI_MAX_MODULES];
    size_t n;
} chain_case;

static const chain_case cases[] = {
    {.n = 0},
    {{DENSE(5, 7, AOEI_DENSE_GELU, 1, AOEI_RESIDUAL_WEIGHT), SAME(AOEI_MODULE_LAYERNORM, 7),
      DENSE(7, 7, AOEI_DENSE_SILU, 1, AOEI_RESIDUAL_INPUT), SAME(AOEI_MODULE_NORMALIZE, 7),
      DENSE(7, 9, AOEI_DENSE_SIGMOID, 0, AOEI_RESIDUAL_NONE), SAME(AOEI_MODULE_DROPOUT, 9)},
     6},
    {{SAME(AOEI_MODULE_NORMALIZE, 5), DENSE(5, 6, AOEI_DENSE_RELU, 1, AOEI_RESIDUAL_NONE),
      DENSE(6, 4, AOEI_DENSE_GELU, 1, AOEI_RESIDUAL_NONE), DENSE(4, 4, AOEI_DENSE_TANH, 0, AOEI_RESIDUAL_INPUT)},
     4},
    {{SAME(AOEI_MODULE_LAYERNORM, 5), DENSE(5, 5, AOEI_DENSE_IDENTITY, 1, AOEI_RESIDUAL_INPUT),
      DENSE(5, 3, AOEI_DENSE_SILU, 1, AOEI_RESIDUAL_WEIGHT)},
     3},
    {{DENSE(5, 5, AOEI_DENSE_RELU, 1, AOEI_RESIDUAL_INPUT)}, 1},
};

static const chain_case *current;
static double pick[N * MAX_COLS]; /* weights of the loss, which is the sum of pick * y */

/* Returns the shape of weight `part` of a module, or 0 rows if the module has no such weight. */
static size_t shape(const aoei_module *m, size_t part, size_t *cols) {
    const int dense = m->kind == AOEI_MODULE_DENSE;
    *cols = dense && part != AOEI_MODULE_BIAS ? m->in : m->out;
    if (m->kind == AOEI_MODULE_LAYERNORM)
        return part != AOEI_MODULE_RESIDUAL;
    if (!dense || (part == AOEI_MODULE_BIAS && m->no_bias) ||
        (part == AOEI_MODULE_RESIDUAL && m->residual != AOEI_RESIDUAL_WEIGHT))
        return 0;
    return part == AOEI_MODULE_BIAS ? 1 : m->out;
}

static double activation(aoei_dense_activation f, double z) {
    switch (f) {
    case AOEI_DENSE_TANH:
        return tanh(z);
    case AOEI_DENSE_RELU:
        return z > 0 ? z : 0;
    case AOEI_DENSE_SIGMOID:
        return 1 / (1 + exp(-z));
    case AOEI_DENSE_GELU:
        return z / 2 * (1 + erf(z / sqrt(2)));
    case AOEI_DENSE_SILU:
        return z / (1 + exp(-z));
    default:
        return z;
    }
}

static double linear(const double *x, const double *w, size_t in, size_t o) {
    double sum = 0;
    for (size_t k = 0; k < in; k++)
        sum += x[k] * w[o * in + k];
    return sum;
}

/* Applies a module to one vector, in place. w: values of its weights, one after the other. Returns the end of the
 * weights. */
static const double *apply(const aoei_module *m, double *v, const double *w) {
    double x[MAX_COLS], mean = 0, var = 0, squares = 0;
    const double *part[AOEI_MODULE_WEIGHTS] = {NULL};
    memcpy(x, v, m->in * sizeof *x);
    for (size_t i = 0; i < AOEI_MODULE_WEIGHTS; i++) {
        size_t cols, rows = shape(m, i, &cols);
        part[i] = rows ? w : NULL;
        w += rows * cols;
    }
    for (size_t k = 0; k < m->in; k++) {
        mean += x[k] / (double)m->in;
        squares += x[k] * x[k];
    }
    for (size_t k = 0; k < m->in; k++)
        var += (x[k] - mean) * (x[k] - mean) / (double)m->in;
    for (size_t o = 0; o < m->out; o++)
        if (m->kind == AOEI_MODULE_DENSE)
            v[o] = activation(m->activation, linear(x, part[0], m->in, o) + (part[1] ? part[1][o] : 0)) +
                   (m->residual == AOEI_RESIDUAL_INPUT    ? x[o]
                    : m->residual == AOEI_RESIDUAL_WEIGHT ? linear(x, part[2], m->in, o)
                                                          : 0);
        else if (m->kind == AOEI_MODULE_LAYERNORM)
            v[o] = (x[o] - mean) / sqrt(var + 1e-5) * part[0][o] + part[1][o];
        else if (m->kind == AOEI_MODULE_NORMALIZE)
            v[o] = x[o] / sqrt(squares);
    return w;
}

/* Computes the output [N, dims] of the chain. `at` is the concatenation of x [N, 5] and all weights. */
static void expected_output(const double *at, double *y) {
    const size_t dims = aoei_module_chain_dims(current->module, current->n, 5);
    for (size_t r = 0; r < N; r++) {
        double v[MAX_COLS];
        const double *w = at + N * 5;
        memcpy(v, at + r * 5, 5 * sizeof *v);
        for (size_t i = 0; i < current->n; i++)
            w = apply(&current->module[i], v, w);
        memcpy(y + r * dims, v, dims * sizeof *v);
    }
}

static double loss(void *arg, const double *at) {
    double y[N * MAX_COLS], sum = 0;
    (void)arg;
    expected_output(at, y);
    for (size_t i = 0; i < N * aoei_module_chain_dims(current->module, current->n, 5); i++)
        sum += pick[i] * y[i];
    return sum;
}

/* A chain with its tensors. */
typedef struct fixture {
    aoei_arena arena;
    aoei_module_chain chain;
    aoei_tensor w[MAX_WEIGHTS], g[MAX_WEIGHTS];
} fixture;

static void set_up(fixture *f, int training) {
    aoei_arena plan;
    memset(f, 0, sizeof *f);
    aoei_arena_measure(&plan);
    aoei_module_chain_layout(&f->chain, current->module, current->n, N, 5, training, &plan);
    assert_int_equal(aoei_arena_create(&f->arena, plan.used, NULL), 0);
    aoei_module_chain_layout(&f->chain, current->module, current->n, N, 5, training, &f->arena);
    const aoei_tensor x = test_tensor(N, 5, 0, 1, 1);
    memcpy(f->chain.value[0].data, x.data, N * 5 * sizeof(float));
    test_tensor_free(x);
    for (size_t i = 0; i < AOEI_MODULE_WEIGHTS * current->n; i++) {
        size_t cols, rows = shape(&current->module[i / AOEI_MODULE_WEIGHTS], i % AOEI_MODULE_WEIGHTS, &cols);
        if (!rows)
            continue;
        f->w[i] = test_tensor(rows, cols, 0, 0.7, 10 + (uint32_t)i);
        f->g[i] = test_tensor(rows, cols, 0, 0, 0);
    }
}

static void tear_down(fixture *f) {
    for (size_t i = 0; i < MAX_WEIGHTS; i++)
        if (f->w[i].data) {
            test_tensor_free(f->w[i]);
            test_tensor_free(f->g[i]);
        }
    aoei_arena_destroy(&f->arena);
}

static void check(const aoe_context *ctx) {
    static double at[MAX_VALUES], grad[MAX_VALUES], y64[N * MAX_COLS];
    const size_t dims = aoei_module_chain_dims(current->module, current->n, 5);
    fixture f, inference;
    size_t n = N * 5;
    set_up(&f, 1);
    set_up(&inference, 0);
    test_to_double(at, f.chain.value[0]);
    for (size_t i = 0; i < MAX_WEIGHTS; i++)
        if (f.w[i].data) {
            test_to_double(at + n, f.w[i]);
            n += f.w[i].rows * f.w[i].cols;
        }
    aoei_module_chain_forward(ctx, &f.chain, N, f.w, NULL);
    expected_output(at, y64);
    test_close(f.chain.value[current->n], y64, 2e-6);
    aoei_module_chain_forward(ctx, &inference.chain, N, inference.w, NULL);
    test_same_bits(inference.chain.value[current->n], f.chain.value[current->n]);
    const aoei_tensor dy = test_tensor(N, dims, 0, 1, 4);
    test_to_double(pick, dy);
    memcpy(f.chain.grad[current->n].data, dy.data, N * dims * sizeof(float));
    aoei_module_chain_backward(ctx, &f.chain, N, f.w, f.g, NULL);
    test_to_double(grad, f.chain.grad[0]);
    n = N * 5;
    for (size_t i = 0; i < MAX_WEIGHTS; i++)
        if (f.w[i].data) {
            test_to_double(grad + n, f.g[i]);
            n += f.g[i].rows * f.g[i].cols;
        }
    test_gradient(loss, NULL, at, grad, n, 8 * TEST_GRAD_TOLERANCE);
    test_tensor_free(dy);
    tear_down(&inference);
    tear_down(&f);
}

static void gradients(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        current = &cases[i];
        test_each_tier(check);
    }
}

/* Tests that dropout sets components to 0 and scales the others, that the backward pass uses the same mask, and that
 * the mask of a row does not depend on the number of rows. */
static void dropout(void **state) {
    (void)state;
    static const chain_case only = {{SAME(AOEI_MODULE_DROPOUT, 5)}, 1};
    const aoei_module_dropout drop = {.key = {1, 2}};
    aoe_context *ctx = test_context(test_best_tier(), 2);
    fixture f;
    size_t zeros = 0;
    current = &only;
    set_up(&f, 1);
    aoei_module_chain_forward(ctx, &f.chain, N, f.w, &drop);
    float *x = f.chain.value[0].data, *y = f.chain.value[1].data, *dy = f.chain.grad[1].data, first[2 * 5];
    for (size_t i = 0; i < N * 5; i++) {
        zeros += y[i] == 0;
        assert_true(y[i] == 0 || fabs((double)y[i] - (double)x[i] / 0.6) < 1e-6 * fabs((double)y[i]));
        dy[i] = 1;
    }
    assert_true(zeros > 0 && zeros < N * 5);
    memcpy(first, y, sizeof first);
    aoei_module_chain_forward(ctx, &f.chain, 2, f.w, &drop);
    assert_memory_equal(first, y, sizeof first);
    aoei_module_chain_backward(ctx, &f.chain, N, f.w, f.g, &drop);
    for (size_t i = 0; i < N * 5; i++)
        assert_true((x[i] == 0) == (y[i] == 0)); /* the gradient of x is stored in the memory of x */
    tear_down(&f);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(dropout)};
    return cmocka_run_group_tests_name("module chain", tests, NULL, NULL);
}
