/* SPDX-License-Identifier: MIT
 * covers: kernels/gelu_tables_avx512bf16 kernels/gemm_epilogue_simd
 * Tests the bf16 matmul of every instruction set, with native bf16 instructions where the CPU has them. product_check.h
 * describes the checks.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/product_check.h"
#include "../support/support.h"

static void shapes(const aoei_kernels *k) {
    product_test_shapes(k, AOEI_BF16);
}

static void options(const aoei_kernels *k) {
    product_test_options(k, AOEI_BF16);
}

static void pieces(const aoei_kernels *k) {
    product_test_pieces(k, AOEI_BF16);
}

static void specials(const aoei_kernels *k) {
    product_test_specials(k, AOEI_BF16);
}

static void test_shapes(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16", shapes);
}

static void test_options(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16", options);
}

static void test_pieces(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16", pieces);
}

static void test_specials(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16", specials);
}

/* Tests GELU and its derivative in the epilogue for every bf16 value v that is not subnormal: with K = 1 and factors of
 * 1, each row of C is GELU(v), or, with a gate, the derivative at v. */
static void gelu_of_every_value(const aoei_kernels *k) {
    enum { M = 256, N = 2 };
    static float scratch[AOEI_GEMM_SCRATCH] __attribute__((aligned(64)));
    const aoei_bf16 one = aoei_bf16_from_f32(1);
    aoei_bf16 gates[M * N], c[M * N], a[M];
    float x[M], y[M], units[M];
    for (size_t first = 0; first < 65536; first += M * kernel_every()) {
        for (int gated = 0; gated < 2; gated++) {
            for (size_t i = 0; i < M; i++) {
                const aoei_bf16 value = (aoei_bf16)(first + i);
                x[i] = aoei_bf16_to_f32(value);
                units[i] = 1;
                a[i] = gated ? one : value;
                for (size_t j = 0; j < N; j++)
                    gates[i * N + j] = value;
            }
            const aoei_bf16 b[N] = {one, one};
            aoei_gemm_args g = {.M = M,
                                .N = N,
                                .K = 1,
                                .a = a,
                                .a_row = 1,
                                .a_col = 1,
                                .b = b,
                                .b_row = N,
                                .b_col = 1,
                                .c = c,
                                .c_row = N,
                                .c_type = AOEI_BF16,
                                .scale = 1,
                                .activation = AOEI_GELU};
            g.gate = gated ? gates : NULL;
            g.gate_row = N;
            k->gemm_bf16(&g, scratch);
            if (gated)
                k->gelu_grad_f32(y, units, x, M);
            else
                k->gelu_f32(y, x, M);
            for (size_t i = 0; i < M * N; i++) {
                const float v = x[i / N];
                const int negative_zero = v == 0 && signbit(v); /* a sum that starts from 0 is never -0 */
                if (!isfinite(v) || (v != 0 && fabsf(v) < FLT_MIN) || (negative_zero && !gated))
                    continue;
                kernel_check_bits(aoei_bf16_to_f32(c[i]), kernel_stored(k, AOEI_BF16, y[i / N]), "GELU", i / N, i % N);
            }
        }
    }
}

static void test_gelu_of_every_value(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16", gelu_of_every_value);
}

/* Tests that packing a float32 matrix rounds each value as aoei_bf16_from_f32 does. The values include ties, overflow,
 * subnormal numbers and NaN. */
static void rounding(const aoei_kernels *k) {
    enum { K = 75, N = 70 };
    static const uint32_t bits[] = {0,          0x80000000, 0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0x7f7fffff,
                                    0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffc12345, 0x7fffffff, 0x00000001,
                                    0x00008000, 0x00018000, 0x807fffff, 0x00800000, 0x7f7f7fff, 0x7f7f8000};
    static float values[K * N];
    static aoei_bf16 rounded[K * N];
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t i = 0; i < K * N; i++) {
        const uint32_t word =
            aoei_rng_below(&r, 2) ? aoei_rng_below(&r, UINT32_MAX) : bits[i % (sizeof bits / sizeof *bits)];
        memcpy(&values[i], &word, sizeof word);
        rounded[i] = aoei_bf16_from_f32(values[i]);
    }
    const size_t bytes = k->gemm_bf16_packed_size(K, N), capacity = (bytes + 63) / 64 * 64;
    unsigned char *x = aligned_alloc(64, capacity), *y = aligned_alloc(64, capacity);
    assert_non_null(x);
    assert_non_null(y);
    for (int transposed = 0; transposed < 2; transposed++) {
        memset(x, 0, capacity);
        memset(y, 0, capacity);
        k->gemm_bf16_pack(x, values, AOEI_F32, transposed ? 1 : N, transposed ? K : 1, K, 0, N);
        k->gemm_bf16_pack(y, rounded, AOEI_BF16, transposed ? 1 : N, transposed ? K : 1, K, 0, N);
        assert_memory_equal(x, y, bytes);
    }
    free(x);
    free(y);
}

static void test_rounding(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16_pack", rounding);
}

/* Checks the size of packed matrices. A packed matrix consists of panels with a fixed number of columns. */
static void packed_size(const aoei_kernels *k) {
    assert_true(k->gemm_bf16_packed_size(10, 33) >= 330 * sizeof(aoei_bf16));
    assert_int_equal(k->gemm_bf16_packed_size(10, 3 * AOEI_GEMM_PANEL),
                     3 * k->gemm_bf16_packed_size(10, AOEI_GEMM_PANEL));
    assert_int_equal(k->gemm_bf16_packed_size(0, 5), 0);
}

static void test_packed_size(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16_packed_size", packed_size);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_specials),
                                       cmocka_unit_test(test_rounding),
                                       cmocka_unit_test(test_packed_size),
                                       cmocka_unit_test(test_gelu_of_every_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
