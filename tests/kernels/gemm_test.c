/* SPDX-License-Identifier: MIT
 * The products of both types in every tier. Each element is compared twice: where the order of the
 * chain is promised (float32, and bf16 emulated on it) with that chain, bit for bit, whatever the shape, the layout of
 * the operands, packing, blocks and epilogue; and with the exact sum in double, within
 * the bound (K + 4) u (|scale| (sum |a||b| + |c|) + |bias|) times the tolerance
 * of kernels.def: a rounding for each step of the chain, two in tier c whose
 * second term is in the 4, one for the scale and one for the bias. Operands of the bf16 product are exact in
 * float32, so the bound is the same; a bf16 C adds half a unit of its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/support.h"

/* How an operand lies in memory. */
typedef enum layout { LAYOUT_ROWS, LAYOUT_COLUMNS, LAYOUT_BOTH_STRIDED, LAYOUT_COUNT } layout;

/* A matrix of either type inside a block that is canaries elsewhere; `m` is its float32 twin. */
typedef struct operand {
    kernel_matrix m;
    size_t row, col; /* strides */
    aoei_dtype type;
    aoei_bf16 *half; /* owned; bf16: [m.floats], the twin rounded, canaries rounded, too */
    void *data;      /* of the type, where m.data is in its block */
} operand;

typedef struct product {
    aoei_dtype type, c_type;
    size_t M, N, K;
    layout a_layout, b_layout;
    int packed, accumulate, bias, scale;
    aoei_activation activation;
    int pre, gate, residual;
} product;

static float *scratch; /* [AOEI_GEMM_SCRATCH] */

/* Gives the twin's values to the operand in its type, and to the twin what they became. */
static void settle(operand *o, aoei_dtype type) {
    o->type = type;
    o->data = o->m.data;
    if (type == AOEI_F32)
        return;
    o->half = malloc((o->m.floats + 1) * sizeof *o->half);
    assert_non_null(o->half);
    for (size_t i = 0; i < o->m.floats; i++)
        o->half[i] = aoei_bf16_from_f32(o->m.block[i]);
    for (size_t i = 0; i < o->m.rows; i++)
        for (size_t j = 0; j < o->m.cols; j++)
            o->m.data[i * o->m.ld + j] = aoei_bf16_to_f32(aoei_bf16_from_f32(o->m.data[i * o->m.ld + j]));
    o->data = o->half + (o->m.data - o->m.block);
}

static operand make_operand(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols, layout l) {
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
    settle(&o, type);
    return o;
}

static operand make_output(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols) {
    operand o = {.m = kernel_output(r, rows, cols), .col = 1};
    o.row = o.m.ld;
    settle(&o, type);
    return o;
}

/* Reads what was written back into the twin, canaries and all, and checks them. */
static void collect(operand *o, const char *what, int written) {
    if (o->type == AOEI_BF16)
        for (size_t i = 0; i < o->m.floats; i++) {
            const aoei_bf16 was = aoei_bf16_from_f32(o->m.block[i]);
            if (o->half[i] != was)
                o->m.block[i] = aoei_bf16_to_f32(o->half[i]);
        }
    kernel_check_canaries(&o->m, what, written);
}

static void free_operand(operand *o) {
    kernel_free(&o->m);
    free(o->half);
}

static float element(const operand *o, size_t i, size_t j) {
    return o->m.data[i * o->row + j * o->col];
}

static float in_type(aoei_dtype type, float x) {
    return type == AOEI_BF16 ? aoei_bf16_to_f32(aoei_bf16_from_f32(x)) : x;
}

/* 1 when the order of the chain is a + b after the other. */
static int is_plain_chain(const aoei_kernels *k, aoei_dtype type) {
    return type == AOEI_F32 || k->tier < AOEI_TIER_AVX512BF16;
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

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

/* Room of `bytes`, 64-byte aligned, with guards behind it. */
typedef struct room {
    unsigned char *data; /* owned */
    size_t bytes;
} room;

static room room_create(size_t bytes) {
    room p = {aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64), bytes};
    assert_non_null(p.data);
    memset(p.data, GUARD_BYTE, bytes + GUARD);
    return p;
}

static void room_free(room *p) {
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(p->data[p->bytes + i], GUARD_BYTE);
    free(p->data);
}

/* Everything of one product. */
typedef struct trial {
    const aoei_kernels *k;
    const product *p;
    aoei_product g;
    operand a, b, c, pre, gate, residual, before;
    kernel_matrix bias;
    room packed;
} trial;

static float activated(const trial *t, float x) {
    float y = x;
    if (t->p->activation == AOEI_GELU)
        t->k->gelu_f32(&y, &x, 1);
    else if (t->p->activation == AOEI_GELU_TANH)
        t->k->gelu_tanh_f32(&y, &x, 1);
    return y;
}

static float gated(const trial *t, float f, float x) {
    float y = f;
    if (t->p->activation == AOEI_GELU)
        t->k->gelu_grad_f32(&y, &f, &x, 1);
    else if (t->p->activation == AOEI_GELU_TANH)
        t->k->gelu_tanh_grad_f32(&y, &f, &x, 1);
    return y;
}

/* What the epilogue makes of f; *pre: the value before the activation. */
static float finish(const trial *t, float f, size_t m, size_t n, float *pre) {
    const product *p = t->p;
    float x = f;
    if (p->gate) {
        x = gated(t, f, element(&t->gate, m, n));
    } else if (p->activation != AOEI_IDENTITY) {
        *pre = in_type(p->c_type, f);
        x = activated(t, *pre);
    }
    if (p->residual)
        x += element(&t->residual, m, n);
    return in_type(p->c_type, x);
}

static void check_element(const trial *t, size_t m, size_t n) {
    const product *p = t->p;
    const float start = p->accumulate ? element(&t->before, m, n) : 0;
    float f = chain(t->k, start, &t->a, &t->b, m, n, p->K) * t->g.scale;
    double exact = (double)start, size = fabs((double)start);
    for (size_t i = 0; i < p->K; i++) {
        const double v = (double)element(&t->a, m, i) * (double)element(&t->b, i, n);
        exact += v;
        size += fabs(v);
    }
    exact *= (double)t->g.scale;
    size *= fabs((double)t->g.scale);
    if (p->bias) {
        f += t->g.bias[n];
        exact += (double)t->g.bias[n];
        size += fabs((double)t->g.bias[n]);
    }
    const float got = element(&t->c, m, n);
    float pre = 0;
    const float want = finish(t, f, m, n, &pre);
    if (is_plain_chain(t->k, p->type)) {
        kernel_check_bits(got, want, "product", m, n);
        if (p->pre)
            kernel_check_bits(element(&t->pre, m, n), pre, "value before the activation", m, n);
    }
    const char *op = p->type == AOEI_BF16 ? "gemm_bf16" : "gemm_f32";
    const double bound = kernel_tolerance(op) * ((double)p->K + 4) * KERNEL_ROUNDOFF * size;
    /* the derivatives of the activations are at most 1.13 in size; a bf16 argument is rounded before it goes in */
    const double slack = p->c_type == AOEI_BF16 ? (fabs((double)want) + fabs(exact)) / 256 + 1e-30 : 0;
    if (p->activation == AOEI_IDENTITY && !p->residual)
        kernel_check_value(got, exact, bound + slack, "product", m, n);
    else
        kernel_check_value(got, (double)want, 1.2 * 2 * bound + slack + 4e-6 * (1 + fabs((double)want)), "product", m, n);
}

static void multiply_trial(trial *t) {
    const int bf16 = t->p->type == AOEI_BF16;
    aoei_gemm_pack_fn *pack = bf16 ? t->k->gemm_bf16_pack : t->k->gemm_f32_pack;
    for (size_t n = 0; t->p->packed && n < t->p->N; n += AOEI_GEMM_PANEL) {
        const size_t end = n + AOEI_GEMM_PANEL < t->p->N ? n + AOEI_GEMM_PANEL : t->p->N;
        /* a bf16 product packs from float32, too: every other panel does */
        const int from_f32 = !bf16 || n / AOEI_GEMM_PANEL % 2;
        pack(t->packed.data, from_f32 ? t->b.m.data : t->b.data, from_f32 ? AOEI_F32 : AOEI_BF16, t->b.row, t->b.col, t->p->K,
             n, end);
    }
    (bf16 ? t->k->gemm_bf16 : t->k->gemm_f32)(&t->g, scratch);
}

static void check_product(const aoei_kernels *k, aoei_rng *r, const product *p) {
    trial t = {.k = k, .p = p};
    t.a = make_operand(r, p->type, p->M, p->K, p->a_layout);
    t.b = make_operand(r, p->type, p->K, p->N, p->b_layout);
    t.c = make_output(r, p->c_type, p->M, p->N);
    t.pre = make_output(r, p->c_type, p->M, p->N);
    t.gate = make_operand(r, p->c_type, p->M, p->N, LAYOUT_ROWS);
    t.residual = make_operand(r, p->c_type, p->M, p->N, LAYOUT_ROWS);
    t.before = make_operand(r, AOEI_F32, p->M, p->N, LAYOUT_ROWS);
    t.bias = kernel_input(r, 1, p->N);
    const size_t bytes = (p->type == AOEI_BF16 ? k->gemm_bf16_packed_size : k->gemm_f32_packed_size)(p->K, p->N);
    t.packed = room_create(bytes);
    for (size_t m = 0; p->accumulate && m < p->M; m++)
        memcpy(t.c.m.data + m * t.c.row, t.before.m.data + m * t.before.row, p->N * sizeof(float));
    t.g = (aoei_product){.M = p->M,
                         .N = p->N,
                         .K = p->K,
                         .a = t.a.data,
                         .a_row = t.a.row,
                         .a_col = t.a.col,
                         .b = p->packed ? NULL : t.b.data,
                         .b_row = t.b.row,
                         .b_col = t.b.col,
                         .packed = p->packed ? t.packed.data : NULL,
                         .c = t.c.data,
                         .c_row = t.c.row,
                         .c_type = p->c_type,
                         .accumulate = p->accumulate,
                         .scale = p->scale ? 0.37f : 1,
                         .bias = p->bias ? t.bias.data : NULL,
                         .activation = p->activation,
                         .pre = p->pre ? t.pre.data : NULL,
                         .pre_row = t.pre.row,
                         .gate = p->gate ? t.gate.data : NULL,
                         .gate_row = t.gate.row,
                         .residual = p->residual ? t.residual.data : NULL,
                         .residual_row = t.residual.row};
    multiply_trial(&t);
    collect(&t.c, "C", 1);
    collect(&t.pre, "value before the activation", p->pre);
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < p->N; n++)
            check_element(&t, m, n);
    operand *all[] = {&t.a, &t.b, &t.c, &t.pre, &t.gate, &t.residual, &t.before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free_operand(all[i]);
    kernel_free(&t.bias);
    room_free(&t.packed);
}

static aoei_dtype type_under_test; /* of the op that kernel_each_tier is at */

static int coin(aoei_rng *r) {
    return (int)aoei_rng_below(r, 2);
}

/* Options that go together: an accumulating product has no epilogue, a gate no value before it. */
static void choose_options(product *p, aoei_rng *r) {
    p->c_type = p->type == AOEI_BF16 && coin(r) ? AOEI_BF16 : AOEI_F32;
    p->packed = coin(r);
    p->accumulate = p->c_type == AOEI_F32 && coin(r);
    if (p->accumulate)
        return;
    p->bias = coin(r);
    p->scale = coin(r);
    p->activation = coin(r) ? AOEI_IDENTITY : coin(r) ? AOEI_GELU : AOEI_GELU_TANH;
    p->gate = p->activation != AOEI_IDENTITY && coin(r);
    p->pre = p->activation != AOEI_IDENTITY && !p->gate && coin(r);
    p->residual = coin(r);
}

/* A product of random layout and options. */
static product random_product(aoei_rng *r, size_t M, size_t N, size_t K) {
    product p = {.type = type_under_test,
                 .M = M,
                 .N = N,
                 .K = K,
                 .a_layout = (layout)aoei_rng_below(r, LAYOUT_COUNT),
                 .b_layout = (layout)aoei_rng_below(r, LAYOUT_COUNT)};
    choose_options(&p, r);
    return p;
}

static void each_type(void (*fn)(const aoei_kernels *k)) {
    type_under_test = AOEI_F32;
    kernel_each_tier("gemm_f32", fn);
    type_under_test = AOEI_BF16;
    kernel_each_tier("gemm_bf16", fn);
}

/* Largest blocks of any tier: rows 256, columns of a panel 32, words of K 512. */
enum { SWEEP_M = 2 * 256 + 1, SWEEP_N = 2 * 32 + 1, SWEEP_K = 2 * 512 + 1 };

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
    each_type(sweep);
}

/* Every layout of both operands with many mixtures of options, on tiles that are full and on tiles that are not. */
static void all_options(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (unsigned i = 0; i < LAYOUT_COUNT * LAYOUT_COUNT * 64; i++) {
        product p = random_product(&r, kernel_size(&r, 1, 31), kernel_size(&r, 1, 70), kernel_size(&r, 1, 70));
        p.a_layout = (layout)(i % LAYOUT_COUNT);
        p.b_layout = (layout)(i / LAYOUT_COUNT % LAYOUT_COUNT);
        check_product(k, &r, &p);
    }
}

static void test_options(void **state) {
    (void)state;
    each_type(all_options);
}

/* x w^T in one call, over a float32 C of fixed stride; rows [m0, m1) and K [k0, k1) of it. */
typedef struct layer {
    const operand *x, *w;
    const void *packed;
} layer;

static void multiply(const aoei_kernels *k, const layer *l, kernel_matrix *c, size_t m0, size_t m1, size_t k0, size_t k1,
                     int accumulate) {
    const size_t size = aoei_dtype_size(l->x->type);
    const aoei_product g = {.M = m1 - m0,
                            .N = c->cols,
                            .K = k1 - k0,
                            .a = (const unsigned char *)l->x->data + (m0 * l->x->row + k0) * size,
                            .a_row = l->x->row,
                            .a_col = 1,
                            .b = (const unsigned char *)l->w->data + k0 * size,
                            .b_row = 1,
                            .b_col = l->w->row,
                            .packed = l->packed,
                            .c = c->data + m0 * c->ld,
                            .c_row = c->ld,
                            .accumulate = accumulate,
                            .scale = 1};
    (l->x->type == AOEI_BF16 ? k->gemm_bf16 : k->gemm_f32)(&g, scratch);
}

static void check_same(const kernel_matrix *got, const kernel_matrix *want, const char *what) {
    for (size_t m = 0; m < want->rows; m++)
        for (size_t n = 0; n < want->cols; n++)
            kernel_check_bits(got->data[m * got->ld + n], want->data[m * want->ld + n], what, m, n);
}

/* One large product against itself in pieces: rows alone and in groups, two parts of K that end at multiples of 32, packed. */
static void pieces(const aoei_kernels *k) {
    enum { M = 560, N = 75, K = 1120 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    const int bf16 = type_under_test == AOEI_BF16;
    operand x = make_operand(&r, type_under_test, M, K, LAYOUT_ROWS), w = make_operand(&r, type_under_test, N, K, LAYOUT_ROWS);
    kernel_matrix whole = kernel_output(&r, M, N);
    room packed = room_create((bf16 ? k->gemm_bf16_packed_size : k->gemm_f32_packed_size)(K, N));
    (bf16 ? k->gemm_bf16_pack : k->gemm_f32_pack)(packed.data, w.data, w.type, 1, w.row, K, 0, N);
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
    for (size_t part = 0; part <= K; part += 224) {
        kernel_matrix c = kernel_output(&r, M, N);
        multiply(k, &plain, &c, 0, M, 0, part, 0);
        multiply(k, &plain, &c, 0, M, part, K, 1);
        check_same(&c, &whole, "two parts of K");
        kernel_free(&c);
    }
    free_operand(&x);
    free_operand(&w);
    kernel_free(&whole);
    room_free(&packed);
}

static void test_pieces(void **state) {
    (void)state;
    each_type(pieces);
}

/* A NaN or an infinity reaches its own row or column only, and NaN in C is not read unless it is accumulated onto. */
static void specials(const aoei_kernels *k) {
    enum { M = 37, N = 75, K = 20 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    operand x = make_operand(&r, AOEI_F32, M, K, LAYOUT_ROWS), w = make_operand(&r, AOEI_F32, N, K, LAYOUT_ROWS);
    kernel_matrix c = kernel_output(&r, M, N);
    x.m.data[5 * x.row + 3] = NAN;
    w.m.data[70 * w.row + 19] = INFINITY;
    settle(&x, type_under_test);
    settle(&w, type_under_test);
    const layer l = {.x = &x, .w = &w};
    multiply(k, &l, &c, 0, M, 0, K, 0);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            const float v = c.data[m * c.ld + n];
            assert_int_equal(isnan(v) != 0, m == 5);
            assert_int_equal(isinf(v) != 0, m != 5 && n == 70);
        }
    free_operand(&x);
    free_operand(&w);
    kernel_free(&c);
}

static void test_specials_stay(void **state) {
    (void)state;
    each_type(specials);
}

/* A bf16 C of long chains: they are not cut. */
static void long_chains(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    const size_t lengths[] = {3072, 4099, AOEI_GEMM_K_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        product p = {.type = AOEI_BF16, .c_type = AOEI_BF16, .M = 33, .N = 35, .K = lengths[i], .packed = i == 1};
        check_product(k, &r, &p);
    }
}

static void test_long_chains(void **state) {
    (void)state;
    kernel_each_tier("gemm_bf16", long_chains);
}

/* The three kernels of an op and tier work on one packed form, so they come together. */
static void own_pack(const aoei_kernels *k) {
    size_t (*size)(size_t, size_t) = type_under_test == AOEI_BF16 ? k->gemm_bf16_packed_size : k->gemm_f32_packed_size;
    const size_t element_size = aoei_dtype_size(type_under_test);
    assert_true(size(10, 33) >= 330 * element_size);
    assert_int_equal(size(64, 3 * AOEI_GEMM_PANEL), 3 * size(64, AOEI_GEMM_PANEL));
    assert_int_equal(size(0, 5), 0);
}

static void test_packed_size(void **state) {
    (void)state;
    type_under_test = AOEI_F32;
    kernel_each_tier("gemm_f32_packed_size", own_pack);
    kernel_each_tier("gemm_f32_pack", own_pack);
    type_under_test = AOEI_BF16;
    kernel_each_tier("gemm_bf16_packed_size", own_pack);
    kernel_each_tier("gemm_bf16_pack", own_pack);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes),      cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_pieces),      cmocka_unit_test(test_specials_stay),
                                       cmocka_unit_test(test_long_chains), cmocka_unit_test(test_packed_size)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
