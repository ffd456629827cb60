/* SPDX-License-Identifier: MIT
 * covers: kernels/gemm_block
 * Tests the float32 matmul of every instruction set. product_check.h describes the checks.
 */
#include "../support/product_check.h"
#include "../support/support.h"

static void shapes(const aoei_kernels *k) {
    product_test_shapes(k, AOEI_F32);
}

static void options(const aoei_kernels *k) {
    product_test_options(k, AOEI_F32);
}

static void pieces(const aoei_kernels *k) {
    product_test_pieces(k, AOEI_F32);
}

static void specials(const aoei_kernels *k) {
    product_test_specials(k, AOEI_F32);
}

static void test_shapes(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", shapes);
}

static void test_options(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", options);
}

static void test_pieces(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", pieces);
}

static void test_specials(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", specials);
}

/* Checks the size of packed matrices. */
static void packed_size(const aoei_kernels *k) {
    const size_t bytes = k->gemm_f32_packed_size(10, 33);
    assert_true(bytes >= 330 * sizeof(float) && bytes % (10 * sizeof(float)) == 0);
    assert_int_equal(k->gemm_f32_packed_size(10, AOEI_GEMM_PANEL), 10 * AOEI_GEMM_PANEL * sizeof(float));
    assert_int_equal(k->gemm_f32_packed_size(0, 5), 0);
}

static void test_packed_size(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32_packed_size", packed_size);
    kernel_each_tier("gemm_f32_pack", packed_size);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_specials),
                                       cmocka_unit_test(test_packed_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
