/* SPDX-License-Identifier: MIT
 * Helpers for kernel tests; see kernel_check.h.
 */
#include "kernel_check.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CANARY UINT32_C(0x7fc0cafe) /* a NaN, so that reading it changes the result */
#define POISON UINT32_C(0x7fc0dead)
#define MARGIN ((size_t)32) /* number of canaries before a matrix and after an output */

static kernel_record records[] = {
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op, TIER, suffix) {#op, AOEI_TIER_##TIER, 0, 0, 0, 0},
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
};
static kernel_record *current; /* record of the kernel under test; NULL: none */

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

static const char *const *only; /* [n_only] ops that kernel_each_tier tests; NULL: all ops */
static size_t n_only;
static int highest_only; /* 1: kernel_each_tier tests only the highest tier */

void kernel_only(const char *const *wanted, size_t n) {
    only = wanted;
    n_only = n;
}

void kernel_highest_only(void) {
    highest_only = 1;
}

static int is_wanted(const char *op) {
    for (size_t i = 0; i < n_only; i++)
        if (!strcmp(only[i], op))
            return 1;
    return !only;
}

/* Returns 1 if the op of r has a kernel for a higher tier up to `best`. */
static int has_higher(const kernel_record *r, aoei_tier best) {
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (!strcmp(records[i].op, r->op) && records[i].tier > r->tier && records[i].tier <= best &&
            aoei_cpu_has(records[i].tier))
            return 1;
    return 0;
}

void kernel_each_tier(const char *op, kernel_tier_fn fn) {
    aoei_tier best = AOEI_TIER_C;
    size_t run = 0;
    assert_int_equal(aoei_cpu_tier(&best, NULL), 0);
    if (!is_wanted(op))
        return;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        kernel_record *r = &records[i];
        if (strcmp(r->op, op) != 0)
            continue;
        if (r->tier > best || !aoei_cpu_has(r->tier)) {
            print_message("SKIP: %s: this CPU or AOE_CPU does not support tier %s\n", op, aoei_tier_name(r->tier));
            continue;
        }
        if (highest_only && has_higher(r, best))
            continue;
        current = r;
        r->runs++;
        r->failed++; /* if the test fails, fn does not return, and the call remains counted as failed */
        fn(aoei_kernel_tables[r->tier]);
        r->failed--;
        current = NULL;
        run++;
    }
    assert_true(run > 0);
}

const kernel_record *kernel_records(size_t *n) {
    *n = sizeof records / sizeof *records;
    return records;
}

void kernel_compared(double error, double bound) {
    if (!current)
        return;
    const double share = error > 0 ? error / bound : 0;
    current->comparisons++;
    current->worst = share > current->worst ? share : current->worst;
}

double kernel_tolerance(const char *op) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].op, op))
            return ops[i].tolerance;
    fail_msg("unknown op %s: it is not in kernels.def", op);
    return 0;
}

int kernel_guards(void) {
    const char *text = getenv("AOE_TEST_GUARDS");
    return !text || strcmp(text, "0") != 0;
}

size_t kernel_every(void) {
    const char *text = getenv("AOE_TEST_EVERY");
    const size_t every = text ? strtoull(text, NULL, 10) : 1;
    return every ? every : 1;
}

uint64_t kernel_seed(void) {
    const char *text = getenv("AOE_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

aoei_rng kernel_rng(const char *test) {
    const uint64_t seed = kernel_seed();
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

static kernel_matrix make(aoei_rng *r, size_t rows, size_t cols, size_t after) {
    kernel_matrix m = {.rows = rows, .cols = cols};
    m.ld = cols + (aoei_rng_below(r, 2) ? kernel_size(r, 1, 19) : 0);
    const size_t before = MARGIN + aoei_rng_below(r, 16);
    m.floats = before + (rows ? (rows - 1) * m.ld + cols : 0) + after;
    /* the block has no spare bytes, so that a sanitizer detects a read after its end */
    m.block = malloc(m.floats * sizeof(float));
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
        const size_t at = i - before; /* wraps around to a huge number if i < before */
        const int inside = i >= before && at / m->ld < m->rows && at % m->ld < m->cols;
        if (!inside && bits_of(m->block + i) != CANARY)
            fail_msg("%s [%zu, %zu] with stride %zu: a write outside the matrix, at float %td from its start", what,
                     m->rows, m->cols, m->ld, (ptrdiff_t)i - (ptrdiff_t)before);
        if (inside && written && bits_of(m->block + i) == POISON)
            fail_msg("%s [%zu, %zu]: row %zu column %zu was not written", what, m->rows, m->cols, at / m->ld,
                     at % m->ld);
    }
}

void kernel_free(kernel_matrix *m) {
    free(m->block);
    memset(m, 0, sizeof *m);
}

void kernel_check_value(float value, double expected, double bound, const char *what, size_t row, size_t col) {
    kernel_compared(fabs((double)value - expected), bound);
    if (!(fabs((double)value - expected) <= bound))
        fail_msg("%s: row %zu column %zu is %.9g, expected %.12g within %.3g", what, row, col, (double)value, expected,
                 bound);
}

float kernel_stored(const aoei_kernels *k, aoei_dtype type, float x) {
    if (type == AOEI_F32)
        return x;
#if AOEI_X86_64
    if (k->tier >= AOEI_TIER_AVX512BF16 && fabsf(x) < FLT_MIN)
        return copysignf(0, x);
#else
    (void)k;
#endif
    return aoei_bf16_to_f32(aoei_bf16_from_f32(x));
}

void kernel_check_bits(float value, float expected, const char *what, size_t row, size_t col) {
    kernel_compared(0, 0);
    if (bits_of(&value) != bits_of(&expected))
        fail_msg("%s: row %zu column %zu is %.9g, expected the bits of %.9g", what, row, col, (double)value,
                 (double)expected);
}

aoei_gelu_f32_fn *kernel_activation(const aoei_kernels *k, aoei_activation activation) {
    aoei_gelu_f32_fn *const all[] = {[AOEI_GELU] = k->gelu_f32,
                                     [AOEI_GELU_TANH] = k->gelu_tanh_f32,
                                     [AOEI_SILU] = k->silu_f32,
                                     [AOEI_RELU] = k->relu_f32,
                                     [AOEI_QUICK_GELU] = k->quick_gelu_f32};
    return all[activation];
}

aoei_gelu_grad_f32_fn *kernel_activation_grad(const aoei_kernels *k, aoei_activation activation) {
    aoei_gelu_grad_f32_fn *const all[] = {[AOEI_GELU] = k->gelu_grad_f32,
                                          [AOEI_GELU_TANH] = k->gelu_tanh_grad_f32,
                                          [AOEI_SILU] = k->silu_grad_f32,
                                          [AOEI_RELU] = k->relu_grad_f32,
                                          [AOEI_QUICK_GELU] = k->quick_gelu_grad_f32};
    return all[activation];
}
