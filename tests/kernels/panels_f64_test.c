/* SPDX-License-Identifier: MIT
 * covers: kernels/gemm_f64_block kernels/gemm_f64_c kernels/gemm_f64_simd kernels/score_c kernels/score_simd
 * Tests the float64 kernels of every instruction set. Matmuls in both layouts, for all sizes up to two blocks and one
 * element, are compared bit for bit with a loop that adds the products in the documented order. Sums and weights of
 * scores, and the exponential over its whole range, are compared with long double. The padding of the panels contains
 * NaN, and an inaccessible page follows the matrix.
 *
 * The error bounds are in units of eps = 2^-52. Rounding s - max changes exp(s - max) by at most a factor of 1 + |s -
 * max| / 2 eps. Each addition of positive terms contributes half an eps of the sum. The tolerance in kernels.def covers
 * exp and the multiplication by a weight.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { P = AOEI_PANEL_F64, MOST = 2 * P + 1, MOST_K = 2 * 4 * P + 1 };

static const double EPS = 0x1p-52;

/* A matrix stored in panels of P columns. A panel starts `panel` doubles after the previous panel. */
typedef struct matrix {
    test_span span; /* aligned to 8 bytes only, because the kernels must accept unaligned panels */
    double *x;
    size_t rows, cols, panel;
} matrix;

static double *at(const matrix *m, size_t r, size_t c) {
    return m->x + c / P * m->panel + r * P + c % P;
}

static matrix create(aoei_rng *r, size_t rows, size_t cols) {
    matrix m = {.rows = rows, .cols = cols, .panel = (rows + kernel_size(r, 0, 3)) * P};
    const size_t panels = (cols + P - 1) / P, n = panels ? (panels - 1) * m.panel + rows * P : 0;
    m.span = test_span_create(2 * n, 2 * kernel_size(r, 0, 7));
    m.x = (double *)(void *)m.span.data;
    for (size_t i = 0; i < n; i++)
        m.x[i] = NAN;
    return m;
}

static matrix random_matrix(aoei_rng *r, size_t rows, size_t cols) {
    matrix m = create(r, rows, cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            *at(&m, i, j) = 2 * aoei_rng_uniform(r) - 1;
    return m;
}

/* Asserts that the padding rows of the panels are still NaN. If `columns_too` is set, also asserts that the padding
 * columns of the last panel are NaN. */
static void check_gaps(const matrix *m, int columns_too) {
    test_span_check(&m->span);
    for (size_t c = 0; c < (m->cols + P - 1) / P * P; c++) {
        const int last = c / P == (m->cols - 1) / P; /* the last panel has no padding rows */
        for (size_t r = c < m->cols || !columns_too ? m->rows : 0; r < (last ? m->rows : m->panel / P); r++)
            assert_true(isnan(*at(m, r, c)));
    }
}

static int equal(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_product(const aoei_kernels *k, aoei_rng *r, size_t M, size_t N, size_t K) {
    const int transposed = (int)aoei_rng_below(r, 2), accumulate = (int)aoei_rng_below(r, 2);
    matrix a = transposed ? random_matrix(r, K, M) : random_matrix(r, M, K), b = random_matrix(r, K, N);
    matrix before = random_matrix(r, M, N), c = create(r, M, N);
    for (size_t i = 0; accumulate && i < M; i++)
        for (size_t j = 0; j < N; j++)
            *at(&c, i, j) = *at(&before, i, j);
    k->gemm_f64(&(aoei_gemm_f64){.M = M,
                                 .N = N,
                                 .K = K,
                                 .a = a.x,
                                 .a_panel = a.panel,
                                 .b = b.x,
                                 .b_panel = b.panel,
                                 .c = c.x,
                                 .c_panel = c.panel,
                                 .transposed = transposed,
                                 .accumulate = accumulate});
    check_gaps(&c, 0);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double chain = accumulate ? *at(&before, i, j) : 0;
            long double exact = chain, size = fabs(chain);
            for (size_t l = 0; l < K; l++) {
                const double x = transposed ? *at(&a, l, i) : *at(&a, i, l), y = *at(&b, l, j);
                chain = k->tier == AOEI_TIER_C ? x * y + chain : fma(x, y, chain);
                exact += (long double)x * y;
                size += fabsl((long double)x * y);
            }
            if (!equal(*at(&c, i, j), chain))
                fail_msg("%s: [%zu, %zu, %zu] row %zu column %zu is %.17g, expected %.17g", aoei_tier_name(k->tier), M,
                         N, K, i, j, *at(&c, i, j), chain);
            assert_true(fabsl(*at(&c, i, j) - exact) <=
                        kernel_tolerance("gemm_f64") * (double)(K + 1) * (long double)EPS / 2 * size);
        }
    matrix *all[] = {&a, &b, &c, &before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_span_free(&all[i]->span);
}

static void products(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t i = 0; i < 3; i++) {
        for (size_t M = 1; M <= MOST; M += kernel_every())
            check_product(k, &r, M, kernel_size(&r, 1, 30), kernel_size(&r, 1, 60));
        for (size_t N = 1; N <= MOST; N += kernel_every())
            check_product(k, &r, kernel_size(&r, 1, 30), N, kernel_size(&r, 1, 60));
        for (size_t K = 0; K <= MOST_K; K += kernel_every())
            check_product(k, &r, kernel_size(&r, 1, 18), kernel_size(&r, 1, 30), K);
    }
    for (size_t i = 0; i < 20; i++)
        check_product(k, &r, kernel_size(&r, 1, 130), kernel_size(&r, 1, 130), kernel_size(&r, 1, 250));
}

static void test_products(void **state) {
    (void)state;
    kernel_each_tier("gemm_f64", products);
}

/* Returns random scores of queries (rows) and candidates (columns). Some scores are -infinity, which means that the
 * query is not compared with the candidate. The first score of a row or column is finite. */
static matrix random_scores(aoei_rng *r, size_t rows, size_t cols) {
    matrix m = random_matrix(r, rows, cols);
    for (size_t i = 1; i < rows; i++)
        for (size_t j = 1; j < cols; j++)
            if (aoei_rng_below(r, 5) == 0)
                *at(&m, i, j) = -INFINITY;
    return m;
}

/* Compares the maximum `max` of the n scores scale * x[i], and the sum of exp(scale * x[i] - max), with long double. */
static void check_sums(const aoei_kernels *k, const char *op, const double *x, size_t n, double scale, double max,
                       double sum) {
    long double want = 0, slack = 0;
    double top = -INFINITY;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, x[i] * scale);
    assert_true(equal(max, top));
    for (size_t i = 0; i < n; i++) {
        const long double below = (long double)top - (long double)(x[i] * scale), e = expl(-below);
        want += e;
        slack += e > 0 ? e * (kernel_tolerance(op) + below / 2) : 0;
    }
    if (!(fabsl(sum - want) <= (slack + (double)n / 2 * want) * EPS))
        fail_msg("%s %s: the sum of %zu terms is %.17g, expected %.20Lg", op, aoei_tier_name(k->tier), n, sum, want);
}

static void sums_of_one(const aoei_kernels *k, aoei_rng *r, size_t rows, size_t cols) {
    const double scale = aoei_rng_below(r, 2) ? 20 : 1000;
    matrix m = random_scores(r, rows, cols);
    double x[MOST];
    const aoei_scores_f64 b = {.x = m.x, .panel = m.panel, .rows = rows, .cols = cols, .scale = scale};
    double row_max[MOST + 1], row_sum[MOST + 1], column_max[MOST + 1], column_sum[MOST + 1], alone_max, alone_sum;
    row_max[rows] = row_sum[rows] = column_max[cols] = column_sum[cols] = 77;
    k->row_sums_f64(&b, row_max, row_sum);
    k->column_sums_f64(&b, column_max, column_sum);
    assert_true(row_max[rows] == 77 && row_sum[rows] == 77 && column_max[cols] == 77 && column_sum[cols] == 77);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            x[j] = *at(&m, i, j);
        check_sums(k, "row_sums_f64", x, cols, scale, row_max[i], row_sum[i]);
        const aoei_scores_f64 row = {.x = m.x + i * P, .panel = m.panel, .rows = 1, .cols = cols, .scale = scale};
        k->row_sums_f64(&row, &alone_max, &alone_sum); /* the result must not depend on other rows */
        assert_true(equal(alone_max, row_max[i]) && equal(alone_sum, row_sum[i]));
    }
    for (size_t j = 0; j < cols; j++) {
        for (size_t i = 0; i < rows; i++)
            x[i] = *at(&m, i, j);
        check_sums(k, "column_sums_f64", x, rows, scale, column_max[j], column_sum[j]);
    }
    check_gaps(&m, 1);
    test_span_free(&m.span);
}

static void sums(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t n = 1; n <= MOST; n++) {
        sums_of_one(k, &r, n, kernel_size(&r, 1, MOST));
        sums_of_one(k, &r, kernel_size(&r, 1, MOST), n);
    }
}

static void test_sums(void **state) {
    (void)state;
    kernel_each_tier("row_sums_f64", sums);
    kernel_each_tier("column_sums_f64", sums);
}

static void weights_of_one(const aoei_kernels *k, aoei_rng *r, size_t rows, size_t cols) {
    const double scale = 20;
    matrix m = random_scores(r, rows, cols), before = create(r, rows, cols);
    test_span spans[4];
    double *v[4]; /* [0] row weights, [1] row logarithms, [2] column weights, [3] column logarithms */
    for (size_t s = 0; s < 4; s++) {
        const size_t n = s < 2 ? rows : cols;
        spans[s] = test_span_create(2 * n, 2 * kernel_size(r, 0, 3));
        v[s] = (double *)(void *)spans[s].data;
        for (size_t i = 0; i < n; i++)
            v[s][i] = s % 2 ? 20 + 3 * aoei_rng_uniform(r) : 1 + (double)aoei_rng_below(r, 3);
    }
    v[0][rows / 2] = 0; /* a row with weight 0, as for a text that is not the query of any loss term */
    v[1][rows / 2] = INFINITY;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            *at(&before, i, j) = *at(&m, i, j);
    k->score_weights_f64(&(aoei_scores_f64){.x = m.x, .panel = m.panel, .rows = rows, .cols = cols, .scale = scale},
                         v[0], v[1], v[2], v[3]);
    check_gaps(&m, 1);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const long double s = *at(&before, i, j) * scale;
            const long double across = v[0][i] > 0 ? v[0][i] * expl(s - v[1][i]) : 0,
                              down = v[2][j] * expl(s - v[3][j]);
            const long double tolerance = kernel_tolerance("score_weights_f64");
            const long double bound = across + down > 0
                                          ? across * (tolerance + fabsl(s - (v[0][i] > 0 ? v[1][i] : s)) / 2) +
                                                down * (tolerance + fabsl(s - v[3][j]) / 2)
                                          : 0;
            if (!(fabsl(*at(&m, i, j) - (across + down)) <= bound * EPS))
                fail_msg("%s: weight %zu, %zu is %.17g, expected %.20Lg", aoei_tier_name(k->tier), i, j, *at(&m, i, j),
                         across + down);
        }
    for (size_t s = 0; s < 4; s++)
        test_span_free(&spans[s]);
    test_span_free(&m.span);
    test_span_free(&before.span);
}

static void weights(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t n = 1; n <= MOST; n++) {
        weights_of_one(k, &r, n, kernel_size(&r, 1, MOST));
        weights_of_one(k, &r, kernel_size(&r, 1, MOST), n);
    }
}

static void test_weights(void **state) {
    (void)state;
    kernel_each_tier("score_weights_f64", weights);
}

/* Replaces x[i] by exp(x[i]), which is the result of score_weights_f64 for a row weight of 1 with the logarithm 0. */
static void exponential_of(const aoei_kernels *k, double *x, size_t n) {
    const double one = 1, zero = 0, none[P] = {0};
    double absent[P];
    for (size_t i = 0; i < P; i++)
        absent[i] = INFINITY;
    k->score_weights_f64(&(aoei_scores_f64){.x = x, .panel = P, .rows = 1, .cols = n, .scale = 1}, &one, &zero, none,
                         absent);
}

static void exponential(const aoei_kernels *k) {
    double worst = 0, x[P], e[P];
    for (double from = -760; from < 712; from += P * 0x1.3p-10) {
        for (size_t i = 0; i < P; i++)
            e[i] = x[i] = from + (double)i * 0x1.3p-10;
        exponential_of(k, e, P);
        for (size_t i = 0; i < P; i++) {
            const long double want = expl(x[i]);
            if (want > (long double)DBL_MAX) {
                assert_true(e[i] == INFINITY || (x[i] < 709.7828 && e[i] >= DBL_MAX));
                continue;
            }
            assert_true(fabsl(e[i] - want) <= EPS * want * 0.75 + 0x1p-1074);
            if (x[i] > -700)
                worst = fmax(worst, (double)(fabsl(e[i] - want) / (want * EPS)));
        }
    }
    print_message("exp in tier %s: error of at most %.3f eps\n", aoei_tier_name(k->tier), worst);
    const double in[] = {0, -0.0, INFINITY, -INFINITY, NAN, -1e300, 1e300};
    const double out[] = {1, 1, INFINITY, 0, NAN, 0, INFINITY};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        double y[P] = {in[i]};
        exponential_of(k, y, 1);
        /* the kernel also computes x[i] - INFINITY for the absent columns, which is NaN if x[i] is infinite */
        if (isnan(out[i]) || in[i] == INFINITY)
            assert_true(isnan(y[0]));
        else
            assert_true(equal(y[0], out[i]));
    }
}

static void test_exponential(void **state) {
    (void)state;
    kernel_each_tier("score_weights_f64", exponential);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_exponential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
