/* SPDX-License-Identifier: MIT
 * Tests the dropout kernels of every instruction set. One test checks the mask layout with the example in
 * docs/numerics.md. The results must be bit-identical on all instruction sets for all lengths and alignments, with and
 * without a residual. The output may be in the memory of an input.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"
#include "base/random.h"

enum { LONGEST = 2 * 64 + 1 };

/* The example in docs/numerics.md. */
static const aoei_dropout_row example = {
    .key = {1, 2}, .counter = {0, 3, 4, 5u << 16 | 6}, .threshold = 0x80000000u, .scale = 2};

static uint32_t word_of(const aoei_dropout_row *d, size_t column) {
    const uint32_t counter[4] = {d->counter[0] + (uint32_t)(column / 64 * 16 + column % 16), d->counter[1],
                                 d->counter[2], d->counter[3]};
    uint32_t word[4];
    aoei_philox(word, counter, d->key);
    return word[column % 64 / 16];
}

static void known_answer(const aoei_kernels *k) {
    static const struct {
        size_t column;
        uint32_t word;
    } words[] = {{0, 0xa690d83d},  {1, 0xaea7576e},  {15, 0xeeb07ccb},  {16, 0xae73e736}, {17, 0x6a53c8e5},
                 {63, 0xba002ea9}, {64, 0x3610b300}, {127, 0x033996b6}, {700, 0x7cd5f787}};
    static const char kept[] = "1100001011110101101000000100001010000111101101111110010111000111";
    float ones[701], y[701];
    for (size_t i = 0; i < 701; i++)
        ones[i] = 1;
    k->dropout_f32(y, ones, NULL, &example, 701);
    for (size_t i = 0; i < 64; i++)
        assert_true(y[i] == (kept[i] == '1' ? 2.0f : 0.0f));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        aoei_dropout_row d = example;
        d.threshold = words[i].word; /* dropout keeps an element if its random 32-bit word is at least the threshold */
        k->dropout_f32(y, ones, NULL, &d, 701);
        assert_true(y[words[i].column] == 2.0f);
        d.threshold++;
        k->dropout_f32(y, ones, NULL, &d, 701);
        assert_true(y[words[i].column] == 0.0f);
    }
}

static void test_known_answer(void **state) {
    (void)state;
    kernel_each_tier("dropout_f32", known_answer);
}

static void one_case(const aoei_kernels *k, const aoei_dropout_row *d, size_t n, size_t slack, int with_residual) {
    test_span x = test_span_normal(n, slack, 1, 1), residual = test_span_normal(n, slack, 1, 2),
              y = test_span_create(n, slack);
    float want[LONGEST];
    for (size_t i = 0; i < n; i++) {
        if ((i + n) % 5 == 0)
            x.data[i] = test_specials[(i + 3 * n) % test_n_specials];
        want[i] = word_of(d, i) >= d->threshold ? x.data[i] * d->scale : 0;
        if (with_residual)
            want[i] = residual.data[i] + want[i];
    }
    k->dropout_f32(y.data, x.data, with_residual ? residual.data : NULL, d, n);
    test_same_floats(y.data, want, n);
    memcpy(y.data, x.data, n * sizeof(float));
    k->dropout_f32(y.data, y.data, with_residual ? residual.data : NULL, d, n);
    test_same_floats(y.data, want, n);
    if (with_residual) {
        k->dropout_f32(residual.data, x.data, residual.data, d, n);
        test_same_floats(residual.data, want, n);
    }
    test_span_free(&x);
    test_span_free(&residual);
    test_span_free(&y);
}

static void all_tiers_agree(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n += kernel_every())
        for (size_t slack = 0; slack < 3; slack++) {
            aoei_dropout_row d = {.key = {0xdeadbeef, (uint32_t)n},
                                  .counter = {7, 0xffffffff, (uint32_t)slack, 0x80000001}};
            d.threshold = n % 3 == 0 ? 0xf0000000u : 0x19999999u; /* thresholds with and without the sign bit */
            d.scale = 1.1111112f;
            one_case(k, &d, n, slack, (int)(n + slack) % 2);
            one_case(k, &d, n, slack, (int)(n + slack + 1) % 2);
        }
}

static void test_all_tiers_agree(void **state) {
    (void)state;
    kernel_each_tier("dropout_f32", all_tiers_agree);
}

/* Tests that a dropped NaN or infinity becomes 0. A kernel that multiplies dropped elements by 0 would return NaN for
 * them. */
static void dropped_specials(const aoei_kernels *k) {
    aoei_dropout_row d = example;
    d.threshold = 0xffffffffu;
    float x[64], y[64];
    for (size_t i = 0; i < 64; i++)
        x[i] = i % 2 ? NAN : INFINITY;
    k->dropout_f32(y, x, NULL, &d, 64);
    for (size_t i = 0; i < 64; i++)
        assert_true(y[i] == 0);
}

static void test_dropped_specials(void **state) {
    (void)state;
    kernel_each_tier("dropout_f32", dropped_specials);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answer),
        cmocka_unit_test(test_all_tiers_agree),
        cmocka_unit_test(test_dropped_specials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
