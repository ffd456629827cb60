/* SPDX-License-Identifier: MIT
 * Tests the program's formatting of floats: each result must equal that of printf("%.9g").
 */
#include <float.h>
#include <math.h>

#include "cli/common/float_text.h"
#include "../support/support.h"
#include "base/random.h"

static void check(float v) {
    char got[CLI_FLOAT_MAX + 1], want[64];
    const size_t n = cli_format_float(got, v);
    snprintf(want, sizeof want, "%.9g", (double)v);
    if (n != strlen(want) || strcmp(got, want) != 0)
        fail_msg("%a: expected \"%s\", found \"%s\" (length %zu)", (double)v, want, got, n);
}

/* Checks v, the next 199 floats above and below v, and the negatives of all these numbers. */
static void check_around(float v) {
    float below = v, above = v;
    for (int i = 0; i < 200; i++) {
        check(below);
        check(above);
        check(-below);
        check(-above);
        below = nextafterf(below, -INFINITY);
        above = nextafterf(above, INFINITY);
    }
}

static void edges(void **state) {
    (void)state;
    const float others[] = {0,    FLT_MAX,  FLT_MIN,  FLT_TRUE_MIN, INFINITY,   0.1f,
                            0.5f, 1.0f / 3, 16777216, 999999936,    123456.789f};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_around(others[i]);
    check(NAN);
    for (int x = -45; x <= 38; x++)
        check_around((float)pow(10, x));
    for (int e = -149; e < 128; e++)
        check_around(ldexpf(1, e));
}

/* Tests ties in rounding to nine digits. Odd multiples of powers of 1/2 have finite decimal expansions that end in 5,
 * so some of them are exactly halfway between two results. */
static void ties(void **state) {
    (void)state;
    for (int e = -24; e <= 6; e++)
        for (uint32_t m = (1u << 24) - 1; m > (1u << 24) - 20000; m--)
            check(ldexpf((float)m, e));
    for (uint32_t i = 1; i < 20000; i++)
        check((float)(2 * i + 1) / 1024 + 123456);
}

/* Tests floats with random bits, and random values with the magnitude of components of embeddings. */
static void random_floats(void **state) {
    (void)state;
    aoei_rng r;
    aoei_rng_init(&r, 7, AOEI_STREAM_TEST, 0);
    for (int i = 0; i < 300000; i++) {
        const uint32_t bits = aoei_rng_u32(&r);
        float v;
        memcpy(&v, &bits, sizeof v);
        check(v);
        check((float)aoei_rng_normal(&r));
        check((float)(aoei_rng_uniform(&r) * 1e-3));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges),
        cmocka_unit_test(ties),
        cmocka_unit_test(random_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
