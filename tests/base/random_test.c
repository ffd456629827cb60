/* SPDX-License-Identifier: MIT
 * Tests the Philox function against the known answers published with Random123, and tests the random number generator
 * that is based on Philox. It must be possible to save and restore the state of the generator. Random integers and
 * shuffles must be uniformly distributed, and normal numbers must have the moments of the normal distribution.
 */
#include <math.h>
#include <string.h>

#include "../support/support.h"
#include "base/random.h"

static void test_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        aoei_philox(out, cases[i].counter, cases[i].key);
        assert_memory_equal(out, cases[i].want, sizeof out);
    }
}

static void test_layout_of_a_stream(void **state) {
    (void)state;
    const uint64_t seed = UINT64_C(0x0123456789abcdef);
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_SHUFFLE, 9);
    r.index = UINT64_C(0xffffffff); /* after this block, the low word of the counter overflows into the high word */
    for (uint32_t block = 0; block < 3; block++) {
        const uint32_t counter[4] = {UINT32_C(0xffffffff) + block, block > 0, 9, AOEI_STREAM_SHUFFLE};
        const uint32_t key[2] = {0x89abcdef, 0x01234567};
        uint32_t want[4];
        aoei_philox(want, counter, key);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(aoei_rng_u32(&r), want[i]);
    }
}

static void test_saved_state_continues(void **state) {
    (void)state;
    aoei_rng a, b;
    aoei_rng_init(&a, 42, AOEI_STREAM_INIT, 0);
    for (size_t i = 0; i < 11; i++)
        aoei_rng_normal(&a);
    aoei_rng_u32(&a);
    /* copies the state field by field, as if it were restored from a checkpoint */
    b = (aoei_rng){.seed = a.seed, .index = a.index, .stream = a.stream, .substream = a.substream, .left = a.left};
    memcpy(b.word, a.word, sizeof b.word);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(aoei_rng_below(&a, 1000), aoei_rng_below(&b, 1000));
        double x = aoei_rng_uniform(&a), y = aoei_rng_uniform(&b);
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void test_streams_differ(void **state) {
    (void)state;
    static const struct {
        uint64_t seed;
        uint32_t stream, substream;
    } s[] = {{1, 1, 0}, {2, 1, 0}, {UINT64_C(1) << 32 | 1, 1, 0}, {1, 2, 0}, {1, 1, 1}};
    uint32_t first[5];
    for (size_t i = 0; i < 5; i++) {
        aoei_rng r;
        aoei_rng_init(&r, s[i].seed, s[i].stream, s[i].substream);
        first[i] = aoei_rng_u32(&r);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(first[i], first[j]);
    }
}

/* Tests that each value is drawn about equally often: its count is within 5 standard deviations of the expected
 * count. */
static void test_below_is_uniform(void **state) {
    (void)state;
    static const uint32_t limits[] = {1, 2, 3, 7, 10, 64};
    enum { DRAWS = 60000 };
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        uint32_t n = limits[k];
        size_t count[64] = {0};
        aoei_rng r;
        aoei_rng_init(&r, k, AOEI_STREAM_TEST, 1);
        for (size_t i = 0; i < DRAWS; i++) {
            uint32_t x = aoei_rng_below(&r, n);
            assert_true(x < n);
            count[x]++;
        }
        double p = 1.0 / n, sigma = sqrt(DRAWS * p * (1 - p));
        for (uint32_t x = 0; x < n; x++)
            assert_true(fabs((double)count[x] - DRAWS * p) <= 5 * sigma);
    }
}

/* Tests a limit for which a biased method fails: with the limit 3 * 2^30, multiplying and shifting without rejection
 * would draw every third value twice as often as the other values. */
static void test_below_large_limit_is_unbiased(void **state) {
    (void)state;
    enum { DRAWS = 60000 };
    const uint32_t n = UINT32_C(3) << 30;
    size_t count[3] = {0};
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 2);
    for (size_t i = 0; i < DRAWS; i++) {
        uint32_t x = aoei_rng_below(&r, n);
        assert_true(x < n);
        count[x % 3]++;
    }
    double sigma = sqrt(DRAWS * (1.0 / 3) * (2.0 / 3));
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs((double)count[i] - DRAWS / 3.0) <= 5 * sigma);
}

static void test_moments(void **state) {
    (void)state;
    enum { DRAWS = 100000 };
    aoei_rng r;
    aoei_rng_init(&r, 7, AOEI_STREAM_TEST, 3);
    double sum = 0, square = 0, low = 1, high = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        double u = aoei_rng_uniform(&r);
        sum += u;
        low = fmin(low, u);
        high = fmax(high, u);
    }
    assert_true(low >= 0 && low < 1e-3 && high < 1 && high > 0.999);
    assert_true(fabs(sum / DRAWS - 0.5) <= 5 * sqrt(1.0 / 12 / DRAWS));
    double cube = 0, fourth = 0;
    sum = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        double x = aoei_rng_normal(&r);
        assert_true(isfinite(x) && fabs(x) < 7);
        sum += x;
        square += x * x;
        cube += x * x * x;
        fourth += x * x * x * x;
    }
    /* each moment is within five standard deviations of its expected value; the variances of x, x^2, x^3 and x^4 are 1,
     * 2, 15 and 96 */
    assert_true(fabs(sum / DRAWS) <= 5 * sqrt(1.0 / DRAWS));
    assert_true(fabs(square / DRAWS - 1) <= 5 * sqrt(2.0 / DRAWS));
    assert_true(fabs(cube / DRAWS) <= 5 * sqrt(15.0 / DRAWS));
    assert_true(fabs(fourth / DRAWS - 3) <= 5 * sqrt(96.0 / DRAWS));
}

static void test_shuffle(void **state) {
    (void)state;
    enum { N = 1000 };
    size_t index[N], again[N];
    int seen[N] = {0};
    for (int run = 0; run < 2; run++) {
        size_t *p = run ? again : index;
        aoei_rng r;
        aoei_rng_init(&r, 3, AOEI_STREAM_SHUFFLE, 0);
        for (size_t i = 0; i < N; i++)
            p[i] = i;
        aoei_rng_shuffle(&r, p, N);
    }
    assert_memory_equal(index, again, sizeof index);
    size_t fixed = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(index[i] < N);
        seen[index[i]]++;
        fixed += index[i] == i;
    }
    for (size_t i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    assert_true(fixed < 10); /* the expected number of fixed points is one */
    aoei_rng r;
    aoei_rng_init(&r, 3, AOEI_STREAM_SHUFFLE, 0);
    aoei_rng_shuffle(&r, NULL, 0);
    aoei_rng_shuffle(&r, index, 1);
    assert_int_equal(r.index, 0);
}

/* Tests that the 24 permutations of four elements occur equally often: each count is within 5 standard deviations of
 * the mean. */
static void test_shuffle_is_uniform(void **state) {
    (void)state;
    enum { RUNS = 24000 };
    size_t count[256] = {0}, orders = 0;
    aoei_rng r;
    aoei_rng_init(&r, 4, AOEI_STREAM_SHUFFLE, 0);
    for (size_t i = 0; i < RUNS; i++) {
        size_t p[4] = {0, 1, 2, 3};
        aoei_rng_shuffle(&r, p, 4);
        count[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
    }
    double sigma = sqrt(RUNS * (1.0 / 24) * (23.0 / 24));
    for (size_t i = 0; i < 256; i++) {
        orders += count[i] > 0;
        assert_true(count[i] == 0 || fabs((double)count[i] - RUNS / 24.0) <= 5 * sigma);
    }
    assert_int_equal(orders, 24);
}

static void test_dropout_key(void **state) {
    (void)state;
    const uint64_t seed = UINT64_C(0xdeadbeef00000001), step = UINT64_C(0x200000003);
    const uint32_t counter[4] = {3, 2, 0, AOEI_STREAM_DROPOUT}, key[2] = {1, 0xdeadbeef};
    uint32_t want[4], got[2];
    aoei_philox(want, counter, key);
    aoei_dropout_key(got, seed, step);
    assert_memory_equal(got, want, sizeof got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_layout_of_a_stream),
        cmocka_unit_test(test_saved_state_continues),
        cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_below_is_uniform),
        cmocka_unit_test(test_below_large_limit_is_unbiased),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_shuffle_is_uniform),
        cmocka_unit_test(test_dropout_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
