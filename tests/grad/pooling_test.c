/* SPDX-License-Identifier: MIT
 * covers: nn/pooling
 * Tests pooling of token states. The forward pass, which must round only its result, is compared with double precision.
 * The backward pass is compared with finite differences. Other tests cover ties and NaN in the maximum, several
 * threads, and normalization. Tokens of prompts may be left out. States in bf16 must give the result of the same
 * numbers in float32.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/batch.h"
#include "nn/pooling.h"

static const size_t lengths[] = {1, 12, 3, 33};
enum { TEXTS = 4, N = 49 };

typedef struct problem {
    const aoei_batch *batch;
    aoe_pooling pooling;
    size_t D;
    const double *weight; /* [n_texts, D] weights of the loss, which is the sum of weight * out */
} problem;

/* Computes the pooled vectors out[n_texts, D] in double. `in` is the concatenation of the states [N, D] before the
 * first layer and the states [N, D] after the last layer. */
static void reference(double *out, const double *in, const problem *p) {
    const size_t D = p->D;
    const double *first = in, *last = in + p->batch->n_tokens * D;
    for (size_t text = 0; text < p->batch->n_texts; text++)
        for (size_t c = 0; c < D; c++) {
            const size_t start = p->batch->offsets[text], end = p->batch->offsets[text + 1],
                         parts = aoei_pooling_parts(p->pooling);
            const size_t begin = start + (p->batch->skipped ? p->batch->skipped[text] : 0);
            double sum = 0; /* of the weights of the weighted mean */
            if (begin >= end) {
                for (size_t i = 0; i < parts; i++)
                    out[text * parts * D + i * D + c] = 0;
                continue;
            }
            for (size_t t = begin; t < end; t++)
                sum += (double)(t - start + 1);
            double mean0 = 0, mean = 0, max = -INFINITY, weighted = 0;
            const double T = (double)(end - begin);
            for (size_t t = begin; t < end; t++) {
                mean0 += first[t * D + c] / (double)(end - begin);
                mean += last[t * D + c] / (double)(end - begin);
                max = fmax(max, last[t * D + c]);
                weighted += (double)(t - start + 1) * last[t * D + c] / sum;
            }
            const double cls = last[begin * D + c];
            const double value[AOE_POOLING_COUNT] = {[AOE_POOLING_CLS] = cls,
                                                     [AOE_POOLING_CLS_LAST_AVG] = (cls + mean) / 2,
                                                     [AOE_POOLING_LAST_AVG] = mean,
                                                     [AOE_POOLING_LAST_MAX] = max,
                                                     [AOE_POOLING_FIRST_LAST_AVG] = (mean0 + mean) / 2,
                                                     [AOE_POOLING_LAST_TOKEN] = last[(end - 1) * D + c],
                                                     [AOE_POOLING_MEAN_SQRT_LEN] = mean * sqrt(T),
                                                     [AOE_POOLING_WEIGHTED_MEAN] = weighted};
            for (size_t i = 0; i < parts; i++)
                out[text * parts * D + i * D + c] = value[aoei_pooling_part(p->pooling, i)];
        }
}

static double loss(void *arg, const double *in) {
    const problem *p = arg;
    const size_t n = p->batch->n_texts * aoei_pooling_parts(p->pooling) * p->D;
    double *out = malloc(n * sizeof *out), sum = 0;
    reference(out, in, p);
    for (size_t i = 0; i < n; i++)
        sum += p->weight[i] * out[i];
    free(out);
    return sum;
}

/* Makes the elements of a column differ by at least 0.01. The steps of finite differences then do not change which
 * token has the maximum. */
static void spread_out(aoei_tensor t) {
    for (size_t r = 0; r < t.rows; r++)
        for (size_t c = 0; c < t.cols; c++)
            aoei_f32(t)[r * t.ld + c] = 0.0125f * (float)((r * 37 + c * 11) % 97) - 0.5f;
}

/* skipped: [TEXTS] numbers of tokens that are left out, or NULL */
static void check(const aoe_context *ctx, aoe_pooling pooling, size_t D, const uint32_t *skipped) {
    aoei_batch b = test_batch(lengths, TEXTS, 10);
    b.skipped = skipped;
    aoei_tensor first = test_tensor(N, D, D + 1, 1, 1), last = test_tensor(N, D, D + 2, 1, 2);
    const size_t P = aoei_pooling_parts(pooling) * D; /* columns of the output */
    aoei_tensor out = test_tensor_poisoned(TEXTS, P, P + 3), dout = test_tensor(TEXTS, P, P + 4, 1, 3);
    aoei_tensor dfirst = test_tensor_poisoned(N, D, 0), dlast = test_tensor_poisoned(N, D, 0);
    const aoei_tensor none = {0};
    const int both = pooling == AOE_POOLING_FIRST_LAST_AVG;
    spread_out(last);
    double *in = malloc(2 * N * D * sizeof *in), *grad = calloc(2 * N * D, sizeof *grad);
    double *weight = malloc(TEXTS * P * sizeof *weight), *want = malloc(TEXTS * P * sizeof *want);
    test_to_double(in, first);
    test_to_double(in + N * D, last);
    test_to_double(weight, dout);
    problem p = {&b, pooling, D, weight};

    aoei_pool_forward(ctx, out, pooling, both ? first : none, last, &b);
    reference(want, in, &p);
    for (size_t text = 0; text < TEXTS; text++)
        /* the bound is half an ulp of the result and the rounding error of the sums in double */
        for (size_t c = 0; c < P; c++) {
            const double w = want[text * P + c];
            assert_true(fabs((double)aoei_f32(out)[text * out.ld + c] - w) <= 0x1p-24 * fabs(w) + 1e-14);
        }

    aoei_pool_backward(ctx, dfirst, dlast, pooling, dout, last, &b);
    if (both)
        test_to_double(grad, dfirst);
    else
        for (size_t i = 0; i < N * D; i++)
            /* this pooling does not use the first states, so dfirst still contains NaN */
            assert_true(isnan(aoei_f32(dfirst)[i]));
    test_to_double(grad + N * D, dlast);
    test_gradient(loss, &p, in, grad, 2 * N * D, 1e-7);

    free(in);
    free(grad);
    free(weight);
    free(want);
    const aoei_tensor all[] = {first, last, out, dout, dfirst, dlast};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
    test_batch_free(b, 0);
}

static void test_poolings(void **state) {
    (void)state;
    static const uint32_t skipped[TEXTS] = {0, 5, 2, 50}; /* no token of the last text remains */
    for (size_t threads = 1; threads <= 3; threads++) {
        aoe_context *ctx = test_context(AOEI_TIER_C, threads);
        for (int pooling = test_next_pooling(0); pooling; pooling = test_next_pooling(pooling)) {
            check(ctx, (aoe_pooling)pooling, 4, NULL);
            check(ctx, (aoe_pooling)pooling, 4, skipped);
            check(ctx, (aoe_pooling)pooling, 131, NULL);
        }
        for (int bits = 3; bits < AOE_POOLING_CONCAT; bits += 6)
            if (aoei_pooling_parts((aoe_pooling)(AOE_POOLING_CONCAT + bits)) > 1)
                for (int k = 0; k < 2; k++)
                    check(ctx, (aoe_pooling)(AOE_POOLING_CONCAT + bits), 4, k ? skipped : NULL);
        aoe_context_destroy(ctx);
    }
}

/* Tests max pooling. If several tokens have the maximum, the first of them receives the gradient. If any token is NaN,
 * the result is NaN. */
static void test_ties(void **state) {
    (void)state;
    enum { T = 4, D = 4 };
    const size_t length[] = {T};
    const float h[T][D] = {{1, 5, -0.0f, 1}, {3, 5, 0, NAN}, {3, 2, -1, 9}, {2, 5, 0, NAN}};
    const float max[3] = {3, 5, 0};
    const size_t row[D] = {1, 0, 0, 1};
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    aoei_batch b = test_batch(length, 1, 10);
    aoei_tensor last = aoei_tensor_wrap(h[0], T, D), none = {0};
    aoei_tensor out = test_tensor_poisoned(1, D, 0), dout = test_tensor(1, D, 0, 1, 1),
                dlast = test_tensor_poisoned(T, D, 0);
    aoei_pool_forward(ctx, out, AOE_POOLING_LAST_MAX, none, last, &b);
    for (size_t c = 0; c < 3; c++)
        assert_true(aoei_f32(out)[c] == max[c]);
    assert_true(isnan(aoei_f32(out)[3]));
    aoei_pool_backward(ctx, none, dlast, AOE_POOLING_LAST_MAX, dout, last, &b);
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < D; c++)
            assert_true(aoei_f32(dlast)[t * D + c] == (t == row[c] ? aoei_f32(dout)[c] : 0));
    test_tensor_free(out);
    test_tensor_free(dout);
    test_tensor_free(dlast);
    test_batch_free(b, 0);
    aoe_context_destroy(ctx);
}

/* Runs the forward and the backward pass for states of the given type. All results are float32. */
static void pool(const aoe_context *ctx, aoei_dtype type, aoe_pooling pooling, size_t D, aoei_tensor results[3]) {
    aoei_batch b = test_batch(lengths, TEXTS, 10);
    aoei_tensor first = test_tensor_typed(type, N, D, D + 1, 1, 1), last = test_tensor_typed(type, N, D, D + 2, 1, 2);
    aoei_tensor dout = test_tensor(TEXTS, D, D + 4, 1, 3);
    test_round(first);
    test_round(last);
    results[0] = test_tensor_poisoned(TEXTS, D, D + 3);
    results[1] = test_tensor_poisoned(N, D, 0);
    results[2] = test_tensor_poisoned(N, D, 0);
    aoei_pool_forward(ctx, results[0], pooling, first, last, &b);
    aoei_pool_backward(ctx, results[1], results[2], pooling, dout, last, &b);
    test_tensor_free(first);
    test_tensor_free(last);
    test_tensor_free(dout);
    test_batch_free(b, 0);
}

static void test_bf16(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        aoe_context *ctx = test_context((aoei_tier)tier, 2);
        for (int pooling = test_next_pooling(0); pooling; pooling = test_next_pooling(pooling))
            for (size_t D = 4; D <= 131; D += 127) {
                aoei_tensor wide[3], narrow[3];
                pool(ctx, AOEI_F32, (aoe_pooling)pooling, D, wide);
                pool(ctx, AOEI_BF16, (aoe_pooling)pooling, D, narrow);
                for (size_t i = 0; i < 3; i++) {
                    test_same_bits(wide[i], narrow[i]);
                    test_tensor_free(wide[i]);
                    test_tensor_free(narrow[i]);
                }
            }
        aoe_context_destroy(ctx);
    }
}

static void test_unit_length(void **state) {
    (void)state;
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    aoei_tensor t = test_tensor(5, 33, 40, 1, 1), original = test_tensor(5, 33, 40, 1, 1);
    for (size_t c = 0; c < 33; c++) {
        aoei_f32(t)[t.ld + c] = 0;           /* a zero row remains zero */
        aoei_f32(t)[2 * t.ld + c] *= 1e-30f; /* squares that underflow in float32; the norm is below the minimum of
                                                1e-12 */
        aoei_f32(t)[3 * t.ld + c] *= 1e30f;  /* squares that overflow in float32 */
    }
    aoei_l2_normalize(ctx, t);
    for (size_t r = 0; r < 5; r++) {
        double norm = 0;
        for (size_t c = 0; c < 33; c++)
            norm += (double)aoei_f32(original)[r * t.ld + c] * (double)aoei_f32(original)[r * t.ld + c];
        for (size_t c = 0; c < 33; c++) {
            double want = (double)aoei_f32(original)[r * t.ld + c] / sqrt(norm);
            if (r == 1)
                want = 0;
            if (r == 2)
                want = (double)(aoei_f32(original)[r * t.ld + c] * 1e-30f) / 1e-12;
            /* multiplying an element by 1e30 rounds it by up to half an ulp */
            assert_true(fabs((double)aoei_f32(t)[r * t.ld + c] - want) <= 0x1p-22 * fabs(want));
        }
        for (size_t c = 33; c < t.ld; c++)
            assert_true(isnan(aoei_f32(t)[r * t.ld + c]));
    }
    test_tensor_free(t);
    test_tensor_free(original);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poolings),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_unit_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
