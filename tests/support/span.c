/* SPDX-License-Identifier: MIT
 * Implements guarded arrays and comparisons for kernel tests; see span.h.
 */
#include "span.h"

#include "kernel_check.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "support.h"

enum { FRONT = 32 }; /* number of canaries before the data */

#define CANARY 0x1.234568p+11f

const float test_specials[] = {
    0.0f,    -0.0f,    INFINITY, -INFINITY,  NAN,  1e-45f, -1e-45f, FLT_MIN / 2, FLT_MIN, -FLT_MIN * 0.75f,
    FLT_MAX, -FLT_MAX, 1e30f,    -1e30f,     1.0f, -1.0f,  88.0f,   -88.0f,      -13.0f,  -14.6f,
    1e-20f,  14.6f,    0.5f,     -0.7517916f};
const size_t test_n_specials = sizeof test_specials / sizeof *test_specials;

test_span test_span_create(size_t n, size_t slack) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t used = (FRONT + n + slack) * sizeof(float), bytes = (used + page - 1) / page * page + page;
    char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    if (kernel_guards())
        assert_int_equal(mprotect(block + bytes - page, page, PROT_NONE), 0);
    float *front = (float *)(void *)(block + bytes - page - used);
    for (size_t i = 0; i < FRONT + n + slack; i++)
        front[i] = i < FRONT || i >= FRONT + n ? CANARY : NAN;
    return (test_span){front + FRONT, n, slack, block, bytes};
}

test_span test_span_normal(size_t n, size_t slack, double sd, unsigned substream) {
    test_span s = test_span_create(n, slack);
    aoei_rng r;
    aoei_rng_init(&r, kernel_seed(), AOEI_STREAM_TEST, substream);
    for (size_t i = 0; i < n; i++)
        s.data[i] = (float)(sd * aoei_rng_normal(&r));
    return s;
}

void test_span_check(const test_span *s) {
    for (size_t i = 0; i < FRONT; i++)
        assert_true(s->data[(ptrdiff_t)i - FRONT] == CANARY);
    for (size_t i = 0; i < s->slack; i++)
        assert_true(s->data[s->n + i] == CANARY);
}

void test_span_free(test_span *s) {
    test_span_check(s);
    munmap(s->block, s->bytes);
    s->data = NULL;
}

void test_value(float got, double want, double bound, const char *what, aoei_tier tier, size_t n, size_t i) {
    const double v = (double)got;
    int right = fabs(v - want) <= bound;
    kernel_compared(isfinite(want) && isfinite(v) ? fabs(v - want) : 0, bound);
    if (isnan(want))
        right = isnan(v);
    else if (isinf(want) || fabs(want) > (double)FLT_MAX)
        right = isinf(v) && (v > 0) == (want > 0);
    if (!right)
        fail_msg("%s, tier %s, n = %zu, [%zu]: %.9g, expected %.17g within %g", what, aoei_tier_name(tier), n, i, v,
                 want, bound);
}

void test_same_floats(const float *a, const float *b, size_t n) {
    kernel_compared(0, 0);
    for (size_t i = 0; i < n; i++)
        if (!(isnan(a[i]) && isnan(b[i])) && memcmp(a + i, b + i, sizeof *a) != 0)
            fail_msg("element %zu differs: %.9g and %.9g (%a, %a)", i, (double)a[i], (double)b[i], (double)a[i],
                     (double)b[i]);
}
