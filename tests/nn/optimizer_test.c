/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the AdamW optimizer over flat tensors. The result of ten steps is compared with a computation in double
 * precision. A step must also set the gradient to zero and update the packed copies of weights, which the matmul reads.
 * Other tests cover segments with and without weight decay, and the sum of the squares of a tensor. Results must be
 * bit-identical for any number of threads and any segment boundaries.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "base/alloc.h"
#include "nn/gemm.h"
#include "nn/optimizer.h"

/* Divides the segments into tasks, takes one step over t = {value, gradient, m, v}, and asserts that the gradient is
 * zero afterwards. */
static void step(const aoe_context *ctx, const aoei_tensor t[4], aoei_optimizer o, aoei_optimizer_segment *segments,
                 size_t n) {
    o.segments = segments;
    o.n_segments = n;
    o.n_tasks = aoei_optimizer_plan(segments, n);
    aoei_optimizer_step(ctx, t[0], t[1], t[2], t[3], &o);
    for (size_t i = 0; i < t[1].cols; i++)
        assert_true(aoei_f32(t[1])[i] == 0);
}

/* Minimizes sum_i c_i (w_i - target_i)^2 / 2 for ten steps in float32 and in double; asserts that the losses agree to
 * 1e-6. */
static void trace(const aoe_context *ctx) {
    enum { P = 1000, STEPS = 10 };
    aoei_tensor w = test_tensor(1, P, 0, 1, 1), target = test_tensor(1, P, 0, 1, 2), c = test_tensor(1, P, 0, 1, 3);
    aoei_tensor m = test_tensor_poisoned(1, P, 0), v = test_tensor_poisoned(1, P, 0), g = test_tensor_poisoned(1, P, 0);
    aoei_tensor_zero(ctx, m);
    aoei_tensor_zero(ctx, v);
    aoei_optimizer_segment segments[] = {{.begin = 0, .end = 10},
                                         {.begin = 10, .end = 500, .decay = 1},
                                         {.begin = 500, .end = 700},
                                         {.begin = 700, .end = P, .decay = 1}};
    aoei_optimizer o = {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1, .grad_scale = 0.5};
    double wd[P], md[P] = {0}, vd[P] = {0};
    test_to_double(wd, w);
    for (o.step = 1; o.step <= STEPS; o.step++) {
        double loss = 0, want = 0;
        const double bias1 = 1 - pow(o.beta1, (double)o.step), bias2 = 1 - pow(o.beta2, (double)o.step);
        for (size_t i = 0; i < P; i++) {
            const double curvature = fabs((double)aoei_f32(c)[i]), minimum = (double)aoei_f32(target)[i];
            const double d = (double)aoei_f32(w)[i] - minimum, dd = wd[i] - minimum;
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
        step(ctx, (const aoei_tensor[4]){w, g, m, v}, o, segments, 4);
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

/* Tests to which elements weight decay is applied. The gradient and the moments are zero. A step must therefore
 * multiply every element of a segment with decay by 1 - lr * weight_decay, and leave all other elements unchanged.
 * Threads process the elements in blocks. Some segments begin or end inside a block, some span several blocks, and some
 * are empty. */
static void test_ranges(void **state) {
    (void)state;
    enum { P = 50000 };
    static const size_t bounds[] = {0, 0, 1, 5, 5, 100, 16384, 16390, 32000, 49152, 49999, 50000, 50000};
    enum { SEGMENTS = sizeof bounds / sizeof *bounds - 1 };
    for (size_t threads = 1; threads <= 3; threads++)
        for (unsigned pattern = 0; pattern < 4; pattern++) {
            aoe_context *ctx = test_context(AOEI_TIER_C, threads);
            aoei_tensor t[4];
            aoei_optimizer_segment segments[SEGMENTS];
            for (size_t i = 0; i < 4; i++) {
                t[i] = test_tensor_poisoned(1, P, 0);
                aoei_tensor_zero(ctx, t[i]);
            }
            for (size_t i = 0; i < P; i++)
                aoei_f32(t[0])[i] = 1;
            for (size_t k = 0; k < SEGMENTS; k++)
                segments[k] = (aoei_optimizer_segment){.begin = bounds[k],
                                                       .end = bounds[k + 1],
                                                       .decay = pattern == 3   ? k % 3 == 0
                                                                : pattern == 2 ? k % 2 == 1
                                                                               : pattern == 1};
            const aoei_optimizer o = {
                .lr = 0.5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.5, .grad_scale = 1, .step = 1};
            step(ctx, t, o, segments, SEGMENTS);
            for (size_t k = 0; k < SEGMENTS; k++)
                for (size_t i = bounds[k]; i < bounds[k + 1]; i++)
                    assert_true(aoei_f32(t[0])[i] == (segments[k].decay ? 0.75f : 1.0f));
            for (size_t i = 0; i < 4; i++)
                test_tensor_free(t[i]);
            aoe_context_destroy(ctx);
        }
}

/* Fills t = {value, gradient, m, v}, each [n], with standard normal numbers. The elements of v, the second moment, are
 * made non-negative. */
static void fill(aoei_tensor t[4], size_t n) {
    for (uint32_t i = 0; i < 4; i++)
        t[i] = test_tensor(1, n, 0, 1, i + 1);
    for (size_t i = 0; i < n; i++)
        aoei_f32(t[3])[i] = fabsf(aoei_f32(t[3])[i]);
}

static void assert_equal_and_free(const aoei_tensor a[4], const aoei_tensor b[4]) {
    for (size_t i = 0; i < 4; i++) {
        test_same_bits(a[i], b[i]);
        test_tensor_free(a[i]);
        test_tensor_free(b[i]);
    }
}

/* Tests that one step over all segments gives bit-identical results to a separate step for each segment. The segments
 * span several blocks. */
static void range_across_blocks(const aoe_context *ctx) {
    enum { P = 50001 };
    static const size_t cuts[] = {0, 3, 40000, P};
    const aoei_optimizer o = {
        .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.5, .grad_scale = 1, .step = 3};
    aoei_optimizer_segment segments[3];
    aoei_tensor whole[4], parts[4];
    fill(whole, P);
    fill(parts, P);
    for (size_t k = 0; k < 3; k++) {
        segments[k] = (aoei_optimizer_segment){.begin = cuts[k], .end = cuts[k + 1], .decay = k != 1};
        aoei_optimizer_segment own = {.begin = 0, .end = cuts[k + 1] - cuts[k], .decay = k != 1};
        aoei_tensor slice[4];
        for (size_t i = 0; i < 4; i++)
            slice[i] = aoei_tensor_slice(parts[i], cuts[k], 1, own.end);
        step(ctx, slice, o, &own, 1);
    }
    step(ctx, whole, o, segments, 3);
    assert_equal_and_free(whole, parts);
}

static void test_range_across_blocks(void **state) {
    (void)state;
    test_each_tier(range_across_blocks);
}

/* Weight matrices of several shapes in one flat tensor. Some have a number of rows that is a multiple of the panel size
 * of the matmul; others have a partial last panel. Each matrix is one segment, with padding at its end. */
typedef struct weights {
    aoei_tensor view[5]; /* weight k: [shapes[k][0], shapes[k][1]] */
    /* one segment per weight, and a last segment of 20000 elements that belongs to no weight */
    aoei_optimizer_segment segments[6];
    size_t count; /* number of elements of all segments, including padding */
} weights;

static const size_t shapes[5][2] = {{1, 1}, {32, 7}, {33, 40}, {150, 37}, {64, 130}};

/* Places the weights one after another in the tensor `value`. If value.data is NULL, only computes the segments and the
 * count. If packed is 1, each weight gets an owned packed copy of the given type. The copy is filled with 0xff bytes;
 * the caller frees it with aoei_aligned_free. */
static weights weights_of(const aoe_context *ctx, aoei_tensor value, aoei_dtype type, int packed) {
    weights w;
    memset(&w, 0, sizeof w);
    for (size_t k = 0; k < 5; k++) {
        const size_t n = shapes[k][0] * shapes[k][1], at = w.count;
        w.count += (n + 15) / 16 * 16;
        w.segments[k] = (aoei_optimizer_segment){.begin = at, .end = w.count, .decay = k % 2 == 0};
        if (!value.data)
            continue;
        w.view[k] = aoei_tensor_slice(value, at, shapes[k][0], shapes[k][1]);
        if (packed) {
            const size_t bytes = aoei_weight_packed_size(ctx, type, shapes[k][0], shapes[k][1]);
            w.view[k].packed = aoei_aligned(bytes + 1);
            assert_non_null(w.view[k].packed);
            memset(w.view[k].packed, 0xff, bytes);
            w.view[k].packed_type = type;
        }
    }
    w.segments[5] = (aoei_optimizer_segment){.begin = w.count, .end = w.count + 20000};
    w.count += 20000;
    return w;
}

/* After a step, each packed copy must equal a copy packed from the updated values, byte for byte. The updated values
 * must equal the values after a step without packed copies. */
static void repacked(const aoe_context *ctx, aoei_dtype type) {
    const aoei_tensor none = {0};
    const aoei_optimizer o = {
        .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.5, .grad_scale = 0.7, .step = 2};
    aoei_tensor t[4], plain[4];
    const size_t n = weights_of(ctx, none, type, 0).count;
    fill(t, n);
    fill(plain, n);
    weights w = weights_of(ctx, t[0], type, 1), p = weights_of(ctx, plain[0], type, 0);
    for (size_t k = 0; k < 5; k++)
        w.segments[k].weight = &w.view[k];
    step(ctx, t, o, w.segments, 6);
    step(ctx, plain, o, p.segments, 6);
    for (size_t k = 0; k < 5; k++) {
        const size_t bytes = aoei_weight_packed_size(ctx, type, shapes[k][0], shapes[k][1]);
        unsigned char *fresh = aoei_aligned(bytes + 1);
        assert_non_null(fresh);
        memset(fresh, 0xff, bytes);
        aoei_weight_pack(ctx, type, &p.view[k], fresh);
        assert_memory_equal(fresh, w.view[k].packed, bytes);
        aoei_aligned_free(fresh);
        aoei_aligned_free(w.view[k].packed);
    }
    assert_equal_and_free(t, plain);
}

static void test_repacked(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (size_t threads = 1; threads <= 3; threads += 2) {
            aoe_context *ctx = test_context((aoei_tier)tier, threads);
            repacked(ctx, AOEI_BF16);
            repacked(ctx, AOEI_F32);
            aoe_context_destroy(ctx);
        }
}

static void test_threads(void **state) {
    (void)state;
    enum { P = 70001 };
    aoei_optimizer_segment segments[] = {
        {.begin = 0, .end = 3, .decay = 1}, {.begin = 3, .end = 20000}, {.begin = 20000, .end = P, .decay = 1}};
    for (int t = AOEI_TIER_C; t <= (int)test_best_tier(); t++) {
        const aoei_tier tier = (aoei_tier)t;
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
            const aoei_optimizer o = {.lr = 1e-3,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .eps = 1e-8,
                                      .weight_decay = 0.01,
                                      .grad_scale = 0.3,
                                      .step = 7};
            step(ctx, (const aoei_tensor[4]){w, g, m, v}, o, segments, 3);
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
    /* Sizes of the tested tensors, in elements. A partial sum covers one block of 16384 elements. The last size has 257
     * blocks, but at most 256 partial sums are used, so a partial sum covers several blocks. */
    static const size_t sizes[] = {0, 1, 16384, 16385, 100000, 256 * 16384 + 1};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        aoei_tensor t = test_tensor_poisoned(1, sizes[k], 0);
        for (size_t i = 0; i < sizes[k]; i++)
            aoei_f32(t)[i] = (float)(i % 3); /* the squares are 0, 1 and 4, so their sum is exact */
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
        cmocka_unit_test(test_trace),   cmocka_unit_test(test_ranges),   cmocka_unit_test(test_range_across_blocks),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_repacked), cmocka_unit_test(test_sum_of_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
