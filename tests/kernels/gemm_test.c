/* SPDX-License-Identifier: MIT
 * The float32 product in every tier. Each element is compared twice: with the
 * chain that kernels.h promises, bit for bit, whatever the shape, the layout of
 * the operands, packing and blocks; and with the exact sum in double, within
 * the bound (K + 4) u (|scale| (sum |a||b| + |c|) + |bias|) times the tolerance
 * of kernels.def: a rounding for each step of the chain, two in tier c whose
 * second term is in the 4, one for the scale and one for the bias.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/support.h"

/* How an operand lies in memory. */
typedef enum layout { LAYOUT_ROWS, LAYOUT_COLUMNS, LAYOUT_BOTH_STRIDED, LAYOUT_COUNT } layout;

typedef struct operand {
    kernel_matrix m;
    size_t row, col; /* strides */
} operand;

typedef struct product {
    size_t M, N, K;
    layout a_layout, b_layout;
    int packed, accumulate, bias, scale, gelu;
} product;

static float *scratch; /* [AOEI_GEMM_SCRATCH] */

static operand make_operand(aoei_rng *r, size_t rows, size_t cols, layout l) {
    operand o = {0};
    if (l == LAYOUT_ROWS) {
        o.m = kernel_input(r, rows, cols);
        o.row = o.m.ld;
        o.col = 1;
    } else if (l == LAYOUT_COLUMNS) {
        o.m = kernel_input(r, cols, rows);
        o.row = 1;
        o.col = o.m.ld;
    } else {
        o.m = kernel_input(r, rows, cols ? 3 * cols - 2 : 0);
        o.row = o.m.ld;
        o.col = 3;
    }
    return o;
}

static float element(const operand *o, size_t i, size_t j) {
    return o->m.data[i * o->row + j * o->col];
}

/* The chain of one element in the rounding of the tier. */
static float chain(const aoei_kernels *k, float start, const operand *a, const operand *b, size_t m, size_t n, size_t K) {
    float c = start;
    for (size_t i = 0; i < K; i++) {
        const float x = element(a, m, i), y = element(b, i, n);
        c = k->tier == AOEI_TIER_C ? x * y + c : fmaf(x, y, c);
    }
    return c;
}

static void check_element(const aoei_kernels *k, const aoei_gemm_f32 *g, const operand *a, const operand *b,
                          const kernel_matrix *before, size_t m, size_t n) {
    const float start = g->accumulate ? before->data[m * before->ld + n] : 0;
    float want = chain(k, start, a, b, m, n, g->K) * g->scale;
    double exact = (double)start, size = fabs((double)start);
    for (size_t i = 0; i < g->K; i++) {
        const double p = (double)element(a, m, i) * (double)element(b, i, n);
        exact += p;
        size += fabs(p);
    }
    exact *= (double)g->scale;
    size *= fabs((double)g->scale);
    if (g->bias) {
        want += g->bias[n];
        exact += (double)g->bias[n];
        size += fabs((double)g->bias[n]);
    }
    const float got = g->c[m * g->c_row + n];
    kernel_check_bits(got, want, "product", m, n);
    kernel_check_value(got, exact, kernel_tolerance("gemm_f32") * ((double)g->K + 4) * KERNEL_ROUNDOFF * size, "product", m, n);
}

/* gelu(C) is what the tier's gelu_f32 makes of a whole row of C. */
static void check_gelu(const aoei_kernels *k, const aoei_gemm_f32 *g) {
    float *row = malloc((g->N + 1) * sizeof(float));
    assert_non_null(row);
    for (size_t m = 0; m < g->M; m++) {
        k->gelu_f32(row, g->c + m * g->c_row, g->N);
        for (size_t n = 0; n < g->N; n++)
            kernel_check_bits(g->gelu[m * g->gelu_row + n], row[n], "gelu", m, n);
    }
    free(row);
}

static void check_product(const aoei_kernels *k, aoei_rng *r, const product *p) {
    operand a = make_operand(r, p->M, p->K, p->a_layout), b = make_operand(r, p->K, p->N, p->b_layout);
    kernel_matrix c = kernel_output(r, p->M, p->N), gelu = kernel_output(r, p->M, p->N), bias = kernel_input(r, 1, p->N);
    kernel_matrix before = kernel_input(r, p->M, p->N);
    for (size_t m = 0; p->accumulate && m < p->M; m++)
        memcpy(c.data + m * c.ld, before.data + m * before.ld, p->N * sizeof(float));
    aoei_gemm_f32 g = {.M = p->M,
                       .N = p->N,
                       .K = p->K,
                       .a = a.m.data,
                       .a_row = a.row,
                       .a_col = a.col,
                       .b = b.m.data,
                       .b_row = b.row,
                       .b_col = b.col,
                       .c = c.data,
                       .c_row = c.ld,
                       .accumulate = p->accumulate,
                       .bias = p->bias ? bias.data : NULL,
                       .scale = p->scale && !p->accumulate ? 0.37f : 1,
                       .gelu = p->gelu ? gelu.data : NULL,
                       .gelu_row = gelu.ld};
    kernel_matrix packed = kernel_output(r, 1, k->gemm_f32_packed_size(p->K, p->N));
    if (p->packed) {
        for (size_t n = 0; n < p->N; n += AOEI_GEMM_PANEL)
            k->gemm_f32_pack(packed.data, b.m.data, b.row, b.col, p->K, n,
                             n + AOEI_GEMM_PANEL < p->N ? n + AOEI_GEMM_PANEL : p->N);
        kernel_check_canaries(&packed, "packed", 1);
        g.packed = packed.data;
        g.b = NULL;
    }
    k->gemm_f32(&g, scratch);
    kernel_check_canaries(&c, "C", 1);
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < p->N; n++)
            check_element(k, &g, &a, &b, &before, m, n);
    kernel_check_canaries(&gelu, "gelu", p->gelu);
    if (p->gelu)
        check_gelu(k, &g);
    kernel_matrix *all[] = {&a.m, &b.m, &c, &gelu, &bias, &before, &packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kernel_free(all[i]);
}

/* A product of random layout and options. */
static product random_product(aoei_rng *r, size_t M, size_t N, size_t K) {
    return (product){.M = M,
                     .N = N,
                     .K = K,
                     .a_layout = (layout)aoei_rng_below(r, LAYOUT_COUNT),
                     .b_layout = (layout)aoei_rng_below(r, LAYOUT_COUNT),
                     .packed = (int)aoei_rng_below(r, 2),
                     .accumulate = (int)aoei_rng_below(r, 2),
                     .bias = (int)aoei_rng_below(r, 2),
                     .scale = (int)aoei_rng_below(r, 2),
                     .gelu = aoei_rng_below(r, 4) == 0};
}

/* Largest blocks of any tier: rows 270, columns of a panel 32, K 512. */
enum { SWEEP_M = 2 * 270 + 1, SWEEP_N = 2 * 32 + 1, SWEEP_K = 2 * 512 + 1 };

static void sweep(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t M = 1; M <= SWEEP_M; M++) {
        product p = random_product(&r, M, kernel_size(&r, 1, 20), kernel_size(&r, 1, 20));
        check_product(k, &r, &p);
    }
    for (size_t N = 1; N <= SWEEP_N; N++) {
        product p = random_product(&r, kernel_size(&r, 1, 40), N, kernel_size(&r, 1, 40));
        check_product(k, &r, &p);
    }
    for (size_t K = 0; K <= SWEEP_K; K++) {
        product p = random_product(&r, kernel_size(&r, 1, 16), kernel_size(&r, 1, 10), K);
        check_product(k, &r, &p);
    }
    for (int i = 0; i < 60; i++) {
        product p = random_product(&r, kernel_size(&r, 1, 100), kernel_size(&r, 1, 100), kernel_size(&r, 1, 100));
        check_product(k, &r, &p);
    }
}

static void test_shapes(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", sweep);
}

/* Every layout of both operands with every option, on tiles that are full and on tiles that are not. */
static void all_options(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (unsigned i = 0; i < LAYOUT_COUNT * LAYOUT_COUNT * 32; i++) {
        const unsigned bits = i / (LAYOUT_COUNT * LAYOUT_COUNT);
        product p = {.M = kernel_size(&r, 1, 31),
                     .N = kernel_size(&r, 1, 70),
                     .K = kernel_size(&r, 1, 24),
                     .a_layout = (layout)(i % LAYOUT_COUNT),
                     .b_layout = (layout)(i / LAYOUT_COUNT % LAYOUT_COUNT),
                     .packed = bits & 1,
                     .accumulate = bits >> 1 & 1,
                     .bias = bits >> 2 & 1,
                     .scale = bits >> 3 & 1,
                     .gelu = bits >> 4 & 1};
        check_product(k, &r, &p);
    }
}

static void test_options(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", all_options);
}

/* x w^T in one call, over C of fixed stride; rows [m0, m1) and K [k0, k1) of it. */
typedef struct layer {
    const kernel_matrix *x, *w;
    const float *packed;
} layer;

static void multiply(const aoei_kernels *k, const layer *l, kernel_matrix *c, size_t m0, size_t m1, size_t k0, size_t k1,
                     int accumulate) {
    k->gemm_f32(&(aoei_gemm_f32){.M = m1 - m0,
                                 .N = c->cols,
                                 .K = k1 - k0,
                                 .a = l->x->data + m0 * l->x->ld + k0,
                                 .a_row = l->x->ld,
                                 .a_col = 1,
                                 .b = l->w->data + k0,
                                 .b_row = 1,
                                 .b_col = l->w->ld,
                                 .packed = l->packed,
                                 .c = c->data + m0 * c->ld,
                                 .c_row = c->ld,
                                 .accumulate = accumulate,
                                 .scale = 1},
                scratch);
}

static void check_same(const kernel_matrix *got, const kernel_matrix *want, const char *what) {
    for (size_t m = 0; m < want->rows; m++)
        for (size_t n = 0; n < want->cols; n++)
            kernel_check_bits(got->data[m * got->ld + n], want->data[m * want->ld + n], what, m, n);
}

/* One large product against itself in pieces: rows alone and in groups, two halves of K, packed. */
static void pieces(const aoei_kernels *k) {
    enum { M = 560, N = 75, K = 1100 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    kernel_matrix x = kernel_input(&r, M, K), w = kernel_input(&r, N, K), whole = kernel_output(&r, M, N);
    kernel_matrix packed = kernel_output(&r, 1, k->gemm_f32_packed_size(K, N));
    k->gemm_f32_pack(packed.data, w.data, 1, w.ld, K, 0, N);
    const layer plain = {.x = &x, .w = &w}, ready = {.x = &x, .w = &w, .packed = packed.data};
    multiply(k, &plain, &whole, 0, M, 0, K, 0);

    static const struct {
        const char *what;
        size_t rows; /* of a call */
        int packed;
    } cases[] = {{"packed", M, 1},
                 {"rows alone", 1, 0},
                 {"rows alone, packed", 1, 1},
                 {"groups of 17", 17, 0},
                 {"groups of 300", 300, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernel_matrix c = kernel_output(&r, M, N);
        for (size_t m = 0; m < M; m += cases[i].rows)
            multiply(k, cases[i].packed ? &ready : &plain, &c, m, m + cases[i].rows < M ? m + cases[i].rows : M, 0, K, 0);
        check_same(&c, &whole, cases[i].what);
        kernel_free(&c);
    }
    for (size_t half = 0; half <= K; half += 275) {
        kernel_matrix c = kernel_output(&r, M, N);
        multiply(k, &plain, &c, 0, M, 0, half, 0);
        multiply(k, &plain, &c, 0, M, half, K, 1);
        check_same(&c, &whole, "two halves of K");
        kernel_free(&c);
    }
    kernel_matrix *all[] = {&x, &w, &whole, &packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kernel_free(all[i]);
}

static void test_pieces(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", pieces);
}

/* A NaN or an infinity reaches its own row or column only, and NaN in C is not read unless it is accumulated onto. */
static void specials(const aoei_kernels *k) {
    enum { M = 37, N = 75, K = 20 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    kernel_matrix x = kernel_input(&r, M, K), w = kernel_input(&r, N, K), c = kernel_output(&r, M, N);
    x.data[5 * x.ld + 3] = NAN;
    w.data[70 * w.ld + 19] = INFINITY;
    const layer l = {.x = &x, .w = &w};
    multiply(k, &l, &c, 0, M, 0, K, 0);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            const float v = c.data[m * c.ld + n];
            assert_int_equal(isnan(v) != 0, m == 5);
            assert_int_equal(isinf(v) != 0, m != 5 && n == 70);
        }
    kernel_matrix *all[] = {&x, &w, &c};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kernel_free(all[i]);
}

static void test_specials_stay(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32", specials);
}

/* The three gemm kernels of a tier work on one packed form, so they come together. */
static void own_pack(const aoei_kernels *k) {
    const size_t floats = k->gemm_f32_packed_size(10, 33);
    assert_true(floats >= 330 && floats % 10 == 0);
    assert_int_equal(k->gemm_f32_packed_size(10, AOEI_GEMM_PANEL), 10 * AOEI_GEMM_PANEL);
    assert_int_equal(k->gemm_f32_packed_size(0, 5), 0);
}

static void test_packed_size(void **state) {
    (void)state;
    kernel_each_tier("gemm_f32_packed_size", own_pack);
    kernel_each_tier("gemm_f32_pack", own_pack);
}

static int setup(void **state) {
    (void)state;
    scratch = aligned_alloc(64, AOEI_GEMM_SCRATCH * sizeof(float));
    if (scratch)
        memset(scratch, 0xff, AOEI_GEMM_SCRATCH * sizeof(float)); /* NaN */
    return scratch ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    free(scratch);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_specials_stay),
                                       cmocka_unit_test(test_packed_size)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
