/* SPDX-License-Identifier: MIT
 * covers: kernels/convert_c kernels/convert_simd
 * Tests the bf16 row operations of every instruction set. The expected result is computed with the float32 operation of
 * the same instruction set, on the operands converted to float32. If the bf16 operation stores its result as bf16, the
 * expected result is rounded once. Results are compared bit for bit. The conversion from float32 to bf16 is compared
 * with base/bf16.h for all values of the upper 16 bits of a float32. (Other files compare the float32 operations with
 * double precision.)
 *
 * An array ends at an inaccessible page, so that reading or writing after its end fails. The elements before the array
 * are canaries (NaN), which must not change. The elements of the array are initially canaries also.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 64 + 1, FRONT = 32 };
#define CANARY ((aoei_bf16)0x7fca)

/* An array of n bf16 elements that ends at an inaccessible page. The elements are initially canaries. */
typedef struct bf16_array {
    aoei_bf16 *data; /* [n] */
    size_t n, bytes;
    unsigned char *block; /* memory mapping, owned */
} bf16_array;

static bf16_array bf16_array_create(size_t n) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (n + FRONT) * sizeof(aoei_bf16);
    bf16_array h = {.n = n, .bytes = (used + page - 1) / page * page + page};
    h.block = mmap(NULL, h.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(h.block != MAP_FAILED);
    if (kernel_guards())
        assert_int_equal(mprotect(h.block + h.bytes - page, page, PROT_NONE), 0);
    h.data = (aoei_bf16 *)(void *)(h.block + h.bytes - page - n * sizeof(aoei_bf16));
    for (size_t i = 0; i < FRONT + n; i++)
        h.data[(ptrdiff_t)i - FRONT] = CANARY;
    return h;
}

/* Returns the values of s rounded to bf16. Also rounds the values in s itself. */
static bf16_array bf16_array_of(test_span *s) {
    bf16_array h = bf16_array_create(s->n);
    for (size_t i = 0; i < s->n; i++) {
        h.data[i] = aoei_bf16_from_f32(s->data[i]);
        s->data[i] = aoei_bf16_to_f32(h.data[i]);
    }
    return h;
}

static void bf16_array_free(bf16_array *h) {
    for (size_t i = 0; i < FRONT; i++)
        assert_int_equal(h->data[(ptrdiff_t)i - FRONT], CANARY);
    munmap(h->block, h->bytes);
}

/* Asserts that `got` is `want` rounded to bf16. If both are NaN, their bits may differ. */
static void check_rounded(const aoei_bf16 *got, const float *want, size_t n) {
    kernel_compared(0, 0);
    for (size_t i = 0; i < n; i++) {
        const aoei_bf16 w = aoei_bf16_from_f32(want[i]);
        if (got[i] != w && !(isnan(want[i]) && isnan(aoei_bf16_to_f32(got[i]))))
            fail_msg("element %zu of %zu is %04x, expected %04x (%a)", i, n, got[i], w, (double)want[i]);
    }
}

static test_span normals(size_t n, double sd, unsigned substream) {
    test_span s = test_span_normal(n, 0, sd, substream);
    for (size_t i = 0; i < n; i++)
        if (i % 7 == 3)
            s.data[i] = test_specials[(i / 7) % test_n_specials];
    return s;
}

/* ---- conversions */

static void conversions(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++) {
        test_span x = normals(n, 3, 1), converted = test_span_create(n, 0);
        bf16_array h = bf16_array_create(n);
        k->to_bf16(h.data, x.data, n);
        check_rounded(h.data, x.data, n);
        k->from_bf16(converted.data, h.data, n);
        for (size_t i = 0; i < n; i++)
            x.data[i] = aoei_bf16_to_f32(h.data[i]);
        test_same_floats(converted.data, x.data, n);
        bf16_array_free(&h);
        test_span_free(&x);
        test_span_free(&converted);
    }
}

/* Tests rounding of all values of the upper 16 bits of a float32. The lower 16 bits are at and around the tie
 * 0x8000. */
static void all_roundings(const aoei_kernels *k) {
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { N = 256 * 6 };
    float x[N];
    aoei_bf16 y[N];
    for (uint32_t high = 0; high < 65536; high += 256) {
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t bits = (high + i / 6) << 16 | low[i % 6];
            memcpy(x + i, &bits, sizeof bits);
        }
        k->to_bf16(y, x, N);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(y[i], aoei_bf16_from_f32(x[i]));
    }
    kernel_compared(0, 0);
}

static void all_conversions(const aoei_kernels *k) {
    static aoei_bf16 x[65536];
    static float y[65536];
    for (size_t i = 0; i < 65536; i++)
        x[i] = (aoei_bf16)i;
    k->from_bf16(y, x, 65536);
    for (uint32_t i = 0; i < 65536; i++) {
        uint32_t bits;
        memcpy(&bits, y + i, sizeof bits);
        assert_int_equal(bits, i << 16);
    }
    kernel_compared(0, 0);
}

/* Tests the conversion of int8 rows for all int8 values, all lengths, and scales with the smallest and largest
 * exponents. */
static void int8_rows(const aoei_kernels *k) {
    static const float scale[] = {1, 0, 0.0123456789f, 0x1p-126f, 0x1.8p120f};
    int8_t x[LONGEST + 256];
    for (size_t i = 0; i < LONGEST + 256; i++)
        x[i] = (int8_t)((i * 37) % 255 - 127);
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t s = 0; s < 5; s++) {
            test_span got = test_span_create(n, 0), want = test_span_create(n, 0);
            const int8_t *from = x + n % 256;
            k->from_int8(got.data, from, scale[s], n);
            for (size_t i = 0; i < n; i++)
                want.data[i] = (float)from[i] * scale[s];
            test_same_floats(got.data, want.data, n);
            test_span_free(&got);
            test_span_free(&want);
        }
}

static void test_conversions(void **state) {
    (void)state;
    kernel_each_tier("from_int8", int8_rows);
    kernel_each_tier("to_bf16", conversions);
    kernel_each_tier("from_bf16", conversions);
    kernel_each_tier("to_bf16", all_roundings);
    kernel_each_tier("from_bf16", all_conversions);
}

/* ---- activations */

typedef struct pair_of_ops {
    void (*bf16)(aoei_bf16 *, const aoei_bf16 *, size_t);
    void (*f32)(float *, const float *, size_t);
} pair_of_ops;

/* Tests an operation with every bf16 value as input. */
static void check_all_arguments(pair_of_ops o) {
    static aoei_bf16 x[65536];
    static float y[65536];
    for (size_t i = 0; i < 65536; i++) {
        x[i] = (aoei_bf16)i;
        y[i] = aoei_bf16_to_f32(x[i]);
    }
    o.f32(y, y, 65536);
    o.bf16(x, x, 65536);
    check_rounded(x, y, 65536);
}

static void check_activation(pair_of_ops o) {
    check_all_arguments(o);
    for (size_t n = 0; n <= LONGEST; n++) {
        test_span x = normals(n, 3, 2), y = test_span_create(n, 0);
        bf16_array h = bf16_array_of(&x), out = bf16_array_create(n);
        o.bf16(out.data, h.data, n);
        o.f32(y.data, x.data, n);
        check_rounded(out.data, y.data, n);
        o.bf16(h.data, h.data, n); /* in place */
        check_rounded(h.data, y.data, n);
        bf16_array_free(&h);
        bf16_array_free(&out);
        test_span_free(&x);
        test_span_free(&y);
    }
}

static void gelu(const aoei_kernels *k) {
    check_activation((pair_of_ops){k->gelu_bf16, k->gelu_f32});
}

static void gelu_tanh(const aoei_kernels *k) {
    check_activation((pair_of_ops){k->gelu_tanh_bf16, k->gelu_tanh_f32});
}

static void test_activations(void **state) {
    (void)state;
    kernel_each_tier("gelu_bf16", gelu);
    kernel_each_tier("gelu_tanh_bf16", gelu_tanh);
}

/* ---- dropout */

static void dropout(const aoei_kernels *k) {
    const aoei_dropout_row d = {.key = {5, 6}, .counter = {0, 7, 8, 9}, .threshold = 0x40000000, .scale = 4.0f / 3};
    for (size_t n = 0; n <= LONGEST; n++) {
        test_span x = normals(n, 2, 3), r = normals(n, 2, 4), y = test_span_create(n, 0), plain = normals(n, 2, 5);
        bf16_array out = bf16_array_create(n);
        k->dropout_to_bf16(out.data, plain.data, &d, n);
        k->dropout_f32(y.data, plain.data, NULL, &d, n);
        check_rounded(out.data, y.data, n);
        bf16_array hx = bf16_array_of(&x), hr = bf16_array_of(&r);
        k->dropout_bf16(out.data, hx.data, NULL, &d, n);
        k->dropout_f32(y.data, x.data, NULL, &d, n);
        check_rounded(out.data, y.data, n);
        k->dropout_f32(y.data, x.data, r.data, &d, n);
        k->dropout_bf16(out.data, hx.data, hr.data, &d, n);
        check_rounded(out.data, y.data, n);
        k->dropout_bf16(hx.data, hx.data, hr.data, &d, n); /* the output is in the memory of x */
        check_rounded(hx.data, y.data, n);
        bf16_array again = bf16_array_of(&x);
        k->dropout_bf16(hr.data, again.data, hr.data, &d, n); /* the output is in the memory of the residual */
        check_rounded(hr.data, y.data, n);
        bf16_array_free(&again);
        bf16_array *all[] = {&out, &hx, &hr};
        for (size_t i = 0; i < 3; i++)
            bf16_array_free(all[i]);
        test_span *spans[] = {&x, &r, &y, &plain};
        for (size_t i = 0; i < 4; i++)
            test_span_free(spans[i]);
    }
}

static void test_dropout(void **state) {
    (void)state;
    kernel_each_tier("dropout_bf16", dropout);
    kernel_each_tier("dropout_to_bf16", dropout);
}

/* ---- LayerNorm and RMSNorm of rows [rows, cols], with and without padding between rows */

typedef struct rows_trial {
    size_t rows, cols, ld;
    test_span x, dy, gamma, beta, stats;
    bf16_array hx;
} rows_trial;

static rows_trial rows_create(size_t rows, size_t cols, unsigned seed) {
    rows_trial t = {.rows = rows, .cols = cols, .ld = cols + seed % 3};
    const size_t n = (rows - 1) * t.ld + cols;
    t.x = test_span_normal(n, 0, 2, seed);
    t.dy = test_span_normal(n, 0, 1, seed + 1);
    t.gamma = test_span_normal(cols, 0, 1, seed + 2);
    t.beta = test_span_normal(cols, 0, 1, seed + 3);
    t.stats = test_span_create(2 * rows, 0);
    t.hx = bf16_array_of(&t.x);
    return t;
}

static void rows_free(rows_trial *t) {
    test_span *spans[] = {&t->x, &t->dy, &t->gamma, &t->beta, &t->stats};
    for (size_t i = 0; i < 5; i++)
        test_span_free(spans[i]);
    bf16_array_free(&t->hx);
}

static void each_rows(const aoei_kernels *k, void (*fn)(const aoei_kernels *k, rows_trial *t)) {
    for (size_t cols = 1; cols <= LONGEST; cols++) {
        rows_trial t = rows_create(1 + cols % 5, cols, (unsigned)(10 * cols));
        fn(k, &t);
        rows_free(&t);
    }
    rows_trial t = rows_create(3, 768, 5000);
    fn(k, &t);
    rows_free(&t);
    for (size_t i = 0; i < test_n_specials; i++) { /* the middle row contains one special value */
        t = rows_create(3, 33 + i, (unsigned)(6000 + i));
        t.x.data[t.ld + i] = test_specials[i];
        bf16_array_free(&t.hx);
        t.hx = bf16_array_of(&t.x);
        fn(k, &t);
        rows_free(&t);
    }
}

static void check_rows_rounded(const rows_trial *t, const bf16_array *got, const test_span *want) {
    for (size_t r = 0; r < t->rows; r++)
        check_rounded(got->data + r * t->ld, want->data + r * t->ld, t->cols);
}

/* Asserts that the padding between rows is unchanged. */
static void check_gaps(const rows_trial *t, const bf16_array *y, const test_span *dx) {
    for (size_t r = 0; r + 1 < t->rows; r++)
        for (size_t i = t->cols; i < t->ld; i++) {
            assert_int_equal(y->data[r * t->ld + i], CANARY);
            assert_true(isnan(dx->data[r * t->ld + i]));
        }
}

static void check_rows_equal(const rows_trial *t, const test_span *got, const test_span *want) {
    for (size_t r = 0; r < t->rows; r++)
        test_same_floats(got->data + r * t->ld, want->data + r * t->ld, t->cols);
}

static void layernorm_rows(const aoei_kernels *k, rows_trial *t) {
    test_span y = test_span_create(t->x.n, 0), stats = test_span_create(2 * t->rows, 0);
    test_span dx = test_span_create(t->x.n, 0), want = test_span_create(t->x.n, 0);
    bf16_array hy = bf16_array_create(t->x.n);
    k->layernorm_f32(y.data, t->ld, t->stats.data, t->x.data, t->ld, t->gamma.data, t->beta.data, 1e-5f, t->rows,
                     t->cols);
    k->layernorm_bf16(hy.data, t->ld, stats.data, t->hx.data, t->ld, t->gamma.data, t->beta.data, 1e-5f, t->rows,
                      t->cols);
    check_rows_rounded(t, &hy, &y);
    test_same_floats(stats.data, t->stats.data, 2 * t->rows);
    k->layernorm_grad_f32(want.data, t->ld, t->dy.data, t->ld, t->x.data, t->ld, stats.data, t->gamma.data, t->rows,
                          t->cols);
    k->layernorm_grad_bf16(dx.data, t->ld, t->dy.data, t->ld, t->hx.data, t->ld, stats.data, t->gamma.data, t->rows,
                           t->cols);
    check_rows_equal(t, &dx, &want);
    check_gaps(t, &hy, &dx);
    test_span g0 = test_span_normal(t->cols, 0, 1, 1), b0 = test_span_normal(t->cols, 0, 1, 2);
    test_span g1 = test_span_normal(t->cols, 0, 1, 1), b1 = test_span_normal(t->cols, 0, 1, 2);
    k->layernorm_param_grad_f32(g0.data, b0.data, t->dy.data, t->ld, t->x.data, t->ld, stats.data, t->rows, t->cols);
    k->layernorm_param_grad_bf16(g1.data, b1.data, t->dy.data, t->ld, t->hx.data, t->ld, stats.data, t->rows, t->cols);
    test_same_floats(g1.data, g0.data, t->cols);
    test_same_floats(b1.data, b0.data, t->cols);
    k->layernorm_grad_bf16(t->dy.data, t->ld, t->dy.data, t->ld, t->hx.data, t->ld, stats.data, t->gamma.data, t->rows,
                           t->cols);
    check_rows_equal(t, &t->dy, &want); /* the output is in the memory of the input */
    k->layernorm_bf16(t->hx.data, t->ld, NULL, t->hx.data, t->ld, t->gamma.data, t->beta.data, 1e-5f, t->rows, t->cols);
    /* the output is in the memory of the input, and the call has no output for the statistics */
    check_rows_rounded(t, &t->hx, &y);
    test_span *spans[] = {&y, &stats, &dx, &want, &g0, &b0, &g1, &b1};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        test_span_free(spans[i]);
    bf16_array_free(&hy);
}

static void layernorm(const aoei_kernels *k) {
    each_rows(k, layernorm_rows);
}

static void test_layernorm(void **state) {
    (void)state;
    kernel_each_tier("layernorm_bf16", layernorm);
    kernel_each_tier("layernorm_grad_bf16", layernorm);
    kernel_each_tier("layernorm_param_grad_bf16", layernorm);
}

static void rmsnorm_rows(const aoei_kernels *k, rows_trial *t) {
    test_span y = test_span_create(t->x.n, 0), stats = test_span_create(t->rows, 0);
    test_span dx = test_span_create(t->x.n, 0), want = test_span_create(t->x.n, 0);
    bf16_array hy = bf16_array_create(t->x.n);
    k->rmsnorm_f32(y.data, t->ld, t->stats.data, t->x.data, t->ld, t->gamma.data, 1e-6f, t->rows, t->cols);
    k->rmsnorm_bf16(hy.data, t->ld, stats.data, t->hx.data, t->ld, t->gamma.data, 1e-6f, t->rows, t->cols);
    check_rows_rounded(t, &hy, &y);
    test_same_floats(stats.data, t->stats.data, t->rows);
    k->rmsnorm_grad_f32(want.data, t->ld, t->dy.data, t->ld, t->x.data, t->ld, stats.data, t->gamma.data, t->rows,
                        t->cols);
    k->rmsnorm_grad_bf16(dx.data, t->ld, t->dy.data, t->ld, t->hx.data, t->ld, stats.data, t->gamma.data, t->rows,
                         t->cols);
    check_rows_equal(t, &dx, &want);
    check_gaps(t, &hy, &dx);
    test_span g0 = test_span_normal(t->cols, 0, 1, 1), g1 = test_span_normal(t->cols, 0, 1, 1);
    k->rmsnorm_param_grad_f32(g0.data, t->dy.data, t->ld, t->x.data, t->ld, stats.data, t->rows, t->cols);
    k->rmsnorm_param_grad_bf16(g1.data, t->dy.data, t->ld, t->hx.data, t->ld, stats.data, t->rows, t->cols);
    test_same_floats(g1.data, g0.data, t->cols);
    k->rmsnorm_grad_bf16(t->dy.data, t->ld, t->dy.data, t->ld, t->hx.data, t->ld, stats.data, t->gamma.data, t->rows,
                         t->cols);
    check_rows_equal(t, &t->dy, &want); /* the output is in the memory of the input */
    k->rmsnorm_bf16(t->hx.data, t->ld, NULL, t->hx.data, t->ld, t->gamma.data, 1e-6f, t->rows, t->cols);
    /* the output is in the memory of the input, and the call has no output for the statistics */
    check_rows_rounded(t, &t->hx, &y);
    test_span *spans[] = {&y, &stats, &dx, &want, &g0, &g1};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        test_span_free(spans[i]);
    bf16_array_free(&hy);
}

static void rmsnorm(const aoei_kernels *k) {
    each_rows(k, rmsnorm_rows);
}

static void test_rmsnorm(void **state) {
    (void)state;
    kernel_each_tier("rmsnorm_bf16", rmsnorm);
    kernel_each_tier("rmsnorm_grad_bf16", rmsnorm);
    kernel_each_tier("rmsnorm_param_grad_bf16", rmsnorm);
}

static void sum_rows(const aoei_kernels *k, rows_trial *t) {
    test_span got = test_span_normal(t->cols, 0, 1, 6), want = test_span_normal(t->cols, 0, 1, 6);
    k->column_sum_f32(want.data, t->x.data, t->ld, t->rows, t->cols);
    k->column_sum_bf16(got.data, t->hx.data, t->ld, t->rows, t->cols);
    test_same_floats(got.data, want.data, t->cols);
    test_span_free(&got);
    test_span_free(&want);
}

static void column_sum(const aoei_kernels *k) {
    each_rows(k, sum_rows);
}

static void test_column_sum(void **state) {
    (void)state;
    kernel_each_tier("column_sum_bf16", column_sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conversions), cmocka_unit_test(test_activations),
                                       cmocka_unit_test(test_dropout),     cmocka_unit_test(test_layernorm),
                                       cmocka_unit_test(test_rmsnorm),     cmocka_unit_test(test_column_sum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
