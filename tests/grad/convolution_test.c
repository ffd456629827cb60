/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/convolution
 * Tests convolutions over tokens: the forward pass against nested loops in double, including the first and the last
 * token of each text; the gradients by finite differences; a kernel of size 1 with identity weights; and equal bits for
 * any number of threads and for a text alone and in a batch.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/random.h"
#include "nn/convolution.h"
#include "nn/linear.h"

enum { D = 5, C = 4, N = 9, TEXTS = 4, MAX_KERNEL = 5, WORKSPACE = 1 << 16 };

static const uint32_t offsets[TEXTS + 1] = {0, 1, 3, 3 + 5, N};
static const aoei_batch batch = {.n_tokens = N, .n_texts = TEXTS, .longest = 5, .offsets = offsets};

typedef struct fixture {
    _Alignas(64) float workspace[WORKSPACE];
    float x[N * D], w[C * D * MAX_KERNEL], b[C], y[N * C], dy[N * C], dx[N * D], dw[C * D * MAX_KERNEL], db[C];
    float unfolded[N * D * MAX_KERNEL];
    size_t k;
} fixture;

static void fill(float *to, size_t n, uint32_t stream) {
    aoei_rng rng;
    aoei_rng_init(&rng, 5, AOEI_STREAM_INIT, stream);
    for (size_t i = 0; i < n; i++)
        to[i] = (float)aoei_rng_normal(&rng);
}

static void begin(fixture *f, size_t k) {
    memset(f, 0, sizeof *f);
    f->k = k;
    fill(f->x, N * D, 1);
    fill(f->w, C * D * k, 2);
    fill(f->b, C, 3);
    fill(f->dy, N * C, 4);
}

static aoei_tensor tensor(float *data, size_t rows, size_t cols) {
    return (aoei_tensor){.data = data, .rows = rows, .cols = cols, .ld = cols};
}

static aoei_convolution convolution(const aoe_context *ctx, fixture *f) {
    assert_true(aoei_linear_workspace(ctx, AOEI_F32, N, C, D * f->k) <= sizeof f->workspace);
    return (aoei_convolution){.kernel = f->k,
                              .weight = tensor(f->w, C, D * f->k),
                              .bias = tensor(f->b, 1, C),
                              .unfolded = tensor(f->unfolded, N, D * f->k),
                              .workspace = tensor(f->workspace, 1, WORKSPACE)};
}

static void forward(const aoe_context *ctx, fixture *f) {
    const aoei_convolution v = convolution(ctx, f);
    aoei_convolution_forward(ctx, &v, tensor(f->y, N, C), tensor(f->x, N, D), &batch);
}

static void backward(const aoe_context *ctx, fixture *f) {
    const aoei_convolution v = convolution(ctx, f);
    aoei_convolution_backward(ctx, &v, tensor(f->dx, N, D), tensor(f->dw, C, D * f->k), tensor(f->db, 1, C),
                              tensor(f->dy, N, C), tensor(f->x, N, D), &batch);
}

/* Computes output c of token t with loops over the kernel and the input channels. */
static double reference(const fixture *f, size_t text, size_t t, size_t c) {
    const long half = (long)f->k / 2;
    double sum = (double)f->b[c];
    for (long o = 0; o < (long)f->k; o++)
        for (size_t i = 0; i < D; i++) {
            const long at = (long)t + o - half;
            if (at >= (long)offsets[text] && at < (long)offsets[text + 1])
                sum += (double)f->w[(c * D + i) * f->k + (size_t)o] * (double)f->x[(size_t)at * D + i];
        }
    return sum;
}

/* Returns the sum of dy times the output, in double. */
static double objective(const fixture *f) {
    double sum = 0;
    for (size_t text = 0; text < TEXTS; text++)
        for (size_t t = offsets[text]; t < offsets[text + 1]; t++)
            for (size_t c = 0; c < C; c++)
                sum += (double)f->dy[t * C + c] * reference(f, text, t, c);
    return sum;
}

static void forward_equals_loops(void **state) {
    (void)state;
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    for (size_t k = 1; k <= MAX_KERNEL; k += 2) {
        static fixture f;
        begin(&f, k);
        forward(ctx, &f);
        for (size_t text = 0; text < TEXTS; text++)
            for (size_t t = offsets[text]; t < offsets[text + 1]; t++)
                for (size_t c = 0; c < C; c++)
                    assert_true(fabs((double)f.y[t * C + c] - reference(&f, text, t, c)) < 1e-5);
    }
    aoe_context_destroy(ctx);
}

static void gradients_equal_differences(void **state) {
    (void)state;
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    for (size_t k = 1; k <= MAX_KERNEL; k += 2) {
        static fixture f;
        begin(&f, k);
        backward(ctx, &f);
        const struct {
            float *value, *grad;
            size_t n;
        } parts[] = {{f.x, f.dx, N * D}, {f.w, f.dw, C * D * k}, {f.b, f.db, C}};
        for (size_t p = 0; p < 3; p++)
            for (size_t i = 0; i < parts[p].n; i++) {
                const float value = parts[p].value[i];
                parts[p].value[i] = value + 0.5f; /* the objective is linear in each value */
                const double high = objective(&f), step = (double)parts[p].value[i];
                parts[p].value[i] = value - 0.5f;
                const double low = objective(&f), width = step - (double)parts[p].value[i];
                parts[p].value[i] = value;
                assert_true(fabs((high - low) / width - (double)parts[p].grad[i]) < 1e-4);
            }
    }
    aoe_context_destroy(ctx);
}

static void identity_kernel_copies(void **state) {
    (void)state;
    static fixture f;
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    begin(&f, 1);
    for (size_t c = 0; c < C; c++) {
        f.b[c] = 0;
        for (size_t i = 0; i < D; i++)
            f.w[c * D + i] = c == i;
    }
    forward(ctx, &f);
    for (size_t t = 0; t < N; t++)
        assert_memory_equal(f.y + t * C, f.x + t * D, C * sizeof(float));
    aoe_context_destroy(ctx);
}

static void bits_do_not_depend_on_threads_or_batches(void **state) {
    (void)state;
    static fixture f, g;
    aoe_context *one = test_context(AOEI_TIER_C, 1), *three = test_context(AOEI_TIER_C, 3);
    begin(&f, 5);
    begin(&g, 5);
    forward(one, &f);
    backward(one, &f);
    forward(three, &g);
    backward(three, &g);
    assert_memory_equal(f.y, g.y, sizeof f.y);
    assert_memory_equal(f.dx, g.dx, sizeof f.dx);
    assert_memory_equal(f.dw, g.dw, sizeof f.dw);
    assert_memory_equal(f.db, g.db, sizeof f.db);
    const uint32_t alone[2] = {0, 5};
    const aoei_batch text = {.n_tokens = 5, .n_texts = 1, .longest = 5, .offsets = alone};
    const aoei_convolution v = convolution(one, &g);
    aoei_convolution_forward(one, &v, tensor(g.y, 5, C), tensor(g.x + 3 * D, 5, D), &text);
    assert_memory_equal(g.y, f.y + 3 * C, 5 * C * sizeof(float));
    aoe_context_destroy(three);
    aoe_context_destroy(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_equals_loops), cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(identity_kernel_copies), cmocka_unit_test(bits_do_not_depend_on_threads_or_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
