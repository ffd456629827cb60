/* SPDX-License-Identifier: MIT
 * Tests the rows of distances in disentangled attention.
 */
#include "../support/support.h"
#include "nn/disentangled.h"

/* The buckets are values of make_log_bucket_position in modeling_deberta_v2.py of transformers. */
static void test_rows(void **state) {
    (void)state;
    static const struct {
        size_t span, buckets, max_distance;
        ptrdiff_t distance, bucket;
    } cases[] = {
        {256, 256, 512, 128, 128}, {256, 256, 512, 129, 129}, {256, 256, 512, 200, 169}, {256, 256, 512, 511, 255},
        {16, 16, 128, 8, 8},       {16, 16, 128, 9, 9},       {16, 16, 128, 10, 9},      {16, 16, 128, 33, 12},
        {16, 16, 128, 64, 14},     {16, 16, 128, 127, 15},    {32, 32, 64, 17, 17},      {32, 32, 64, 33, 24},
        {32, 32, 64, 100, 37},     {24, 0, 24, 7, 7},         {24, 0, 24, 23, 23},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ptrdiff_t span = (ptrdiff_t)cases[i].span, b = cases[i].bucket, highest = b < span ? b : span - 1;
        const ptrdiff_t lowest = b <= span ? -b : -span;
        for (int sign = -1; sign <= 1; sign += 2)
            assert_int_equal(
                aoei_disentangled_row(sign * cases[i].distance, cases[i].span, cases[i].buckets, cases[i].max_distance),
                span + (sign < 0 ? lowest : highest));
    }
    for (ptrdiff_t r = -1000; r < 1000; r++) {
        const uint32_t row = aoei_disentangled_row(r, 16, 16, 128);
        assert_true(row < 32 && row <= aoei_disentangled_row(r + 1, 16, 16, 128));
    }
    assert_int_equal(aoei_disentangled_row(1 << 20, 24, 0, 24), 47);
    assert_int_equal(aoei_disentangled_row(-(1 << 20), 24, 0, 24), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
