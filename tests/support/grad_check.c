/* SPDX-License-Identifier: MIT
 * Helpers for tests of operations and gradients; see grad_check.h.
 */
#include "grad_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "encoder/arch.h"
#include "base/random.h"
#include "kernels/kernel_table.h"
#include "nn/batch.h"
#include "support.h"

#define STEP                                                                                                           \
    1e-3 /* step of the difference quotients; the truncation error STEP^4 and the rounding error 1e-16 / STEP are both \
            about \ 1e-12 */
#define WEIGHT_STEP      1e-5 /* step of test_weight_gradient */
#define WEIGHT_TOLERANCE 8e-6 /* relative to the norm of the gradient of the weight */
#define WHOLE_TOLERANCE  8e-7 /* relative to the norm of the gradient of all weights, for small gradients */

aoei_tier test_best_tier(void) {
    aoei_tier tier;
    assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
    return tier;
}

char *test_force_tier(const char *name) {
    const char *before = getenv("AOE_CPU");
    char *saved = before ? strdup(before) : NULL;
    setenv("AOE_CPU", name, 1);
    return saved;
}

void test_restore_tier(char *saved) {
    if (saved)
        setenv("AOE_CPU", saved, 1);
    else
        unsetenv("AOE_CPU");
    free(saved);
}

aoe_context *test_context(aoei_tier tier, size_t threads) {
    if (tier > test_best_tier())
        return NULL;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    o.threads = threads;
    aoe_context *ctx = NULL;
    char *saved = test_force_tier(aoei_tier_name(tier));
    assert_int_equal(aoe_context_create(&ctx, &o, NULL), 0);
    test_restore_tier(saved);
    return ctx;
}

int test_tier_adds_int8(aoei_tier tier) {
    if (tier == AOEI_TIER_C)
        return 0;
    aoei_kernels k = *aoei_kernel_tables[tier], lower = *aoei_kernel_tables[tier - 1];
    k.tier = lower.tier;
    k.gemm_int8 = lower.gemm_int8;
    k.gemm_int8_packed_size = lower.gemm_int8_packed_size;
    k.gemm_int8_pack = lower.gemm_int8_pack;
    return memcmp(&k, &lower, sizeof k) == 0;
}

int test_next_pooling(int pooling) {
    while (++pooling < AOE_POOLING_COUNT && !(AOEI_TOKEN_POOLINGS & AOEI_POOLING_BIT(pooling)))
        ;
    return pooling < AOE_POOLING_COUNT ? pooling : 0;
}

int test_skips_tier(aoei_tier tier) {
    if (test_tier_adds_int8(tier))
        return 1;
    return TEST_SANITIZED && tier != test_best_tier();
}

void test_each_tier(void (*fn)(const aoe_context *ctx)) {
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        if (test_skips_tier((aoei_tier)tier))
            continue;
        aoe_context *ctx = test_context((aoei_tier)tier, 1);
        fn(ctx);
        aoe_context_destroy(ctx);
    }
}

void test_fill_normal(float *x, size_t n, double sd, uint32_t substream) {
    aoei_rng r;
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, substream);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(sd * aoei_rng_normal(&r));
}

float test_at(aoei_tensor t, size_t row, size_t col) {
    const void *at = aoei_tensor_at(t, row, col);
    return t.type == AOEI_BF16 ? aoei_bf16_to_f32(*(const aoei_bf16 *)at) : *(const float *)at;
}

static void set(aoei_tensor t, size_t row, size_t col, float value) {
    if (t.type == AOEI_BF16)
        aoei_b16(t)[row * t.ld + col] = aoei_bf16_from_f32(value);
    else
        aoei_f32(t)[row * t.ld + col] = value;
}

aoei_tensor test_poisoned_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld) {
    aoei_tensor t = {.rows = rows, .cols = cols, .ld = ld ? ld : cols, .type = type};
    t.data = aoei_aligned(rows * t.ld * aoei_dtype_size(type) + 1);
    assert_non_null(t.data);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < t.ld; c++)
            set(t, r, c, NAN);
    return t;
}

aoei_tensor test_tensor_poisoned(size_t rows, size_t cols, size_t ld) {
    return test_poisoned_typed(AOEI_F32, rows, cols, ld);
}

aoei_tensor test_tensor_typed(aoei_dtype type, size_t rows, size_t cols, size_t ld, double sd, uint32_t substream) {
    aoei_tensor t = test_poisoned_typed(type, rows, cols, ld);
    float *row = malloc((cols + 1) * sizeof *row);
    assert_non_null(row);
    for (size_t r = 0; r < rows; r++) {
        test_fill_normal(row, cols, sd, substream * 65536 + (uint32_t)r);
        for (size_t c = 0; c < cols; c++)
            set(t, r, c, row[c]);
    }
    free(row);
    return t;
}

aoei_tensor test_tensor(size_t rows, size_t cols, size_t ld, double sd, uint32_t substream) {
    return test_tensor_typed(AOEI_F32, rows, cols, ld, sd, substream);
}

void test_round(aoei_tensor t) {
    for (size_t r = 0; r < t.rows; r++)
        for (size_t c = 0; c < t.cols; c++)
            set(t, r, c, aoei_bf16_to_f32(aoei_bf16_from_f32(test_at(t, r, c))));
}

void test_tensor_free(aoei_tensor t) {
    aoei_aligned_free(t.data);
}

void test_to_double(double *out, aoei_tensor t) {
    for (size_t r = 0; r < t.rows; r++)
        for (size_t c = 0; c < t.cols; c++)
            out[r * t.cols + c] = (double)test_at(t, r, c);
}

void test_same_bits(aoei_tensor a, aoei_tensor b) {
    assert_true(a.rows == b.rows && a.cols == b.cols && a.type == b.type);
    for (size_t r = 0; r < a.rows; r++) {
        assert_memory_equal(aoei_tensor_at(a, r, 0), aoei_tensor_at(b, r, 0), a.cols * aoei_dtype_size(a.type));
        for (size_t c = a.cols; c < a.ld; c++)
            assert_true(isnan(test_at(a, r, c)));
        for (size_t c = b.cols; c < b.ld; c++)
            assert_true(isnan(test_at(b, r, c)));
    }
}

void test_close(aoei_tensor a, const double *b, double tolerance) {
    double difference = 0, norm = 0;
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c < a.cols; c++) {
            const double want = b[r * a.cols + c], d = (double)test_at(a, r, c) - want;
            difference += d * d;
            norm += want * want;
        }
    if (!(sqrt(difference) <= tolerance * sqrt(norm)))
        fail_msg("the relative difference is %g, expected at most %g", sqrt(difference / norm), tolerance);
}

void test_within(aoei_tensor a, const double *want, const double *bound, const char *what) {
    for (size_t r = 0; r < a.rows; r++)
        for (size_t c = 0; c < a.cols; c++) {
            const size_t i = r * a.cols + c;
            const double got = (double)test_at(a, r, c);
            if (!(fabs(got - want[i]) <= bound[i]))
                fail_msg("%s [%zu, %zu] is %.9g, expected %.9g within %g", what, r, c, got, want[i], bound[i]);
        }
}

aoei_batch test_batch(const size_t *lengths, size_t n_texts, size_t vocab) {
    size_t n = 0, longest = 0;
    for (size_t i = 0; i < n_texts; i++) {
        n += lengths[i];
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    int32_t *ids = malloc(n * sizeof *ids);
    uint32_t *positions = malloc(n * sizeof *positions);
    uint32_t *offsets = malloc((n_texts + 1) * sizeof *offsets), *text_index = malloc(n_texts * sizeof *text_index);
    assert_true(ids && positions && offsets && text_index);
    aoei_rng r;
    aoei_rng_init(&r, 3, AOEI_STREAM_TEST, (uint32_t)n);
    offsets[0] = 0;
    for (size_t i = 0, at = 0; i < n_texts; i++) {
        for (size_t t = 0; t < lengths[i]; t++, at++) {
            ids[at] = (int32_t)aoei_rng_below(&r, (uint32_t)vocab);
            positions[at] = (uint32_t)t;
        }
        offsets[i + 1] = (uint32_t)at;
        text_index[i] = (uint32_t)(5 + i);
    }
    return (aoei_batch){.n_tokens = n,
                        .n_texts = n_texts,
                        .longest = longest,
                        .ids = ids,
                        .positions = positions,
                        .offsets = offsets,
                        .text_index = text_index};
}

aoei_batch test_batch_text(const aoei_batch *b, size_t text) {
    uint32_t *offsets = malloc(2 * sizeof *offsets);
    assert_non_null(offsets);
    const size_t first = b->offsets[text], T = b->offsets[text + 1] - first;
    offsets[0] = 0;
    offsets[1] = (uint32_t)T;
    return (aoei_batch){.n_tokens = T,
                        .n_texts = 1,
                        .longest = T,
                        .ids = b->ids + first,
                        .positions = b->positions + first,
                        .offsets = offsets,
                        .text_index = b->text_index + text};
}

void test_batch_free(aoei_batch b, int shared) {
    free((void *)b.offsets);
    if (shared)
        return;
    free((void *)b.ids);
    free((void *)b.positions);
    free((void *)b.text_index);
}

/* Returns the derivative of the loss along `direction`, computed with the five-point formula. x is changed temporarily
 * and restored from `base`. */
static double directional_derivative(test_loss_fn loss, void *arg, double *x, const double *base,
                                     const double *direction, size_t n) {
    static const double at[4] = {1, -1, 2, -2}, weight[4] = {8, -8, -1, 1};
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < n; i++)
            x[i] = base[i] + at[k] * STEP * direction[i];
        sum += weight[k] * loss(arg, x);
    }
    memcpy(x, base, n * sizeof *x);
    return sum / (12 * STEP);
}

void test_gradient(test_loss_fn loss, void *arg, const double *x, const double *grad, size_t n, double tolerance) {
    enum { SMALL = 400, DIRECTIONS = 16 };
    double *moved = malloc(n * sizeof *moved), *direction = calloc(n, sizeof *direction), norm = 0;
    assert_true(moved && direction);
    memcpy(moved, x, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        norm += grad[i] * grad[i];
    norm = sqrt(norm);
    assert_true(norm > 0); /* also fails if the norm is NaN */
    aoei_rng r;
    aoei_rng_init(&r, 2, AOEI_STREAM_TEST, (uint32_t)n);
    const size_t tries = n <= SMALL ? n : DIRECTIONS;
    size_t count = 1;
    for (size_t k = 0; k < tries; k++) {
        double length = 0, expected = 0;
        memset(direction, 0, n * sizeof *direction);
        if (n <= SMALL) {
            direction[k] = 1;
        } else {
            for (size_t i = 0; i < count; i++)
                direction[count == n ? i : aoei_rng_below(&r, (uint32_t)n)] = aoei_rng_normal(&r);
            count = count == n ? 1 : 3 * count < n ? 3 * count : n;
        }
        for (size_t i = 0; i < n; i++) {
            length += direction[i] * direction[i];
            expected += grad[i] * direction[i];
        }
        const double measured = directional_derivative(loss, arg, moved, x, direction, n);
        if (!(fabs(measured - expected) <= tolerance * norm * sqrt(length)))
            fail_msg("direction %zu of %zu: derivative %.9g, difference quotient %.9g, |gradient| * |direction| = %g",
                     k, tries, expected, measured, norm * sqrt(length));
    }
    free(direction);
    free(moved);
}

void test_weight_gradient(const aoe_context *ctx, double *w, aoei_tensor g, double whole, uint32_t number,
                          double (*loss)(void *arg), void *arg) {
    const size_t n = g.rows * g.cols;
    float *grad = malloc(n * sizeof *grad);
    double *direction = malloc(n * sizeof *direction), *base = malloc(n * sizeof *base), norm = 0;
    assert_true(grad && direction && base);
    aoei_tensor_read(ctx, grad, g);
    memcpy(base, w, n * sizeof *base);
    for (size_t i = 0; i < n; i++)
        norm += (double)grad[i] * (double)grad[i];
    norm = sqrt(norm);
    for (int which = norm > 0 ? 0 : 1; which < 2; which++) {
        aoei_rng rng;
        double length = 0, expected = 0, side[2];
        aoei_rng_init(&rng, 6, AOEI_STREAM_TEST, number);
        for (size_t i = 0; i < n; i++) {
            direction[i] = which ? aoei_rng_normal(&rng) : (double)grad[i];
            length += direction[i] * direction[i];
        }
        for (size_t i = 0; i < n; i++) {
            direction[i] /= sqrt(length);
            expected += direction[i] * (double)grad[i];
        }
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < n; i++)
                w[i] = base[i] + (k ? -WEIGHT_STEP : WEIGHT_STEP) * direction[i];
            side[k] = loss(arg);
        }
        memcpy(w, base, n * sizeof *base);
        const double measured = (side[0] - side[1]) / (2 * WEIGHT_STEP);
        if (!(fabs(measured - expected) <= fmax(WEIGHT_TOLERANCE * norm, WHOLE_TOLERANCE * whole)))
            fail_msg("weight %u, direction %d: gradient %.9g, difference quotient %.9g", (unsigned)number, which,
                     expected, measured);
    }
    free(base);
    free(direction);
    free(grad);
}
