/* SPDX-License-Identifier: MIT
 * Tests linear layers in bf16. Every element of the outputs and gradients is compared with a double-precision
 * computation on the rounded operands, for every option of the epilogue. The error bound covers the float32 sums and
 * one rounding of the result. The bits of the results must not depend on the number of threads or on the division of
 * the rows into calls. For dw and db, the number of rows in the first call must be a multiple of 32.
 * tags: threads
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "base/alloc.h"
#include "nn/gemm.h"
#include "nn/linear.h"

/* Returns a bound for the error of a float32 sum of n products. `sum` is the sum of their absolute values. There are n
 * roundings, both with native bf16 instructions and with emulated ones. In addition, native instructions flush
 * subnormal sums to zero. */
static double sum_error(size_t n, double sum) {
    return (double)(n + 4) * 0x1p-23 * sum + (double)n * (double)FLT_MIN;
}

/* Relative error of an activation in float32, including the error of the additions before and after the activation. */
#define ACTIVATION_ERROR 1e-6

static double activate(double x, aoei_activation form) {
    if (form == AOEI_GELU_TANH)
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return form == AOEI_GELU ? x * 0.5 * erfc(-x / sqrt(2)) : x;
}

static double derivative(double x, aoei_activation form) {
    if (form == AOEI_GELU_TANH) {
        const double k = sqrt(2 / acos(-1)), t = tanh(k * (x + 0.044715 * x * x * x));
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
    }
    return form == AOEI_GELU ? 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * acos(-1)) : 1;
}

/* A layer with I inputs and O outputs, for N tokens, and all inputs and outputs of both passes. pre is the input of the
 * activation in the forward pass; gate is this input in the backward pass. */
typedef struct layer {
    aoei_tensor x, w, b, y, pre, residual; /* w and b are float32 */
    aoei_tensor dy, dx, dw, db, gate;      /* dw and db are float32; the backward pass adds to their initial values */
    aoei_tensor workspace;
    double *rounded; /* [O, I] w rounded to bf16 */
} layer;

/* Creates a layer. The row strides of x, y, residual, dy and dx exceed the row lengths by `gap`. */
static layer layer_create(const aoe_context *ctx, size_t N, size_t I, size_t O, size_t gap) {
    layer l = {.x = test_tensor_typed(AOEI_BF16, N, I, I + gap, 1, 1),
               .w = test_tensor(O, I, 0, 0.3, 2),
               .b = test_tensor(1, O, 0, 1, 3),
               .y = test_poisoned_typed(AOEI_BF16, N, O, O + gap),
               .pre = test_poisoned_typed(AOEI_BF16, N, O, 0),
               .residual = test_tensor_typed(AOEI_BF16, N, O, O + gap, 1, 4),
               .dy = test_tensor_typed(AOEI_BF16, N, O, O + gap, 1, 5),
               .dx = test_poisoned_typed(AOEI_BF16, N, I, I + gap),
               .dw = test_tensor(O, I, 0, 1, 6),
               .db = test_tensor(1, O, 0, 1, 7),
               .gate = test_tensor_typed(AOEI_BF16, N, I, 0, 1, 8)};
    l.workspace = test_tensor_poisoned(1, aoei_linear_workspace(ctx, AOEI_BF16, N, O, I) / sizeof(float) + 1, 0);
    l.rounded = malloc(O * I * sizeof *l.rounded);
    assert_non_null(l.rounded);
    for (size_t i = 0; i < O * I; i++)
        l.rounded[i] = (double)aoei_bf16_to_f32(aoei_bf16_from_f32(aoei_f32(l.w)[i]));
    return l;
}

static void layer_free(layer *l) {
    const aoei_tensor all[] = {l->x,  l->w,  l->b,  l->y,  l->pre,  l->residual,
                               l->dy, l->dx, l->dw, l->db, l->gate, l->workspace};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
    free(l->rounded);
}

/* Returns the tensor w with a packed copy of the weight in the field `packed`. The caller frees `packed` with
 * aoei_aligned_free.
 */
static aoei_tensor with_packed(const aoe_context *ctx, aoei_tensor w) {
    void *memory = aoei_aligned(aoei_weight_packed_size(ctx, AOEI_BF16, w.rows, w.cols));
    assert_non_null(memory);
    aoei_weight_pack(ctx, AOEI_BF16, &w, memory);
    return w;
}

/* Checks l->y after a forward call with the epilogue e. If the epilogue stores pre, also checks l->pre. */
static void check_forward(const layer *l, const aoei_linear_epilogue *e, int biased) {
    const size_t N = l->x.rows, I = l->x.cols, O = l->y.cols;
    double *want = malloc(4 * N * O * sizeof *want), *bound = want + N * O, *pre = bound + N * O,
           *pre_bound = pre + N * O;
    assert_non_null(want);
    for (size_t n = 0; n < N; n++)
        for (size_t o = 0; o < O; o++) {
            const double bias = biased ? (double)aoei_f32(l->b)[o] : 0;
            const double residual = e->residual.data ? (double)test_at(l->residual, n, o) : 0;
            double sum = bias, size = fabs(bias);
            for (size_t i = 0; i < I; i++) {
                const double term = (double)test_at(l->x, n, i) * l->rounded[o * I + i];
                sum += term;
                size += fabs(term);
            }
            const size_t k = n * O + o;
            pre[k] = sum;
            pre_bound[k] = TEST_BF16_ROUNDOFF * fabs(sum) + 1.01 * sum_error(I, size);
            double f = sum, error = sum_error(I, size);
            /* The layer rounds the sum to bf16 and applies the activation to the rounded sum. If the layer stores pre,
             * pre contains the rounded sum. Otherwise the rounded sum is unknown, and it may differ from `sum` by
             * pre_bound. */
            if (e->activation != AOEI_IDENTITY) {
                const double v = e->pre.data ? (double)test_at(l->pre, n, o) : sum;
                f = activate(v, e->activation);
                error = ACTIVATION_ERROR * (fabs(f) + 1e-3) + (e->pre.data ? 0 : 1.13 * pre_bound[k]); /* |gelu'|
                                                                                                          <= 1.13 */
            }
            want[k] = f + residual;
            bound[k] = TEST_BF16_ROUNDOFF * fabs(want[k]) + 1.01 * (error + 0x1p-23 * (fabs(f) + fabs(residual)));
        }
    test_within(l->y, want, bound, "y");
    if (e->pre.data)
        test_within(l->pre, pre, pre_bound, "pre");
    free(want);
}

static void forward(const aoe_context *ctx, size_t N, size_t I, size_t O, size_t gap) {
    layer l = layer_create(ctx, N, I, O, gap);
    const aoei_tensor none = {0}, packed = with_packed(ctx, l.w);
    aoei_tensor first = test_poisoned_typed(AOEI_BF16, N, O, O + gap);
    for (int a = AOEI_IDENTITY; a <= AOEI_GELU_TANH; a++)
        for (unsigned parts = 0; parts < 8; parts++) {
            const int biased = parts & 1, summed = parts & 2, kept = parts & 4;
            aoei_linear_epilogue e = {.activation = (aoei_activation)a};
            if (kept && a == AOEI_IDENTITY)
                continue;
            if (summed)
                e.residual = l.residual;
            if (kept)
                e.pre = l.pre;
            aoei_linear_forward(ctx, l.y, l.x, packed, biased ? l.b : none, &e);
            check_forward(&l, &e, biased);
            aoei_tensor_copy(ctx, first, l.y);
            e.workspace = l.workspace; /* with a workspace, the call packs the weight itself; the bits must not
                                          change */
            aoei_linear_forward(ctx, l.y, l.x, l.w, biased ? l.b : none, &e);
            test_same_bits(first, l.y);
        }
    /* y is in the memory of the residual */
    const aoei_linear_epilogue e = {.activation = AOEI_GELU, .residual = l.residual};
    aoei_linear_forward(ctx, l.y, l.x, packed, l.b, &e);
    aoei_linear_forward(ctx, l.residual, l.x, packed, l.b, &e);
    test_same_bits(l.y, l.residual);
    test_tensor_free(first);
    aoei_aligned_free(packed.packed);
    layer_free(&l);
}

static const size_t shapes[][4] = {{1, 1, 1, 0},    {7, 5, 3, 0},    {9, 4, 6, 5},    {1, 96, 64, 0},
                                   {33, 40, 70, 0}, {70, 33, 17, 3}, {66, 130, 97, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void forwards(const aoe_context *ctx) {
    for (size_t i = 0; i < SHAPES; i++)
        forward(ctx, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
}

static void test_forward(void **state) {
    (void)state;
    test_each_tier(forwards);
}

/* Checks that `got` is start + (dy w) * activation'(gate). A NULL start means 0. Without a gate, the derivative is
 * 1. */
static void check_dx(const layer *l, aoei_tensor got, const double *start, aoei_activation activation,
                     aoei_tensor gate) {
    const size_t N = l->x.rows, I = l->x.cols, O = l->y.cols;
    double *want = malloc(2 * N * I * sizeof *want), *bound = want + N * I;
    assert_non_null(want);
    for (size_t n = 0; n < N; n++)
        for (size_t i = 0; i < I; i++) {
            const size_t k = n * I + i;
            double sum = start ? start[k] : 0, size = fabs(sum);
            for (size_t o = 0; o < O; o++) {
                const double term = (double)test_at(l->dy, n, o) * l->rounded[o * I + i];
                sum += term;
                size += fabs(term);
            }
            const double factor = gate.data ? derivative((double)test_at(gate, n, i), activation) : 1;
            want[k] = sum * factor;
            const double error = sum_error(O, size) * fabs(factor) + (gate.data ? ACTIVATION_ERROR * fabs(sum) : 0);
            bound[k] = (got.type == AOEI_BF16 ? TEST_BF16_ROUNDOFF * fabs(want[k]) : 0) + 1.01 * error;
        }
    test_within(got, want, bound, "dx");
    free(want);
}

static void check_parameters(const layer *l, aoei_tensor x) {
    const size_t N = x.rows, I = x.cols, O = l->y.cols;
    double *want = malloc(2 * O * I * sizeof *want), *bound = want + O * I;
    aoei_tensor dw = test_tensor(O, I, 0, 1, 6), db = test_tensor(1, O, 0, 1, 7);
    assert_non_null(want);
    for (size_t o = 0; o < O; o++)
        for (size_t i = 0; i < I; i++) {
            double sum = (double)test_at(dw, o, i), size = fabs(sum);
            for (size_t n = 0; n < N; n++) {
                const double term = (double)test_at(l->dy, n, o) * (double)test_at(x, n, i);
                sum += term;
                size += fabs(term);
            }
            want[o * I + i] = sum;
            bound[o * I + i] = sum_error(N, size);
        }
    test_within(l->dw, want, bound, "dw");
    for (size_t o = 0; o < O; o++) {
        want[o] = (double)test_at(db, 0, o);
        double size = fabs(want[o]);
        for (size_t n = 0; n < N; n++) {
            want[o] += (double)test_at(l->dy, n, o);
            size += fabs((double)test_at(l->dy, n, o));
        }
        bound[o] = sum_error(N, size);
    }
    test_within(l->db, want, bound, "db");
    test_tensor_free(dw);
    test_tensor_free(db);
    free(want);
}

static void backward(const aoe_context *ctx, size_t N, size_t I, size_t O, size_t gap) {
    layer l = layer_create(ctx, N, I, O, gap), again = layer_create(ctx, N, I, O, gap);
    const aoei_tensor none = {0};
    aoei_tensor wide = test_tensor(N, I, I + gap, 1, 9);
    double *start = malloc(N * I * sizeof *start);
    assert_non_null(start);
    test_to_double(start, wide);
    aoei_linear_grads g = {.dx = l.dx, .dw = l.dw, .db = l.db, .workspace = l.workspace};
    aoei_linear_backward(ctx, &g, l.dy, l.x, l.w);
    check_dx(&l, l.dx, NULL, AOEI_IDENTITY, none);
    check_parameters(&l, l.x);
    /* dw and db can be computed without a workspace; the bits must not change */
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dw = again.dw, .db = again.db}, l.dy, l.x, l.w);
    test_same_bits(l.dw, again.dw);
    test_same_bits(l.db, again.db);
    /* dx as float32: with `accumulate`, the gradient is added to the stored value */
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dx = wide, .accumulate = 1, .workspace = l.workspace}, l.dy, l.x,
                         l.w);
    check_dx(&l, wide, start, AOEI_IDENTITY, none);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dx = wide, .workspace = l.workspace}, l.dy, l.x, l.w);
    check_dx(&l, wide, NULL, AOEI_IDENTITY, none);
    for (int a = AOEI_GELU; a <= AOEI_GELU_TANH; a++) {
        g = (aoei_linear_grads){.dx = l.dx, .activation = (aoei_activation)a, .gate = l.gate, .workspace = l.workspace};
        aoei_linear_backward(ctx, &g, l.dy, l.x, l.w);
        check_dx(&l, l.dx, NULL, g.activation, l.gate);
    }
    /* dx may be stored in the memory of x, because dw is computed from x before dx is written */
    g.dx = again.x;
    g.dw = again.dw;
    aoei_tensor_copy(ctx, again.dw, l.dw);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dw = l.dw, .workspace = l.workspace}, l.dy, l.x, l.w);
    aoei_linear_backward(ctx, &g, l.dy, again.x, l.w);
    test_same_bits(l.dx, again.x);
    test_same_bits(l.dw, again.dw);
    free(start);
    test_tensor_free(wide);
    layer_free(&l);
    layer_free(&again);
}

static void backwards(const aoe_context *ctx) {
    for (size_t i = 0; i < SHAPES; i++)
        backward(ctx, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
}

static void test_backward(void **state) {
    (void)state;
    test_each_tier(backwards);
}

enum { N = 300, I = 70, O = 450 };

/* Runs the forward pass with a GELU epilogue, pre and a residual, and the backward pass with all gradients. */
static void run(const aoe_context *ctx, layer *l, aoei_tensor w) {
    const aoei_linear_epilogue e = {
        .activation = AOEI_GELU, .pre = l->pre, .residual = l->residual, .workspace = l->workspace};
    const aoei_linear_grads g = {
        .dx = l->dx, .activation = AOEI_GELU, .gate = l->gate, .dw = l->dw, .db = l->db, .workspace = l->workspace};
    aoei_linear_forward(ctx, l->y, l->x, w, l->b, &e);
    aoei_linear_backward(ctx, &g, l->dy, l->x, w);
}

static void assert_equal_layers(const layer *a, const layer *b) {
    test_same_bits(a->y, b->y);
    test_same_bits(a->pre, b->pre);
    test_same_bits(a->dx, b->dx);
    test_same_bits(a->dw, b->dw);
    test_same_bits(a->db, b->db);
}

static void test_threads(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        aoe_context *ctx = test_context((aoei_tier)tier, 1);
        layer one = layer_create(ctx, N, I, O, 3);
        run(ctx, &one, one.w);
        aoe_context_destroy(ctx);
        for (size_t threads = 2; threads <= 3; threads++) {
            ctx = test_context((aoei_tier)tier, threads);
            layer many = layer_create(ctx, N, I, O, 3);
            const aoei_tensor packed = with_packed(ctx, many.w);
            run(ctx, &many, packed);
            assert_equal_layers(&one, &many);
            aoei_aligned_free(packed.packed);
            layer_free(&many);
            aoe_context_destroy(ctx);
        }
        layer_free(&one);
    }
}

/* Tests that the rows of y, pre and dx have the same bits in one call for all rows and in calls for 1, 2, 7, 29 or 64
 * rows. */
static void rows_alone(const aoe_context *ctx) {
    layer l = layer_create(ctx, N, I, O, 3);
    const aoei_tensor packed = with_packed(ctx, l.w);
    run(ctx, &l, packed);
    static const size_t groups[] = {1, 2, 7, 29, 64};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        layer p = layer_create(ctx, N, I, O, 1);
        for (size_t n = 0; n < N; n += groups[i]) {
            const size_t rows = N - n < groups[i] ? N - n : groups[i];
#define PART(t) aoei_tensor_rows(t, n, rows)
            const aoei_linear_epilogue e = {.activation = AOEI_GELU, .pre = PART(p.pre), .residual = PART(p.residual)};
            const aoei_linear_grads g = {
                .dx = PART(p.dx), .activation = AOEI_GELU, .gate = PART(p.gate), .workspace = p.workspace};
            aoei_linear_forward(ctx, PART(p.y), PART(p.x), packed, p.b, &e);
            aoei_linear_backward(ctx, &g, PART(p.dy), PART(p.x), packed);
#undef PART
        }
        test_same_bits(p.y, l.y);
        test_same_bits(p.pre, l.pre);
        test_same_bits(p.dx, l.dx);
        layer_free(&p);
    }
    aoei_aligned_free(packed.packed);
    layer_free(&l);
}

static void test_rows_alone(void **state) {
    (void)state;
    test_each_tier(rows_alone);
}

/* Tests that dw and db have the same bits in one call for all tokens and in two calls, if the number of tokens in the
 * first call is a multiple of 32. */
static void parts(const aoe_context *ctx) {
    layer whole = layer_create(ctx, N, I, O, 3);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dw = whole.dw, .db = whole.db}, whole.dy, whole.x, whole.w);
    static const size_t cuts[] = {32, 64, 256, 288};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        layer l = layer_create(ctx, N, I, O, 3);
        for (size_t part = 0; part < 2; part++) {
            const size_t first = part ? cuts[i] : 0, n = part ? N - cuts[i] : cuts[i];
            aoei_linear_backward(ctx, &(aoei_linear_grads){.dw = l.dw, .db = l.db}, aoei_tensor_rows(l.dy, first, n),
                                 aoei_tensor_rows(l.x, first, n), l.w);
        }
        test_same_bits(l.dw, whole.dw);
        test_same_bits(l.db, whole.db);
        layer_free(&l);
    }
    layer_free(&whole);
}

static void test_parts(void **state) {
    (void)state;
    test_each_tier(parts);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_rows_alone),
                                       cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
