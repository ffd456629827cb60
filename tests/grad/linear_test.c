/* SPDX-License-Identifier: MIT
 * covers: nn/elementwise nn/linear
 * Tests linear layers in float32, with and without GELU (linear_bf16_test.c tests bf16). The forward pass is compared
 * with double precision, and the backward pass with finite differences. The bits of the results must not depend on:
 * - the number of threads
 * - the division of the rows into calls
 * - whether the weight is packed, and whether there is a workspace for packing
 * - whether operations are fused
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "base/alloc.h"
#include "kernels/kernel_table.h"
#include "nn/elementwise.h"
#include "nn/gemm.h"
#include "nn/linear.h"

/* Tolerance for the output of a forward pass: the Euclidean norm of the error relative to that of the output. The
 * expected error is at most sqrt(I) * 6e-8 for a layer with I inputs (at most 40 here). */
#define FORWARD_TOLERANCE 1e-6

typedef struct shape {
    size_t N, I, O;
    aoei_activation activation;
    const double *weight; /* [N, O] weights of the loss, which is the sum of weight * y */
} shape;

static double activate(double x, aoei_activation form) {
    if (form == AOEI_GELU_TANH)
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return form == AOEI_GELU ? x * 0.5 * erfc(-x / sqrt(2)) : x;
}

/* Computes the output y [N, O] of the layer in double. `in` is the concatenation of x [N, I], w [O, I] and b [O]. */
static void reference(double *y, const double *in, const shape *s) {
    const double *x = in, *w = x + s->N * s->I, *b = w + s->O * s->I;
    for (size_t n = 0; n < s->N; n++)
        for (size_t o = 0; o < s->O; o++) {
            double sum = b[o];
            for (size_t i = 0; i < s->I; i++)
                sum += x[n * s->I + i] * w[o * s->I + i];
            y[n * s->O + o] = activate(sum, s->activation);
        }
}

static double loss(void *arg, const double *in) {
    const shape *s = arg;
    double *y = malloc(s->N * s->O * sizeof *y), sum = 0;
    assert_non_null(y);
    reference(y, in, s);
    for (size_t i = 0; i < s->N * s->O; i++)
        sum += s->weight[i] * y[i];
    free(y);
    return sum;
}

/* A layer with all inputs and outputs of its forward and backward pass. pre is the input of the activation. */
typedef struct layer {
    aoei_tensor x, w, b, y, pre;      /* [N, I], [O, I], [1, O], [N, O], [N, O] */
    aoei_tensor dx, dw, db, dy, dpre; /* [N, I], [O, I], [1, O], [N, O], [N, O] */
} layer;

/* Creates a layer. The row strides of x, y, dx and dy exceed the row lengths by `gap`. */
static layer layer_create(size_t N, size_t I, size_t O, size_t gap) {
    layer l = {.x = test_tensor(N, I, I + gap, 1, 1),
               .w = test_tensor(O, I, 0, 0.3, 2),
               .b = test_tensor(1, O, 0, 1, 3),
               .dy = test_tensor(N, O, O + gap, 1, 4),
               .y = test_tensor_poisoned(N, O, O + gap),
               .pre = test_tensor_poisoned(N, O, 0),
               .dpre = test_tensor_poisoned(N, O, 0),
               .dx = test_tensor_poisoned(N, I, I + gap),
               .dw = test_tensor_poisoned(O, I, 0),
               .db = test_tensor_poisoned(1, O, 0)};
    memset(l.dw.data, 0, O * I * sizeof(float));
    memset(l.db.data, 0, O * sizeof(float));
    return l;
}

static void layer_free(layer *l) {
    const aoei_tensor all[] = {l->x, l->w, l->b, l->dy, l->y, l->pre, l->dpre, l->dx, l->dw, l->db};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
}

/* Computes dpre = dy * activation'(pre) in a separate operation. There may be padding between the rows of the
 * tensors. */
static void activation_backward(const aoe_context *ctx, aoei_tensor dpre, aoei_tensor dy, aoei_tensor pre,
                                aoei_activation activation) {
    const aoei_kernels *k = aoei_kernels_of(ctx);
    for (size_t r = 0; r < dy.rows; r++)
        (activation == AOEI_GELU_TANH ? k->gelu_tanh_grad_f32 : k->gelu_grad_f32)(
            aoei_tensor_at(dpre, r, 0), aoei_tensor_at(dy, r, 0), aoei_tensor_at(pre, r, 0), dy.cols);
}

static void run(const aoe_context *ctx, layer *l, aoei_activation activation) {
    const aoei_linear_grads grads = {.dx = l->dx, .dw = l->dw, .db = l->db};
    if (activation == AOEI_IDENTITY) {
        aoei_linear_forward(ctx, l->y, l->x, l->w, l->b, NULL);
        aoei_linear_backward(ctx, &grads, l->dy, l->x, l->w);
        return;
    }
    aoei_linear_forward(ctx, l->y, l->x, l->w, l->b, &(aoei_linear_epilogue){.activation = activation, .pre = l->pre});
    activation_backward(ctx, l->dpre, l->dy, l->pre, activation);
    aoei_linear_backward(ctx, &grads, l->dpre, l->x, l->w);
}

static void check_gradient(const aoe_context *ctx, size_t N, size_t I, size_t O, size_t gap,
                           aoei_activation activation) {
    layer l = layer_create(N, I, O, gap);
    const size_t total = N * I + O * I + O;
    double *in = malloc(total * sizeof *in), *grad = malloc(total * sizeof *grad),
           *weight = malloc(N * O * sizeof *weight);
    double *y = malloc(N * O * sizeof *y);
    assert_true(in && grad && weight && y);
    test_to_double(in, l.x);
    test_to_double(in + N * I, l.w);
    test_to_double(in + N * I + O * I, l.b);
    test_to_double(weight, l.dy);
    shape s = {.N = N, .I = I, .O = O, .activation = activation, .weight = weight};
    run(ctx, &l, activation);
    reference(y, in, &s);
    test_close(l.y, y, FORWARD_TOLERANCE);
    if (activation != AOEI_IDENTITY) {
        s.activation = AOEI_IDENTITY;
        reference(y, in, &s);
        test_close(l.pre, y, FORWARD_TOLERANCE);
        s.activation = activation;
    }
    test_to_double(grad, l.dx);
    test_to_double(grad + N * I, l.dw);
    test_to_double(grad + N * I + O * I, l.db);
    test_gradient(loss, &s, in, grad, total, TEST_GRAD_TOLERANCE);
    free(in);
    free(grad);
    free(weight);
    free(y);
    layer_free(&l);
}

static void gradients(const aoe_context *ctx) {
    static const size_t shapes[][4] = {{1, 1, 1, 0}, {7, 5, 3, 0}, {9, 4, 6, 5}, {33, 40, 70, 0}, {50, 33, 17, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int a = AOEI_IDENTITY; a <= AOEI_GELU_TANH; a++)
            check_gradient(ctx, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], (aoei_activation)a);
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

enum { N = 300, I = 70, O = 450 };

/* Tests that the number of threads changes no bit. Several tasks compute each result: y [300, 450], dx [300, 70] and dw
 * [450, 70]. */
static void test_threads(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int gelu = 0; gelu < 2; gelu++) {
            layer one = layer_create(N, I, O, 3);
            aoe_context *ctx = test_context((aoei_tier)tier, 1);
            run(ctx, &one, gelu ? AOEI_GELU : AOEI_IDENTITY);
            aoe_context_destroy(ctx);
            for (size_t threads = 2; threads <= 3; threads++) {
                layer many = layer_create(N, I, O, 3);
                ctx = test_context((aoei_tier)tier, threads);
                run(ctx, &many, gelu ? AOEI_GELU : AOEI_IDENTITY);
                aoe_context_destroy(ctx);
                test_same_bits(one.y, many.y);
                test_same_bits(one.dx, many.dx);
                test_same_bits(one.dw, many.dw);
                test_same_bits(one.db, many.db);
                layer_free(&many);
            }
            layer_free(&one);
        }
}

/* Tests that y and pre have the same bits in one call for all rows and in several calls, with packed and unpacked
 * weights. */
static void rows_alone(const aoe_context *ctx) {
    layer l = layer_create(N, I, O, 3);
    run(ctx, &l, AOEI_GELU);
    aoei_tensor packed = l.w;
    void *memory = aoei_aligned(aoei_weight_packed_size(ctx, AOEI_F32, O, I) + 1);
    assert_non_null(memory);
    aoei_weight_pack(ctx, AOEI_F32, &packed, memory);
    assert_ptr_equal(packed.packed, memory);
    static const size_t groups[] = {1, 2, 7, 29, 64, N};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (int ready = 0; ready < 2; ready++) {
            aoei_tensor y = test_tensor_poisoned(N, O, O + 1), pre = test_tensor_poisoned(N, O, 0);
            for (size_t n = 0; n < N; n += groups[i]) {
                const size_t rows = N - n < groups[i] ? N - n : groups[i];
                const aoei_linear_epilogue e = {.activation = AOEI_GELU, .pre = aoei_tensor_rows(pre, n, rows)};
                aoei_linear_forward(ctx, aoei_tensor_rows(y, n, rows), aoei_tensor_rows(l.x, n, rows),
                                    ready ? packed : l.w, l.b, &e);
            }
            test_same_bits(y, l.y);
            test_same_bits(pre, l.pre);
            test_tensor_free(y);
            test_tensor_free(pre);
        }
    aoei_aligned_free(memory);
    layer_free(&l);
}

static void test_rows_alone(void **state) {
    (void)state;
    test_each_tier(rows_alone);
}

/* Tests that two calls give the same bits as one call. For dw and db, each of the two calls processes some of the rows.
 * For dx, each of the two calls processes some of the output features. */
static void parts(const aoe_context *ctx) {
    layer whole = layer_create(N, I, O, 3);
    run(ctx, &whole, AOEI_IDENTITY);
    static const size_t cuts[] = {1, 32, 133, N - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        layer l = layer_create(N, I, O, 3);
        for (size_t part = 0; part < 2; part++) {
            const size_t first = part ? cuts[i] : 0, n = part ? N - cuts[i] : cuts[i];
            aoei_linear_backward(ctx, &(aoei_linear_grads){.dw = l.dw, .db = l.db}, aoei_tensor_rows(l.dy, first, n),
                                 aoei_tensor_rows(l.x, first, n), l.w);
            aoei_linear_backward(ctx, &(aoei_linear_grads){.dx = l.dx, .accumulate = (int)part},
                                 aoei_tensor_cols(l.dy, first, part ? O - cuts[i] : n), l.x,
                                 aoei_tensor_rows(l.w, first, part ? O - cuts[i] : n));
        }
        test_same_bits(l.dw, whole.dw);
        test_same_bits(l.db, whole.db);
        test_same_bits(l.dx, whole.dx);
        layer_free(&l);
    }
    layer_free(&whole);
}

static void test_parts(void **state) {
    (void)state;
    test_each_tier(parts);
}

/* Tests optional arguments. A call that requests only one gradient must compute this gradient. A layer without bias
 * must give the results of a zero bias. A call with zero rows must change nothing. */
static void absent(const aoe_context *ctx) {
    const aoei_tensor none = {0};
    layer want = layer_create(20, 12, 40, 0), l = layer_create(20, 12, 40, 0);
    run(ctx, &want, AOEI_IDENTITY);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dx = l.dx}, l.dy, l.x, l.w);
    test_same_bits(l.dx, want.dx);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dw = l.dw}, l.dy, l.x, l.w);
    test_same_bits(l.dw, want.dw);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.db = l.db}, l.dy, l.x, l.w);
    test_same_bits(l.db, want.db);
    memset(l.b.data, 0, 40 * sizeof(float));
    aoei_linear_forward(ctx, want.y, l.x, l.w, l.b, NULL);
    aoei_linear_forward(ctx, l.y, l.x, l.w, none, NULL);
    for (size_t i = 0; i < 20 * 40; i++)
        assert_true(aoei_f32(l.y)[i] == aoei_f32(want.y)[i]);
    aoei_linear_forward(ctx, aoei_tensor_rows(l.y, 3, 0), aoei_tensor_rows(l.x, 3, 0), l.w, l.b, NULL);
    aoei_linear_backward(ctx, &(aoei_linear_grads){.dx = aoei_tensor_rows(l.dx, 3, 0), .dw = l.dw, .db = l.db},
                         aoei_tensor_rows(l.dy, 3, 0), aoei_tensor_rows(l.x, 3, 0), l.w);
    test_same_bits(l.dx, want.dx);
    test_same_bits(l.dw, want.dw);
    test_same_bits(l.db, want.db);
    layer_free(&want);
    layer_free(&l);
}

static void test_absent(void **state) {
    (void)state;
    test_each_tier(absent);
}

/* Tests that an activation in the epilogue of the linear layer gives the same bits as a separate activation. */
static void fused_forward(const aoe_context *ctx, size_t n, aoei_activation activation) {
    layer l = layer_create(n, I, O, 0);
    aoei_tensor residual = test_tensor(n, O, 0, 1, 5), want = test_tensor_poisoned(n, O, 0),
                pre = test_tensor_poisoned(n, O, 0);
    aoei_linear_forward(ctx, pre, l.x, l.w, l.b, NULL);
    aoei_tensor_copy(ctx, want, pre);
    if (activation != AOEI_IDENTITY)
        aoei_activation_forward(ctx, want, want, activation);
    aoei_linear_epilogue e = {.activation = activation};
    aoei_linear_forward(ctx, l.y, l.x, l.w, l.b, &e);
    test_same_bits(l.y, want);
    aoei_add(ctx, want, want, residual);
    e.residual = residual;
    aoei_linear_forward(ctx, l.y, l.x, l.w, l.b, &e);
    test_same_bits(l.y, want);
    if (activation != AOEI_IDENTITY) {
        e.pre = l.pre;
        aoei_linear_forward(ctx, l.y, l.x, l.w, l.b, &e);
        test_same_bits(l.y, want);
        test_same_bits(l.pre, pre);
    }
    test_tensor_free(residual);
    test_tensor_free(want);
    test_tensor_free(pre);
    layer_free(&l);
}

/* Tests that a backward pass with the derivative of the activation gives the same bits as separate operations. dx may
 * be stored in the memory of x, because dw is computed from x before dx is written. */
static void fused_backward(const aoe_context *ctx, size_t n, aoei_activation activation) {
    layer want = layer_create(n, I, O, 0), l = layer_create(n, I, O, 0);
    aoei_tensor gate = test_tensor(n, I, 0, 1, 6);
    run(ctx, &want, AOEI_IDENTITY);
    if (activation != AOEI_IDENTITY)
        activation_backward(ctx, want.dx, want.dx, gate, activation);
    aoei_linear_grads g = {.dx = l.dx, .dw = l.dw, .db = l.db};
    if (activation != AOEI_IDENTITY) {
        g.activation = activation;
        g.gate = gate;
    }
    aoei_linear_backward(ctx, &g, l.dy, l.x, l.w);
    test_same_bits(l.dx, want.dx);
    test_same_bits(l.dw, want.dw);
    test_same_bits(l.db, want.db);
    aoei_tensor_zero(ctx, l.dw);
    aoei_tensor_zero(ctx, l.db);
    g.dx = l.x;
    aoei_linear_backward(ctx, &g, l.dy, l.x, l.w);
    test_same_bits(l.x, want.dx);
    test_same_bits(l.dw, want.dw);
    test_same_bits(l.db, want.db);
    test_tensor_free(gate);
    layer_free(&want);
    layer_free(&l);
}

static void fused(const aoe_context *ctx) {
    static const size_t rows[] = {1, 9, 65, N};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int a = AOEI_IDENTITY; a <= AOEI_GELU_TANH; a++) {
            fused_forward(ctx, rows[i], (aoei_activation)a);
            fused_backward(ctx, rows[i], (aoei_activation)a);
        }
}

static void test_fused(void **state) {
    (void)state;
    test_each_tier(fused);
}

/* Tests that a workspace for packing, which initially contains NaN, changes no bit of the results. */
static void with_workspace(const aoe_context *ctx) {
    static const size_t rows[] = {1, 33, 63, 64, N};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        layer want = layer_create(rows[i], I, O, 3), l = layer_create(rows[i], I, O, 3);
        const size_t bytes = aoei_linear_workspace(ctx, AOEI_F32, rows[i], O, I);
        aoei_tensor workspace = test_tensor_poisoned(1, bytes / sizeof(float) + 1, 0);
        run(ctx, &want, AOEI_GELU);
        const aoei_linear_epilogue e = {.activation = AOEI_GELU, .pre = l.pre, .workspace = workspace};
        aoei_linear_forward(ctx, l.y, l.x, l.w, l.b, &e);
        test_same_bits(l.y, want.y);
        test_same_bits(l.pre, want.pre);
        const aoei_linear_grads g = {.dx = l.dx, .dw = l.dw, .db = l.db, .workspace = workspace};
        aoei_linear_backward(ctx, &g, want.dpre, l.x, l.w);
        test_same_bits(l.dx, want.dx);
        test_same_bits(l.dw, want.dw);
        test_same_bits(l.db, want.db);
        test_tensor_free(workspace);
        layer_free(&want);
        layer_free(&l);
    }
}

static void test_with_workspace(void **state) {
    (void)state;
    test_each_tier(with_workspace);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),     cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_rows_alone),    cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_absent),        cmocka_unit_test(test_fused),
                                       cmocka_unit_test(test_with_workspace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
