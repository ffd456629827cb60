/* SPDX-License-Identifier: MIT
 * Tensors: the arena they come from, views, filling and reading through strides,
 * finiteness, packed weights; and making and closing contexts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "base/alloc.h"

static void test_take(void **state) {
    (void)state;
    aoei_arena a;
    aoei_arena_measure(&a);
    aoei_tensor t = aoei_tensor_take(&a, 3, 7);
    assert_null(t.data);
    assert_true(t.rows == 3 && t.cols == 7 && t.ld == 7 && !t.packed);
    assert_null(aoei_tensor_cols(aoei_tensor_rows(t, 1, 2), 3, 4).data);
    assert_null(aoei_tensor_slice(t, 5, 2, 8).data);
    const size_t bytes = a.peak;
    assert_false(a.overflow);
    aoei_tensor_take(&a, SIZE_MAX / 2, 3);
    assert_true(a.overflow);
    assert_int_equal(aoei_arena_create(&a, bytes, NULL), 0);
    t = aoei_tensor_take(&a, 3, 7);
    assert_non_null(t.data);
    assert_int_equal((uintptr_t)t.data % AOEI_ALIGN, 0);
    assert_null(aoei_tensor_take(&a, 1, 1).data);
    assert_true(a.overflow);
    aoei_arena_destroy(&a);
}

static void test_views(void **state) {
    (void)state;
    float x[6 * 8] = {0};
    aoei_tensor t = aoei_tensor_wrap(x, 6, 8);
    assert_true(t.data == x && t.rows == 6 && t.cols == 8 && t.ld == 8 && !t.packed);
    aoei_tensor v = aoei_tensor_cols(aoei_tensor_rows(t, 2, 3), 5, 3);
    assert_true(v.data == x + 2 * 8 + 5 && v.rows == 3 && v.cols == 3 && v.ld == 8);
    v = aoei_tensor_rows(v, 3, 0);
    assert_true(v.rows == 0 && v.cols == 3);
    v = aoei_tensor_slice(t, 9, 13, 3);
    assert_true(v.data == x + 9 && v.rows == 13 && v.cols == 3 && v.ld == 3);
}

/* A column view of a tensor large enough for several tasks: writes reach the view and nothing else. */
static void check_transfers(const aoe_context *ctx, size_t rows, size_t cols, size_t left, size_t right) {
    const size_t wide = left + cols + right, n = rows * cols;
    aoei_tensor all = test_tensor_poisoned(rows, wide, 0), t = aoei_tensor_cols(all, left, cols);
    aoei_tensor other = test_tensor_poisoned(rows, cols, 0);
    float *host = malloc(n * sizeof *host), *back = malloc(n * sizeof *back);
    assert_true(host && back);
    test_fill_normal(host, n, 1, 1);
    aoei_tensor_write(ctx, t, host);
    aoei_tensor_read(ctx, back, t);
    assert_memory_equal(host, back, n * sizeof *host);
    aoei_tensor_copy(ctx, other, t);
    assert_memory_equal(host, other.data, n * sizeof *host);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < wide; c++)
            assert_int_equal(isnan(aoei_f32(all)[r * wide + c]) != 0, c < left || c >= left + cols);
    assert_int_equal(aoei_tensor_finite(ctx, t), 1);
    assert_int_equal(aoei_tensor_finite(ctx, all), wide == cols);
    for (size_t i = 0; i < 3; i++) {
        const size_t at = i == 0 ? 0 : i == 1 ? n / 2 : n - 1;
        static const float bad[] = {NAN, INFINITY, -INFINITY};
        aoei_f32(t)[at / cols * wide + at % cols] = bad[i];
        assert_int_equal(aoei_tensor_finite(ctx, t), 0);
        aoei_f32(t)[at / cols * wide + at % cols] = 3.4e38f;
    }
    assert_int_equal(aoei_tensor_finite(ctx, t), 1);
    aoei_tensor_zero(ctx, t);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < wide; c++)
            assert_true(c < left || c >= left + cols ? isnan(aoei_f32(all)[r * wide + c]) : aoei_f32(all)[r * wide + c] == 0);
    free(host);
    free(back);
    test_tensor_free(all);
    test_tensor_free(other);
}

static void test_transfers(void **state) {
    (void)state;
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    static const size_t shapes[][4] = {{1, 1, 0, 0}, {5, 3, 2, 1}, {400, 401, 0, 0}, {400, 401, 3, 0}, {3, 140000, 0, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_transfers(ctx, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
    float x = 5;
    aoei_tensor_zero(ctx, aoei_tensor_wrap(&x, 0, 1));
    aoei_tensor_write(ctx, aoei_tensor_wrap(&x, 1, 0), &x);
    assert_true(x == 5);
    assert_int_equal(aoei_tensor_finite(ctx, aoei_tensor_wrap(&x, 0, 0)), 1);
    aoe_context_destroy(ctx);
}

/* Packing on three threads makes what one call of the kernel makes. */
static void test_weight_pack(void **state) {
    (void)state;
    for (aoei_tier tier = AOEI_TIER_C; tier <= AOEI_TIER_AVX512 && tier <= aoei_cpu_detect(); tier++) {
        aoe_context *ctx = test_context(tier, 3);
        enum { OUT = 150, IN = 37 };
        aoei_tensor w = test_tensor(OUT, IN, 0, 1, 1);
        const size_t n = aoei_weight_packed_size(ctx, OUT, IN);
        assert_int_equal(n, ctx->kernels.gemm_f32_packed_size(IN, OUT));
        aoei_tensor got = test_tensor_poisoned(1, n, 0), want = test_tensor_poisoned(1, n, 0);
        ctx->kernels.gemm_f32_pack(want.data, w.data, 1, IN, IN, 0, OUT);
        aoei_weight_pack(ctx, &w, got.data);
        assert_ptr_equal(w.packed, got.data);
        assert_int_equal(aoei_tensor_finite(ctx, got), 1);
        test_same_bits(got, want);
        test_tensor_free(w);
        test_tensor_free(got);
        test_tensor_free(want);
        aoe_context_destroy(ctx);
    }
}

static int create_context(void *arg) {
    const aoe_context_options *o = arg;
    aoe_context *ctx = (aoe_context *)(uintptr_t)1;
    aoe_error err;
    const int code = aoe_context_create(&ctx, o, &err);
    if (code) {
        assert_null(ctx);
        assert_int_equal(err.code, code);
        return code;
    }
    assert_int_equal(aoe_context_threads(ctx), o->threads);
    assert_int_equal((uintptr_t)aoei_worker_scratch(ctx, 1) % AOEI_ALIGN, 0);
    assert_true(aoei_worker_scratch(ctx, 1) == aoei_worker_scratch(ctx, 0) + AOEI_WORKER_SCRATCH);
    aoe_context_destroy(ctx);
    return 0;
}

static void test_context_memory(void **state) {
    (void)state;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    o.threads = 2;
    assert_true(test_alloc_failures(create_context, &o, 0) >= 3);
}

static void test_context_options(void **state) {
    (void)state;
    aoe_context *ctx;
    aoe_error err;
    setenv("AOE_CPU", "c", 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    assert_string_equal(aoe_context_tier(ctx), "c");
    assert_true(aoe_context_threads(ctx) >= 1);
    assert_true(ctx->kernels.gemm_f32 == aoei_gemm_f32_c);
    aoe_context_destroy(ctx);
    setenv("AOE_CPU", "z80", 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), AOE_EARG);
    assert_null(ctx);
    assert_non_null(strstr(err.message, "z80"));
    unsetenv("AOE_CPU");
    aoe_context_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_take),           cmocka_unit_test(test_views),
                                       cmocka_unit_test(test_transfers),      cmocka_unit_test(test_weight_pack),
                                       cmocka_unit_test(test_context_memory), cmocka_unit_test(test_context_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
