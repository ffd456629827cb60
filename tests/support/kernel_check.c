/* SPDX-License-Identifier: MIT
 * The frame of the kernel tests; kernel_check.h says what it does.
 */
#include "kernel_check.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CANARY UINT32_C(0x7fc0cafe) /* NaN: whoever reads it shows it */
#define POISON UINT32_C(0x7fc0dead)
#define MARGIN ((size_t)32) /* canaries before a matrix and behind an output */

static const struct {
    const char *op;
    aoei_tier tier;
} kernels[] = {
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op, TIER, suffix) {#op, AOEI_TIER_##TIER},
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
};

static const struct {
    const char *op;
    double tolerance;
} ops[] = {
#define AOEI_OP(op, tolerance) {#op, tolerance},
#define AOEI_KERNEL(op, TIER, suffix)
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
};

void kernel_each_tier(const char *op, kernel_tier_fn fn) {
    const aoei_tier best = aoei_cpu_detect();
    size_t run = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(kernels[i].op, op) != 0)
            continue;
        if (kernels[i].tier > best) {
            print_message("SKIP: %s in tier %s: this CPU does not have it\n", op, aoei_tier_name(kernels[i].tier));
            continue;
        }
        aoei_kernels k;
        aoei_kernels_init(&k, kernels[i].tier);
        fn(&k);
        run++;
    }
    assert_true(run > 0);
}

double kernel_tolerance(const char *op) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].op, op))
            return ops[i].tolerance;
    fail_msg("kernels.def has no op %s", op);
    return 0;
}

aoei_rng kernel_rng(const char *test) {
    const char *text = getenv("AOE_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 10) : 1;
    print_message("%s: AOE_TEST_SEED=%llu\n", test, (unsigned long long)seed);
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 0);
    return r;
}

size_t kernel_size(aoei_rng *r, size_t low, size_t high) {
    return low + aoei_rng_below(r, (uint32_t)(high - low + 1));
}

static void put(float *x, uint32_t bits) {
    memcpy(x, &bits, sizeof bits);
}

static uint32_t bits_of(const float *x) {
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return bits;
}

static kernel_matrix make(aoei_rng *r, size_t rows, size_t cols, size_t behind) {
    kernel_matrix m = {.rows = rows, .cols = cols};
    m.ld = cols + (aoei_rng_below(r, 2) ? kernel_size(r, 1, 19) : 0);
    const size_t before = MARGIN + aoei_rng_below(r, 16);
    m.floats = before + (rows ? (rows - 1) * m.ld + cols : 0) + behind;
    m.block = malloc(m.floats * sizeof(float)); /* exactly: the end of an input is the end of its block */
    assert_non_null(m.block);
    m.data = m.block + before;
    for (size_t i = 0; i < m.floats; i++)
        put(m.block + i, CANARY);
    return m;
}

kernel_matrix kernel_input(aoei_rng *r, size_t rows, size_t cols) {
    kernel_matrix m = make(r, rows, cols, 0);
    kernel_fill(&m, r, -1, 1);
    return m;
}

kernel_matrix kernel_output(aoei_rng *r, size_t rows, size_t cols) {
    kernel_matrix m = make(r, rows, cols, MARGIN);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            put(m.data + i * m.ld + j, POISON);
    return m;
}

void kernel_fill(kernel_matrix *m, aoei_rng *r, double low, double high) {
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            m->data[i * m->ld + j] = (float)(low + (high - low) * aoei_rng_uniform(r));
}

void kernel_check_canaries(const kernel_matrix *m, const char *what, int written) {
    const size_t before = (size_t)(m->data - m->block);
    for (size_t i = 0; i < m->floats; i++) {
        const size_t at = i - before; /* wraps before the matrix */
        const int inside = i >= before && at / m->ld < m->rows && at % m->ld < m->cols;
        if (!inside && bits_of(m->block + i) != CANARY)
            fail_msg("%s [%zu, %zu] with stride %zu: wrote outside, at float %td from its start", what, m->rows, m->cols, m->ld,
                     (ptrdiff_t)i - (ptrdiff_t)before);
        if (inside && written && bits_of(m->block + i) == POISON)
            fail_msg("%s [%zu, %zu]: row %zu column %zu was not written", what, m->rows, m->cols, at / m->ld, at % m->ld);
    }
}

void kernel_free(kernel_matrix *m) {
    free(m->block);
    memset(m, 0, sizeof *m);
}

void kernel_check_value(float value, double expected, double bound, const char *what, size_t row, size_t col) {
    if (!(fabs((double)value - expected) <= bound))
        fail_msg("%s: row %zu column %zu is %.9g, not %.12g within %.3g", what, row, col, (double)value, expected, bound);
}

void kernel_check_bits(float value, float expected, const char *what, size_t row, size_t col) {
    if (bits_of(&value) != bits_of(&expected))
        fail_msg("%s: row %zu column %zu is %.9g, not the same bits as %.9g", what, row, col, (double)value, (double)expected);
}
