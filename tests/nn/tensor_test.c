/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: base/context kernels/kernel_table nn/dtype nn/gemm
 * Tests tensors: allocation in arenas, views, zeroing, and reading, writing and copying with row strides. Tensors are
 * float32 or bf16. Other tests cover the check for non-finite values, packed weights, and contexts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "base/alloc.h"
#include "kernels/kernel_table.h"
#include "nn/dtype.h"
#include "nn/gemm.h"

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

/* Tests writing, reading, copying and zeroing through a column view. The view has the shape [rows, cols] and is part of
 * a tensor [rows, left + cols + right]. Only the elements of the view may change. Large shapes are divided among
 * several tasks. */
static void check_transfers(const aoe_context *ctx, size_t rows, size_t cols, size_t left, size_t right) {
    const size_t width = left + cols + right, n = rows * cols;
    aoei_tensor all = test_tensor_poisoned(rows, width, 0), t = aoei_tensor_cols(all, left, cols);
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
        for (size_t c = 0; c < width; c++)
            assert_int_equal(isnan(aoei_f32(all)[r * width + c]) != 0, c < left || c >= left + cols);
    assert_int_equal(aoei_tensor_finite(ctx, t), 1);
    assert_int_equal(aoei_tensor_finite(ctx, all), width == cols);
    for (size_t i = 0; i < 3; i++) {
        const size_t at = i == 0 ? 0 : i == 1 ? n / 2 : n - 1;
        static const float bad[] = {NAN, INFINITY, -INFINITY};
        aoei_f32(t)[at / cols * width + at % cols] = bad[i];
        assert_int_equal(aoei_tensor_finite(ctx, t), 0);
        aoei_f32(t)[at / cols * width + at % cols] = 3.4e38f;
    }
    assert_int_equal(aoei_tensor_finite(ctx, t), 1);
    aoei_tensor_zero(ctx, t);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            assert_true(c < left || c >= left + cols ? isnan(aoei_f32(all)[r * width + c])
                                                     : aoei_f32(all)[r * width + c] == 0);
    free(host);
    free(back);
    test_tensor_free(all);
    test_tensor_free(other);
}

static void test_transfers(void **state) {
    (void)state;
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    static const size_t shapes[][4] = {
        {1, 1, 0, 0}, {5, 3, 2, 1}, {400, 401, 0, 0}, {400, 401, 3, 0}, {3, 140000, 0, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_transfers(ctx, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
    float x = 5;
    aoei_tensor_zero(ctx, aoei_tensor_wrap(&x, 0, 1));
    aoei_tensor_write(ctx, aoei_tensor_wrap(&x, 1, 0), &x);
    assert_true(x == 5);
    assert_int_equal(aoei_tensor_finite(ctx, aoei_tensor_wrap(&x, 0, 0)), 1);
    aoe_context_destroy(ctx);
}

/* Checks a column view of a bf16 tensor. Writing must round float32 values once, reading must convert values to float32
 * exactly, and copying must convert between float32 and bf16 in both directions. */
static void check_bf16_transfers(const aoe_context *ctx, size_t rows, size_t cols, size_t left, size_t right) {
    const size_t width = left + cols + right, n = rows * cols;
    aoei_tensor all = test_poisoned_typed(AOEI_BF16, rows, width, 0), t = aoei_tensor_cols(all, left, cols);
    aoei_tensor narrow = test_poisoned_typed(AOEI_BF16, rows, cols, cols + 1),
                floats = test_tensor_poisoned(rows, cols, 0);
    float *host = malloc(n * sizeof *host), *back = malloc(n * sizeof *back);
    assert_true(host && back && t.type == AOEI_BF16);
    test_fill_normal(host, n, 1, 1);
    aoei_tensor_write(ctx, t, host);
    aoei_tensor_read(ctx, back, t);
    for (size_t i = 0; i < n; i++)
        assert_true(back[i] == aoei_bf16_to_f32(aoei_bf16_from_f32(host[i])));
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            assert_int_equal(isnan(test_at(all, r, c)) != 0, c < left || c >= left + cols);
    aoei_tensor_copy(ctx, floats, t);
    assert_memory_equal(floats.data, back, n * sizeof *back);
    aoei_tensor_copy(ctx, narrow, floats);
    test_same_bits(narrow, aoei_tensor_cols(narrow, 0, cols));
    aoei_tensor_read(ctx, host, narrow);
    assert_memory_equal(host, back, n * sizeof *back);
    aoei_tensor_zero(ctx, t);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < width; c++)
            assert_true(c < left || c >= left + cols ? isnan(test_at(all, r, c)) : test_at(all, r, c) == 0);
    free(host);
    free(back);
    test_tensor_free(all);
    test_tensor_free(narrow);
    test_tensor_free(floats);
}

static void bf16_transfers(const aoe_context *ctx) {
    static const size_t shapes[][4] = {
        {1, 1, 0, 0}, {5, 3, 2, 1}, {400, 401, 0, 0}, {40, 401, 3, 0}, {3, 140000, 0, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_bf16_transfers(ctx, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
}

static void test_bf16_transfers(void **state) {
    (void)state;
    test_each_tier(bf16_transfers);
}

/* Tests that each element of a bf16 tensor occupies 2 bytes of the arena, and that the offsets of its views are numbers
 * of elements. */
static void test_bf16_views(void **state) {
    (void)state;
    aoei_arena a;
    aoei_arena_measure(&a);
    aoei_tensor t = aoei_tensor_take_typed(&a, AOEI_BF16, 64, 33);
    assert_null(t.data);
    assert_true(a.used == 64 * 33 * 2 && t.type == AOEI_BF16 && t.ld == 33);
    assert_null(aoei_tensor_rows(t, 1, 2).data);
    aoei_arena_destroy(&a);
    t = test_tensor_typed(AOEI_BF16, 6, 8, 0, 1, 1);
    aoei_bf16 *x = aoei_b16(t);
    aoei_tensor v = aoei_tensor_cols(aoei_tensor_rows(t, 2, 3), 5, 3);
    assert_true(aoei_b16(v) == x + 2 * 8 + 5 && v.rows == 3 && v.cols == 3 && v.ld == 8 && v.type == AOEI_BF16);
    v = aoei_tensor_slice(t, 9, 13, 3);
    assert_true(aoei_b16(v) == x + 9 && v.rows == 13 && v.cols == 3 && v.ld == 3 && v.type == AOEI_BF16);
    test_tensor_free(t);
}

/* Asserts that aoei_weight_pack, which divides the work among several tasks, writes the bytes that a single call of the
 * packing kernel writes. */
static void check_weight_pack(const aoe_context *ctx, aoei_dtype type) {
    enum { OUT = 150, IN = 37 };
    const aoei_kernels *k = aoei_kernels_of(ctx);
    aoei_tensor w = test_tensor(OUT, IN, 0, 1, 1);
    const size_t n = aoei_weight_packed_size(ctx, type, OUT, IN);
    const size_t bytes = type == AOEI_BF16 ? k->gemm_bf16_packed_size(IN, OUT) : k->gemm_f32_packed_size(IN, OUT);
    assert_true(n % 64 == 0 && n >= bytes && n - bytes < 64);
    unsigned char *got = aoei_aligned(n), *want = aoei_aligned(n);
    assert_true(got && want);
    memset(got, 0xff, n);
    memset(want, 0xff, n);
    (type == AOEI_BF16 ? k->gemm_bf16_pack : k->gemm_f32_pack)(want, w.data, AOEI_F32, 1, IN, IN, 0, OUT);
    aoei_weight_pack(ctx, type, &w, got);
    assert_ptr_equal(w.packed, got);
    assert_int_equal(w.packed_type, type);
    assert_memory_equal(got, want, n);
    /* aoei_weight_pack must write every element: the bytes 0xff, with which the memory was filled, are a NaN in both
     * data types */
    for (size_t i = 0; i + 1 < bytes; i += 2)
        assert_false(got[i] == 0xff && got[i + 1] == 0xff);
    test_tensor_free(w);
    aoei_aligned_free(got);
    aoei_aligned_free(want);
}

static void test_weight_pack(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        aoe_context *ctx = test_context((aoei_tier)tier, 3);
        check_weight_pack(ctx, AOEI_F32);
        check_weight_pack(ctx, AOEI_BF16);
        aoe_context_destroy(ctx);
    }
}

/* Tests the choice of the data type. AOE_DTYPE_AUTO must select bf16 if the instruction set has native bf16 products.
 * An explicit data type must be used with every instruction set. */
static void test_type(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        aoe_context *ctx = test_context((aoei_tier)tier, 1);
        assert_int_equal(aoei_context_type(ctx, AOE_DTYPE_F32), AOEI_F32);
        assert_int_equal(aoei_context_type(ctx, AOE_DTYPE_BF16), AOEI_BF16);
        assert_int_equal(aoei_context_type(ctx, AOE_DTYPE_AUTO),
                         strstr(aoe_context_tier(ctx), "bf16") || strcmp(aoe_context_tier(ctx), "amx") == 0 ? AOEI_BF16
                                                                                                            : AOEI_F32);
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
    char *saved = test_force_tier("c");
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    assert_string_equal(aoe_context_tier(ctx), "c");
    assert_true(aoe_context_threads(ctx) >= 1);
    assert_true(aoei_kernels_of(ctx)->gemm_f32 == aoei_gemm_f32_c);
    aoe_context_destroy(ctx);
    setenv("AOE_CPU", "z80", 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), AOE_EARG);
    assert_null(ctx);
    assert_non_null(strstr(err.message, "z80"));
    test_restore_tier(saved);
    aoe_context_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_take),           cmocka_unit_test(test_views),
                                       cmocka_unit_test(test_transfers),      cmocka_unit_test(test_bf16_transfers),
                                       cmocka_unit_test(test_bf16_views),     cmocka_unit_test(test_weight_pack),
                                       cmocka_unit_test(test_type),           cmocka_unit_test(test_context_memory),
                                       cmocka_unit_test(test_context_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
