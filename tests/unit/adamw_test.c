/* SPDX-License-Identifier: MIT
 * AdamW over flat tensors: a trace against double precision, ranges without weight decay,
 * the same bits for any number of threads; the sum of squares.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

/* Minimises sum of c_i (w_i - target_i)^2 / 2 for ten steps in float32 and in double; losses agree to 1e-6. */
static void trace(const aoe_context *ctx) {
    enum { P = 1000, STEPS = 10 };
    aoei_tensor w = test_tensor(1, P, 0, 1, 1), target = test_tensor(1, P, 0, 1, 2), c = test_tensor(1, P, 0, 1, 3);
    aoei_tensor m = test_tensor_poisoned(1, P, 0), v = test_tensor_poisoned(1, P, 0), g = test_tensor_poisoned(1, P, 0);
    aoei_tensor_zero(ctx, m);
    aoei_tensor_zero(ctx, v);
    static const size_t no_decay[][2] = {{0, 10}, {500, 700}};
    aoei_adamw o = {.lr = 0.01,
                    .beta1 = 0.9,
                    .beta2 = 0.999,
                    .eps = 1e-8,
                    .weight_decay = 0.1,
                    .grad_scale = 0.5,
                    .no_decay = no_decay[0],
                    .n_no_decay = 2};
    double wd[P], md[P] = {0}, vd[P] = {0};
    test_to_double(wd, w);
    for (o.step = 1; o.step <= STEPS; o.step++) {
        double loss = 0, want = 0;
        const double bias1 = 1 - pow(o.beta1, (double)o.step), bias2 = 1 - pow(o.beta2, (double)o.step);
        for (size_t i = 0; i < P; i++) {
            const double curvature = fabs((double)c.data[i]), goal = (double)target.data[i];
            const double d = (double)w.data[i] - goal, dd = wd[i] - goal;
            loss += curvature * d * d / 2;
            want += curvature * dd * dd / 2;
            aoei_f32(g)[i] = (float)(curvature * d);
            const double gd = curvature * dd * o.grad_scale;
            md[i] = o.beta1 * md[i] + (1 - o.beta1) * gd;
            vd[i] = o.beta2 * vd[i] + (1 - o.beta2) * gd * gd;
            if (!(i < 10 || (i >= 500 && i < 700)))
                wd[i] -= o.lr * o.weight_decay * wd[i];
            wd[i] -= o.lr * (md[i] / bias1) / (sqrt(vd[i] / bias2) + o.eps);
        }
        assert_true(fabs(loss - want) <= 1e-6 * want);
        aoei_adamw_step(ctx, w, g, m, v, &o);
    }
    test_close(w, wd, 1e-6);
    test_tensor_free(w);
    test_tensor_free(target);
    test_tensor_free(c);
    test_tensor_free(m);
    test_tensor_free(v);
    test_tensor_free(g);
}

static void test_trace(void **state) {
    (void)state;
    test_each_tier(trace);
}

/* Which elements decay: with no gradient and no moments, a step multiplies by 1 - lr * decay or leaves alone. Ranges begin,
 * end and lie across the blocks that threads share. */
static void test_ranges(void **state) {
    (void)state;
    enum { P = 50000 };
    static const size_t ranges[][2] = {{0, 1}, {5, 5}, {100, 16384}, {16384, 16390}, {32000, 49152}, {49999, 50000}};
    const size_t n = sizeof ranges / sizeof *ranges;
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t used = 0; used <= n; used++) {
            aoe_context *ctx = test_context(AOEI_TIER_C, threads);
            aoei_tensor w = test_tensor_poisoned(1, P, 0), zero[3];
            for (size_t i = 0; i < 3; i++) {
                zero[i] = test_tensor_poisoned(1, P, 0);
                aoei_tensor_zero(ctx, zero[i]);
            }
            for (size_t i = 0; i < P; i++)
                aoei_f32(w)[i] = 1;
            const aoei_adamw o = {.lr = 0.5,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8,
                                  .weight_decay = 0.5,
                                  .grad_scale = 1,
                                  .step = 1,
                                  .no_decay = ranges[0],
                                  .n_no_decay = used};
            aoei_adamw_step(ctx, w, zero[0], zero[1], zero[2], &o);
            for (size_t i = 0; i < P; i++) {
                int plain = 0;
                for (size_t k = 0; k < used; k++)
                    plain |= i >= ranges[k][0] && i < ranges[k][1];
                assert_true(aoei_f32(w)[i] == (plain ? 1.0f : 0.75f));
            }
            test_tensor_free(w);
            for (size_t i = 0; i < 3; i++)
                test_tensor_free(zero[i]);
            aoe_context_destroy(ctx);
        }
}

/* One step over elements [from, to) with their own idea of what decays. */
static void slice_step(const aoe_context *ctx, const aoei_tensor t[4], aoei_adamw o, size_t from, size_t to, int plain) {
    const size_t all[2] = {0, to - from};
    aoei_tensor s[4];
    for (size_t i = 0; i < 4; i++)
        s[i] = aoei_tensor_slice(t[i], from, 1, to - from);
    o.no_decay = all;
    o.n_no_decay = plain ? 1 : 0;
    aoei_adamw_step(ctx, s[0], s[1], s[2], s[3], &o);
}

/* A range that begins in one block and ends in another is the same as three steps, one for each side and the inside. */
static void range_across_blocks(const aoe_context *ctx) {
    enum { P = 50001, FROM = 3, TO = 40000 };
    static const size_t no_decay[2] = {FROM, TO};
    const aoei_adamw o = {.lr = 0.1,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = 1e-8,
                          .weight_decay = 0.5,
                          .grad_scale = 1,
                          .step = 3,
                          .no_decay = no_decay,
                          .n_no_decay = 1};
    aoei_tensor whole[4], parts[4];
    for (uint32_t i = 0; i < 4; i++) {
        whole[i] = test_tensor(1, P, 0, 1, i);
        parts[i] = test_tensor(1, P, 0, 1, i);
    }
    for (size_t i = 0; i < P; i++)
        aoei_f32(whole[3])[i] = aoei_f32(parts[3])[i] = fabsf(aoei_f32(parts[3])[i]);
    aoei_adamw_step(ctx, whole[0], whole[1], whole[2], whole[3], &o);
    slice_step(ctx, parts, o, 0, FROM, 0);
    slice_step(ctx, parts, o, FROM, TO, 1);
    slice_step(ctx, parts, o, TO, P, 0);
    for (size_t i = 0; i < 4; i++) {
        test_same_bits(whole[i], parts[i]);
        test_tensor_free(whole[i]);
        test_tensor_free(parts[i]);
    }
}

static void test_range_across_blocks(void **state) {
    (void)state;
    test_each_tier(range_across_blocks);
}

static void test_threads(void **state) {
    (void)state;
    enum { P = 70001 };
    static const size_t no_decay[][2] = {{3, 20000}};
    for (aoei_tier tier = AOEI_TIER_C; tier <= AOEI_TIER_AVX512; tier++) {
        aoei_tensor first[3] = {{0}};
        double squares = 0;
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context(tier, threads);
            if (!ctx)
                break;
            aoei_tensor w = test_tensor(1, P, 0, 1, 1), g = test_tensor(1, P, 0, 1, 2), m = test_tensor(1, P, 0, 1, 3);
            aoei_tensor v = test_tensor(1, P, 0, 1, 4);
            for (size_t i = 0; i < P; i++)
                aoei_f32(v)[i] = fabsf(aoei_f32(v)[i]);
            const aoei_adamw o = {.lr = 1e-3,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8,
                                  .weight_decay = 0.01,
                                  .grad_scale = 0.3,
                                  .step = 7,
                                  .no_decay = no_decay[0],
                                  .n_no_decay = 1};
            aoei_adamw_step(ctx, w, g, m, v, &o);
            const double sum = aoei_sum_squares(ctx, w);
            if (threads == 1) {
                first[0] = w;
                first[1] = m;
                first[2] = v;
                squares = sum;
            } else {
                test_same_bits(first[0], w);
                test_same_bits(first[1], m);
                test_same_bits(first[2], v);
                assert_memory_equal(&sum, &squares, sizeof sum);
                test_tensor_free(w);
                test_tensor_free(m);
                test_tensor_free(v);
            }
            test_tensor_free(g);
            aoe_context_destroy(ctx);
        }
        for (size_t i = 0; i < 3; i++)
            test_tensor_free(first[i]);
    }
}

static void sum_of_squares(const aoe_context *ctx) {
    /* one block, its end, several, and more than the partial sums hold in single blocks */
    static const size_t sizes[] = {0, 1, 16384, 16385, 100000, 256 * 16384 + 1};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        aoei_tensor t = test_tensor_poisoned(1, sizes[k], 0);
        for (size_t i = 0; i < sizes[k]; i++)
            aoei_f32(t)[i] = (float)(i % 3); /* 0, 1, 4: the sum is exact */
        const size_t n = sizes[k];
        assert_true(aoei_sum_squares(ctx, t) == (double)(n / 3 * 5 + (n % 3 == 2)));
        if (n) {
            aoei_f32(t)[n - 1] = INFINITY;
            assert_true(isinf(aoei_sum_squares(ctx, t)));
            aoei_f32(t)[n / 2] = NAN;
            assert_true(isnan(aoei_sum_squares(ctx, t)));
        }
        test_tensor_free(t);
    }
}

static void test_sum_of_squares(void **state) {
    (void)state;
    test_each_tier(sum_of_squares);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace),   cmocka_unit_test(test_ranges),         cmocka_unit_test(test_range_across_blocks),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_sum_of_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
