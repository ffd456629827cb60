/* SPDX-License-Identifier: MIT
 * covers: nn/glu
 * Tests gated linear units with every activation. Outputs and gradients in float32 and bf16 are compared with double
 * precision. An output in the memory of an input must have the same bits. The bits of the results must not depend on
 * the number of threads.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/glu.h"

/* N is odd, and so large that the library divides the elements into more than two tasks. */
enum { ROWS = 13, COLS = 2731, N = ROWS * COLS };

static const aoei_activation activations[] = {AOEI_SILU, AOEI_GELU, AOEI_GELU_TANH, AOEI_RELU, AOEI_QUICK_GELU};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

/* Returns the activation at x and its derivative. */
static double value_of(aoei_activation a, double x, double *derivative) {
    const double phi = exp(-x * x / 2) / sqrt(2 * acos(-1)), Phi = 0.5 * erfc(-x / sqrt(2));
    const double root = sqrt(2 / acos(-1)), t = tanh(root * (x + 0.044715 * x * x * x)), s = 1 / (1 + exp(-x));
    if (a == AOEI_GELU) {
        *derivative = Phi + x * phi;
        return x * Phi;
    }
    if (a == AOEI_GELU_TANH) {
        *derivative = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
        return 0.5 * x * (1 + t);
    }
    if (a == AOEI_RELU) {
        *derivative = x > 0;
        return x > 0 ? x : 0;
    }
    if (a == AOEI_QUICK_GELU) {
        const double q = 1 / (1 + exp(-1.702 * x));
        *derivative = q + 1.702 * x * q * (1 - q);
        return x * q;
    }
    *derivative = s + x * s * (1 - s);
    return x * s;
}

typedef struct tensors {
    aoei_tensor gate, up, y, dy;
} tensors;

static tensors create(aoei_dtype type) {
    return (tensors){test_tensor_typed(type, ROWS, COLS, 0, 2, 1), test_tensor_typed(type, ROWS, COLS, 0, 1, 2),
                     test_poisoned_typed(type, ROWS, COLS, 0), test_tensor_typed(type, ROWS, COLS, 0, 1, 3)};
}

static void destroy(tensors t) {
    test_tensor_free(t.gate);
    test_tensor_free(t.up);
    test_tensor_free(t.y);
    test_tensor_free(t.dy);
}

static void check(const aoe_context *ctx, aoei_dtype type, aoei_activation a) {
    tensors t = create(type);
    double *in = malloc(6 * N * sizeof *in), *up = in + N, *dy = in + 2 * N, *y = in + 3 * N, *dgate = in + 4 * N,
           *dup = in + 5 * N, derivative;
    const double bound = 1e-6 + (type == AOEI_BF16 ? TEST_BF16_ROUNDOFF : 0);
    assert_non_null(in);
    test_to_double(in, t.gate);
    test_to_double(up, t.up);
    test_to_double(dy, t.dy);
    for (size_t i = 0; i < N; i++) {
        const double v = value_of(a, in[i], &derivative);
        y[i] = v * up[i];
        dup[i] = dy[i] * v;
        dgate[i] = dy[i] * up[i] * derivative;
    }
    aoei_glu_forward(ctx, t.y, t.gate, t.up, a);
    test_close(t.y, y, bound);
    for (int over_up = 0; over_up < 2; over_up++) { /* the output is in the memory of `gate`, then of `up` */
        tensors own = create(type);
        const aoei_tensor to = over_up ? own.up : own.gate;
        aoei_glu_forward(ctx, to, own.gate, own.up, a);
        test_same_bits(to, t.y);
        destroy(own);
    }
    aoei_glu_backward(ctx, t.gate, t.up, t.dy, a);
    test_close(t.gate, dgate, bound);
    test_close(t.up, dup, bound);
    free(in);
    destroy(t);
}

static void values(const aoe_context *ctx) {
    for (size_t k = 0; k < ACTIVATIONS; k++) {
        check(ctx, AOEI_F32, activations[k]);
        check(ctx, AOEI_BF16, activations[k]);
    }
}

static void test_values(void **state) {
    (void)state;
    test_each_tier(values);
}

static void test_threads(void **state) {
    (void)state;
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        tensors t[3];
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context(test_best_tier(), threads);
            tensors *own = &t[threads - 1];
            *own = create((aoei_dtype)type);
            aoei_glu_forward(ctx, own->y, own->gate, own->up, AOEI_SILU);
            aoei_glu_backward(ctx, own->gate, own->up, own->dy, AOEI_SILU);
            test_same_bits(own->y, t[0].y);
            test_same_bits(own->gate, t[0].gate);
            test_same_bits(own->up, t[0].up);
            aoe_context_destroy(ctx);
        }
        for (size_t k = 0; k < 3; k++)
            destroy(t[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
