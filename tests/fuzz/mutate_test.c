/* SPDX-License-Identifier: MIT
 * Tests the mutations that `make check` applies to the corpora of the fuzz harnesses (tests/fuzz/mutate.h).
 */
#include <string.h>

#include "../support/support.h"
#include "mutate.h"

static const char text[] = "{\"type\":\"bert\",\"list\":[1,{\"a\":null}],\"size\":12}";
static const char other[] = "{\"type\":\"qwen3\",\"window\":true}";

/* Returns 1 if one of n mutations of `text` is `expected`. */
static int occurs(const char *expected, uint64_t n) {
    for (uint64_t seed = 0; seed < n; seed++) {
        uint8_t data[256];
        aoei_rng r;
        fuzz_input in = {data, sizeof text - 1, sizeof data};
        memcpy(data, text, in.size);
        aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 0);
        fuzz_mutate(&in, (const uint8_t *)other, sizeof other - 1, &r);
        if (in.size == strlen(expected) && !memcmp(data, expected, in.size))
            return 1;
    }
    return 0;
}

static void changes_json(void **state) {
    (void)state;
    assert_true(occurs("{\"type\":\"bert\",\"size\":12}", 20000));
    assert_true(occurs("{\"type\":\"qwen3\",\"list\":[1,{\"a\":null}],\"size\":12}", 20000));
    assert_true(occurs("{\"type\":\"bert\",\"list\":[1,{\"a\":null}],\"window\":true,\"size\":12}", 20000));
    assert_true(occurs("{\"type\":\"bert\",\"list\":[1,null],\"size\":12}", 20000));
    assert_true(occurs("{\"type\":\"bert\",\"list\":[1,{\"a\":null}],\"size\":18446744073709551615}", 20000));
}

/* Tests that a mutation depends only on the generator, and stays within the memory of the input. */
static void is_reproducible(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof text; size++)
        for (uint64_t seed = 0; seed < 200; seed++) {
            uint8_t data[2][96];
            fuzz_input in[2];
            for (int k = 0; k < 2; k++) {
                aoei_rng r;
                memset(data[k], 0x5a, sizeof data[k]);
                memcpy(data[k], text, size);
                in[k] = (fuzz_input){data[k], size, 80};
                aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 0);
                fuzz_mutate(&in[k], (const uint8_t *)other, seed % sizeof other, &r);
                for (size_t i = 80; i < sizeof data[k]; i++)
                    assert_int_equal(data[k][i], 0x5a);
            }
            assert_true(in[0].size <= 80 && in[0].size == in[1].size);
            assert_memory_equal(data[0], data[1], in[0].size);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes_json), cmocka_unit_test(is_reproducible)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
