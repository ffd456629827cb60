/* SPDX-License-Identifier: MIT
 * Checks for matmul kernels; see product_check.h.
 */
#include "kernel_check.h"
#include "product_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/kernel_table.h"
#include "support.h"

#if AOEI_X86_64
#include <immintrin.h>
#elif AOEI_ARM64
#include <arm_neon.h>
#endif

#define CANARY 0xca
#define POISON UINT16_C(0x7fde) /* the bits of a NaN in bf16; repeated twice, the bits of a NaN in float32 */
#define MARGIN ((size_t)64)     /* number of canary elements before a matrix and after an output */

/* Largest tested values of M, N and K. Each is twice the largest block of the kernels, plus 1. The largest blocks have
 * 270 rows, 128 columns and 768 values of k. The bf16 kernel for AMX has blocks of 512 rows, so fewer values of M are
 * tested. */
enum { AMX_SWEEP_M = 2 * 512 + 1 };
enum { SWEEP_M = 2 * 270 + 1, SWEEP_N = 2 * 128 + 1, SWEEP_K = 2 * 768 + 1 };
/* With a sanitizer, every fifth size is tested. These sizes include all remainders of a division by the size of a
 * block that a kernel keeps in registers, because no such size is a multiple of 5. */
enum { SWEEP_STEP = TEST_SANITIZED ? 5 : 1 };

float product_get(const product_matrix *m, size_t i, size_t j) {
    const size_t at = i * m->ld + j;
    return m->type == AOEI_BF16 ? aoei_bf16_to_f32(((const aoei_bf16 *)m->data)[at]) : ((const float *)m->data)[at];
}

void product_set(product_matrix *m, size_t i, size_t j, float x) {
    const size_t at = i * m->ld + j;
    if (m->type == AOEI_BF16)
        ((aoei_bf16 *)m->data)[at] = aoei_bf16_from_f32(x);
    else
        ((float *)m->data)[at] = x;
}

static product_matrix make(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols, size_t after) {
    product_matrix m = {.type = type, .rows = rows, .cols = cols};
    m.ld = cols + (aoei_rng_below(r, 2) ? kernel_size(r, 1, 19) : 0);
    const size_t before = MARGIN + aoei_rng_below(r, 32);
    m.bytes = (before + (rows ? (rows - 1) * m.ld + cols : 0) + after) * aoei_dtype_size(type);
    m.block = malloc(m.bytes); /* the block has no spare bytes, so that a sanitizer detects a read after its end */
    assert_non_null(m.block);
    memset(m.block, CANARY, m.bytes);
    m.data = m.block + before * aoei_dtype_size(type);
    return m;
}

product_matrix product_input(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols) {
    product_matrix m = make(r, type, rows, cols, 0);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            product_set(&m, i, j, (float)(2 * aoei_rng_uniform(r) - 1));
    return m;
}

product_matrix product_output(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols) {
    product_matrix m = make(r, type, rows, cols, MARGIN);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            product_set(&m, i, j, aoei_bf16_to_f32(POISON));
    return m;
}

void product_check_canaries(const product_matrix *m, const char *what, int written) {
    const size_t size = aoei_dtype_size(m->type), before = (size_t)((const unsigned char *)m->data - m->block);
    for (size_t i = 0; i < m->bytes; i++) {
        const size_t at = (i - before) / size; /* i - before wraps around to a huge number if i < before */
        const int inside = i >= before && at / m->ld < m->rows && at % m->ld < m->cols;
        if (!inside && m->block[i] != CANARY)
            fail_msg("%s [%zu, %zu] with stride %zu: a write outside the matrix, at byte %td from its start", what,
                     m->rows, m->cols, m->ld, (ptrdiff_t)i - (ptrdiff_t)before);
    }
    const float poison = aoei_bf16_to_f32(POISON);
    for (size_t i = 0; written && i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++) {
            const float x = product_get(m, i, j);
            if (!memcmp(&x, &poison, sizeof x))
                fail_msg("%s [%zu, %zu]: row %zu column %zu was not written", what, m->rows, m->cols, i, j);
        }
}

void product_free(product_matrix *m) {
    free(m->block);
    memset(m, 0, sizeof *m);
}

/* An operand of a product. The offset of element (i, j) is i * row + j * col. */
typedef struct operand {
    product_matrix m;
    size_t row, col; /* strides in elements */
} operand;

static operand make_operand(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols, product_layout l) {
    operand o = {.col = l == PRODUCT_STRIDED ? 3 : 1};
    if (l == PRODUCT_COLUMNS) {
        o.m = product_input(r, type, cols, rows);
        o.row = 1;
        o.col = o.m.ld;
    } else {
        o.m = product_input(r, type, rows, cols ? o.col * (cols - 1) + 1 : 0);
        o.row = o.m.ld;
    }
    return o;
}

static float element(const operand *o, size_t i, size_t j) {
    return product_get(&o->m, 0, i * o->row + j * o->col);
}

/* One row of A and one column of B, both contiguous. */
typedef struct terms {
    const float *a, *b; /* [K] */
    size_t K;
} terms;

/* Returns elements i and i + 1 of x[K] as a pair of bf16. An element after the last one is 0. */
AOEI_UNUSED static uint32_t pair_at(const float *x, size_t i, size_t K) {
    return aoei_bf16_from_f32(x[i]) | (uint32_t)(i + 1 < K ? aoei_bf16_from_f32(x[i + 1]) : 0) << 16;
}

/* Adds the terms to `start` in pairs of adjacent k, with an instruction of the CPU for each pair. On ARM64, the
 * instruction is BFDOT; the kernels use BFMMLA, which is defined to compute the same sums. */
#if AOEI_X86_64
AOEI_TARGET("avx512f,avx512vl,avx512bf16") static float pairwise_sum(float start, const terms *t) {
    __m128 sum = _mm_set_ss(start);
    for (size_t i = 0; i < t->K; i += 2) {
        const __m128i x = _mm_cvtsi32_si128((int)pair_at(t->a, i, t->K)),
                      y = _mm_cvtsi32_si128((int)pair_at(t->b, i, t->K));
        sum = _mm_dpbf16_ps(sum, (__m128bh)x, (__m128bh)y);
    }
    return _mm_cvtss_f32(sum);
}
#elif AOEI_ARM64
AOEI_TARGET("arch=armv8.2-a+bf16") static float pairwise_sum(float start, const terms *t) {
    float32x2_t sum = vdup_n_f32(start);
    for (size_t i = 0; i < t->K; i += 2) {
        const uint32x2_t x = vdup_n_u32(pair_at(t->a, i, t->K)), y = vdup_n_u32(pair_at(t->b, i, t->K));
        sum = vbfdot_f32(sum, vreinterpret_bf16_u32(x), vreinterpret_bf16_u32(y));
    }
    return vget_lane_f32(sum, 0);
}
#else
static float pairwise_sum(float start, const terms *t) {
    (void)t;
    fail_msg("this architecture has no tier with bf16 instructions");
    return start;
}
#endif

/* Computes one element of the product with the accumulation order and the rounding of the kernels k, and returns 1.
 * Returns 0 for bf16 with AMX, whose accumulation order is implemented in gemm_bf16_amx_test.c. */
static int expected_sum(const aoei_kernels *k, aoei_dtype type, float start, const terms *t, float *expected) {
    if (type == AOEI_BF16 && aoei_tier_has_tiles(k->tier))
        return 0;
    if (type == AOEI_BF16 && aoei_tier_bf16(k->tier)) {
        *expected = pairwise_sum(start, t);
        return 1;
    }
    *expected = start;
    for (size_t i = 0; i < t->K; i++)
        *expected = k->tier == AOEI_TIER_C ? t->a[i] * t->b[i] + *expected : fmaf(t->a[i], t->b[i], *expected);
    return 1;
}

static void check_sum(const aoei_kernels *k, aoei_dtype type, float got, float start, const terms *t, size_t m,
                      size_t n) {
    double exact = (double)start, size = fabs((double)start);
    float expected;
    for (size_t i = 0; i < t->K; i++) {
        const double p = (double)t->a[i] * (double)t->b[i];
        exact += p;
        size += fabs(p);
    }
    if (expected_sum(k, type, start, t, &expected))
        kernel_check_bits(got, expected, "product", m, n);
    const double tolerance = kernel_tolerance(type == AOEI_BF16 ? "gemm_bf16" : "gemm_f32");
    kernel_check_value(got, exact, tolerance * ((double)t->K + 4) * KERNEL_ROUNDOFF * size, "product", m, n);
}

static void check_sums(const aoei_kernels *k, aoei_dtype type, const operand *a, const operand *b,
                       const product_matrix *before, const product_matrix *sums, size_t K) {
    float *row = malloc((K + 1) * sizeof *row), *columns = malloc((sums->cols * K + 1) * sizeof *columns);
    assert_non_null(row);
    assert_non_null(columns);
    for (size_t n = 0; n < sums->cols; n++)
        for (size_t i = 0; i < K; i++)
            columns[n * K + i] = element(b, i, n);
    for (size_t m = 0; m < sums->rows; m++) {
        for (size_t i = 0; i < K; i++)
            row[i] = element(a, m, i);
        for (size_t n = 0; n < sums->cols; n++)
            check_sum(k, type, product_get(sums, m, n), before ? product_get(before, m, n) : 0,
                      &(terms){row, columns + n * K, K}, m, n);
    }
    free(row);
    free(columns);
}

static float *scratch(void) { /* [AOEI_GEMM_SCRATCH], initially NaN; allocated once */
    static float *memory;
    if (!memory) {
        memory = aligned_alloc(64, AOEI_GEMM_SCRATCH * sizeof(float));
        assert_non_null(memory);
        memset(memory, 0xff, AOEI_GEMM_SCRATCH * sizeof(float));
    }
    return memory;
}

static void multiply(const aoei_kernels *k, aoei_dtype type, const aoei_gemm_args *g) {
    (type == AOEI_BF16 ? k->gemm_bf16 : k->gemm_f32)(g, scratch());
}

/* Returns B in the packed format, 64-byte aligned. Asserts that packing writes nothing after the end. The caller frees
 * the result with free(). */
static void *pack(const aoei_kernels *k, aoei_dtype type, const void *b, aoei_dtype b_type, size_t b_row, size_t b_col,
                  size_t K, size_t N) {
    const size_t bytes = (type == AOEI_BF16 ? k->gemm_bf16_packed_size : k->gemm_f32_packed_size)(K, N);
    unsigned char *packed = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(packed);
    memset(packed, CANARY, (bytes + 127) / 64 * 64);
    for (size_t n = 0; n < N; n += AOEI_GEMM_PANEL)
        (type == AOEI_BF16 ? k->gemm_bf16_pack : k->gemm_f32_pack)(packed, b, b_type, b_row, b_col, K, n,
                                                                   n + AOEI_GEMM_PANEL < N ? n + AOEI_GEMM_PANEL : N);
    for (size_t i = bytes; i < (bytes + 127) / 64 * 64; i++)
        assert_int_equal(packed[i], CANARY);
    return packed;
}

/* Returns B in the packed format. If p->packed is 2, packs float32 values that round to the bf16 elements of B. */
static void *pack_operand(const aoei_kernels *k, aoei_dtype type, const operand *b, const product_case *p) {
    if (p->packed == 1)
        return pack(k, type, b->m.data, type, b->row, b->col, p->K, p->N);
    const size_t n = b->m.rows ? (b->m.rows - 1) * b->m.ld + b->m.cols : 0;
    float *rounded_up = malloc((n + 1) * sizeof *rounded_up);
    assert_non_null(rounded_up);
    /* changes each value by less than half a unit in the last place of bf16, so that it still rounds to the element of
     * B */
    for (size_t i = 0; i < n; i++) {
        const float x = aoei_bf16_to_f32(((const aoei_bf16 *)b->m.data)[i]);
        rounded_up[i] = x * (1.0f + (float)(i % 7) * 0x1p-12f);
    }
    void *packed = pack(k, type, rounded_up, AOEI_F32, b->row, b->col, p->K, p->N);
    free(rounded_up);
    return packed;
}

/* Outputs of a product with an epilogue, and the inputs of the epilogue. */
typedef struct extras {
    product_matrix c, pre, gate, residual;
    float *bias; /* [N], owned */
    product_matrix gate_before, residual_before;
} extras;

static product_matrix copy_of(aoei_rng *r, const product_matrix *m) {
    product_matrix c = product_input(r, m->type, m->rows, m->cols);
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->cols; j++)
            product_set(&c, i, j, product_get(m, i, j));
    return c;
}

static extras make_extras(aoei_rng *r, const product_case *p) {
    extras e = {.c = product_output(r, p->c_type, p->M, p->N), .pre = product_output(r, p->c_type, p->M, p->N)};
    e.gate = product_input(r, p->c_type, p->M, p->N);
    e.residual = product_input(r, p->c_type, p->M, p->N);
    e.bias = malloc((p->N + 1) * sizeof *e.bias);
    assert_non_null(e.bias);
    for (size_t n = 0; n < p->N; n++)
        e.bias[n] = (float)(2 * aoei_rng_uniform(r) - 1);
    for (size_t i = 0; i < p->M; i++)
        for (size_t j = 0; j < p->N; j++) {
            if (p->gate == PRODUCT_IS_C)
                product_set(&e.c, i, j, product_get(&e.gate, i, j));
            if (p->residual == PRODUCT_IS_C)
                product_set(&e.c, i, j, product_get(&e.residual, i, j));
        }
    e.gate_before = copy_of(r, &e.gate);
    e.residual_before = copy_of(r, &e.residual);
    return e;
}

static void free_extras(extras *e) {
    product_matrix *all[] = {&e->c, &e->pre, &e->gate, &e->residual, &e->gate_before, &e->residual_before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        product_free(all[i]);
    free(e->bias);
}

/* activate returns activation(x), and activate_backward returns gradient * activation'(x). They use the row kernels in
 * k. */
static float activate(const aoei_kernels *k, aoei_activation activation, float x) {
    float y = x;
    if (activation != AOEI_IDENTITY)
        kernel_activation(k, activation)(&y, &x, 1);
    return y;
}

static float activate_backward(const aoei_kernels *k, aoei_activation activation, float gradient, float x) {
    float y = gradient;
    if (activation != AOEI_IDENTITY)
        kernel_activation_grad(k, activation)(&y, &gradient, &x, 1);
    return y;
}

/* Applies the epilogue to `sums` as kernels.h specifies, and asserts that C and pre have the resulting bits. */
static void check_epilogue(const aoei_kernels *k, const product_case *p, const aoei_gemm_args *g, const extras *e,
                           const product_matrix *sums) {
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < p->N; n++) {
            float f = product_get(sums, m, n) * g->scale;
            if (g->bias)
                f += g->bias[n];
            if (g->gate) {
                f = activate_backward(k, p->activation, f, product_get(&e->gate_before, m, n));
            } else if (p->activation != AOEI_IDENTITY) {
                f = kernel_stored(k, p->c_type, f);
                if (g->pre)
                    kernel_check_bits(product_get(&e->pre, m, n), f, "pre", m, n);
                f = activate(k, p->activation, f);
            }
            if (g->residual)
                f += product_get(&e->residual_before, m, n);
            kernel_check_bits(product_get(&e->c, m, n), kernel_stored(k, p->c_type, f), "C", m, n);
        }
}

static void check_with_epilogue(const aoei_kernels *k, aoei_dtype type, aoei_rng *r, const product_case *p,
                                const aoei_gemm_args *plain, const product_matrix *sums) {
    extras e = make_extras(r, p);
    aoei_gemm_args g = *plain;
    g.c = e.c.data;
    g.c_row = e.c.ld;
    g.c_type = p->c_type;
    g.scale = p->scale ? 0.37f : 1;
    g.bias = p->bias ? e.bias : NULL;
    g.activation = p->activation;
    if (p->pre) {
        g.pre = e.pre.data;
        g.pre_row = e.pre.ld;
    }
    if (p->gate) {
        g.gate = p->gate == PRODUCT_IS_C ? e.c.data : e.gate.data;
        g.gate_row = p->gate == PRODUCT_IS_C ? e.c.ld : e.gate.ld;
    }
    if (p->residual) {
        g.residual = p->residual == PRODUCT_IS_C ? e.c.data : e.residual.data;
        g.residual_row = p->residual == PRODUCT_IS_C ? e.c.ld : e.residual.ld;
    }
    multiply(k, type, &g);
    product_check_canaries(&e.c, "C", 1);
    product_check_canaries(&e.pre, "pre", p->pre);
    check_epilogue(k, p, &g, &e, sums);
    free_extras(&e);
}

void product_check(const aoei_kernels *k, aoei_dtype type, aoei_rng *r, const product_case *p) {
    operand a = make_operand(r, type, p->M, p->K, p->a_layout), b = make_operand(r, type, p->K, p->N, p->b_layout);
    product_matrix sums = product_output(r, AOEI_F32, p->M, p->N), before = product_input(r, AOEI_F32, p->M, p->N);
    void *packed = p->packed ? pack_operand(k, type, &b, p) : NULL;
    for (size_t i = 0; p->accumulate && i < p->M; i++)
        for (size_t j = 0; j < p->N; j++)
            product_set(&sums, i, j, product_get(&before, i, j));
    const aoei_gemm_args plain = {.M = p->M,
                                  .N = p->N,
                                  .K = p->K,
                                  .a = a.m.data,
                                  .a_row = a.row,
                                  .a_col = a.col,
                                  .b = packed ? NULL : b.m.data,
                                  .b_row = b.row,
                                  .b_col = b.col,
                                  .packed = packed,
                                  .c = sums.data,
                                  .c_row = sums.ld,
                                  .accumulate = p->accumulate,
                                  .scale = 1};
    multiply(k, type, &plain);
    product_check_canaries(&sums, "product", 1);
    check_sums(k, type, &a, &b, p->accumulate ? &before : NULL, &sums, p->K);
    if (!p->accumulate)
        check_with_epilogue(k, type, r, p, &plain, &sums);
    product_matrix *all[] = {&a.m, &b.m, &sums, &before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        product_free(all[i]);
    free(packed);
}

/* Returns p with valid options: replaces combinations of options that kernels.h excludes. */
static product_case consistent(product_case p, aoei_dtype type) {
    if (type == AOEI_F32) {
        p.c_type = AOEI_F32;
        p.packed = p.packed != 0;
    }
    if (p.gate == PRODUCT_IS_C && p.residual == PRODUCT_IS_C)
        p.residual = PRODUCT_SEPARATE;
    p.pre = p.pre && p.activation != AOEI_IDENTITY && !p.gate;
    return p;
}

product_case product_random(aoei_rng *r, aoei_dtype type, size_t M, size_t N, size_t K) {
    product_case p = {.M = M,
                      .N = N,
                      .K = K,
                      .a_layout = (product_layout)aoei_rng_below(r, PRODUCT_LAYOUTS),
                      .b_layout = (product_layout)aoei_rng_below(r, PRODUCT_LAYOUTS),
                      .packed = (int)aoei_rng_below(r, 3),
                      .accumulate = aoei_rng_below(r, 4) == 0,
                      .c_type = aoei_rng_below(r, 3) ? AOEI_BF16 : AOEI_F32,
                      .scale = (int)aoei_rng_below(r, 2),
                      .bias = (int)aoei_rng_below(r, 2),
                      .pre = (int)aoei_rng_below(r, 2),
                      .activation = (aoei_activation)aoei_rng_below(r, AOEI_QUICK_GELU + 1),
                      .gate = (product_source)aoei_rng_below(r, PRODUCT_SOURCES),
                      .residual = (product_source)aoei_rng_below(r, PRODUCT_SOURCES)};
    return consistent(p, type);
}

void product_test_shapes(const aoei_kernels *k, aoei_dtype type) {
    const size_t every = kernel_every();
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t M = 1; M <= SWEEP_M; M += SWEEP_STEP * every) {
        product_case p = product_random(&r, type, M, kernel_size(&r, 1, 20), kernel_size(&r, 1, 20));
        product_check(k, type, &r, &p);
    }
    for (size_t M = SWEEP_M + 1; aoei_tier_has_tiles(k->tier) && M <= AMX_SWEEP_M;
         M += M % 512 < 3 ? 1 : kernel_size(&r, 1, 40)) {
        product_case p = product_random(&r, type, M, kernel_size(&r, 1, 20), kernel_size(&r, 1, 20));
        product_check(k, type, &r, &p);
    }
    for (size_t N = 1; N <= SWEEP_N; N += SWEEP_STEP * every) {
        product_case p = product_random(&r, type, N % 2 ? 1 : kernel_size(&r, 1, 30), N, kernel_size(&r, 1, 40));
        product_check(k, type, &r, &p);
    }
    for (size_t K = 0; K <= SWEEP_K; K += SWEEP_STEP * every) {
        product_case p = product_random(&r, type, kernel_size(&r, 1, 16), kernel_size(&r, 1, 10), K);
        product_check(k, type, &r, &p);
    }
    for (size_t i = 0; i < 60; i += every) {
        product_case p =
            product_random(&r, type, kernel_size(&r, 1, 100), kernel_size(&r, 1, 100), kernel_size(&r, 1, 100));
        product_check(k, type, &r, &p);
    }
}

void product_test_options(const aoei_kernels *k, aoei_dtype type) {
    const unsigned every = (unsigned)kernel_every();
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    enum { SOURCES = PRODUCT_SOURCES * PRODUCT_SOURCES, ALL = 2 * 2 * 2 * 2 * (AOEI_QUICK_GELU + 1) * SOURCES };
    for (unsigned i = 0; i < ALL; i += every) {
        const unsigned bits = i / SOURCES;
        const product_case p = {.M = kernel_size(&r, 1, 31),
                                .N = kernel_size(&r, 1, 70),
                                .K = kernel_size(&r, 1, 24),
                                .a_layout = (product_layout)aoei_rng_below(&r, PRODUCT_LAYOUTS),
                                .b_layout = (product_layout)aoei_rng_below(&r, PRODUCT_LAYOUTS),
                                .packed = (int)aoei_rng_below(&r, 3),
                                .c_type = bits & 1 ? AOEI_BF16 : AOEI_F32,
                                .scale = bits >> 1 & 1,
                                .bias = bits >> 2 & 1,
                                .pre = bits >> 3 & 1,
                                .activation = (aoei_activation)(bits >> 4),
                                .gate = (product_source)(i % PRODUCT_SOURCES),
                                .residual = (product_source)(i / PRODUCT_SOURCES % PRODUCT_SOURCES)};
        const product_case fitting = consistent(p, type);
        product_check(k, type, &r, &fitting);
    }
    for (unsigned i = 0; i < PRODUCT_LAYOUTS * PRODUCT_LAYOUTS * 3 * 2; i += every) {
        product_case p =
            product_random(&r, type, kernel_size(&r, 1, 31), kernel_size(&r, 1, 70), kernel_size(&r, 1, 24));
        p.a_layout = (product_layout)(i % PRODUCT_LAYOUTS);
        p.b_layout = (product_layout)(i / PRODUCT_LAYOUTS % PRODUCT_LAYOUTS);
        p.packed = (int)(i / PRODUCT_LAYOUTS / PRODUCT_LAYOUTS % 3);
        p.accumulate = i >= PRODUCT_LAYOUTS * PRODUCT_LAYOUTS * 3;
        p = consistent(p, type);
        product_check(k, type, &r, &p);
    }
}

/* The linear layer x w^T. */
typedef struct layer {
    aoei_dtype type;
    const product_matrix *x, *w;
    const void *packed; /* w^T in the packed format; NULL: the kernel reads w */
} layer;

/* Computes rows [m0, m1) of c in one call, with only the values [k0, k1) of k. */
static void multiply_part(const aoei_kernels *k, const layer *l, product_matrix *c, size_t m0, size_t m1, size_t k0,
                          size_t k1, int accumulate, const product_matrix *residual) {
    const size_t size = aoei_dtype_size(l->type), c_size = aoei_dtype_size(c->type);
    multiply(k, l->type,
             &(aoei_gemm_args){.M = m1 - m0,
                               .N = c->cols,
                               .K = k1 - k0,
                               .a = (const unsigned char *)l->x->data + (m0 * l->x->ld + k0) * size,
                               .a_row = l->x->ld,
                               .a_col = 1,
                               .b = (const unsigned char *)l->w->data + k0 * size,
                               .b_row = 1,
                               .b_col = l->w->ld,
                               .packed = l->packed,
                               .c = (unsigned char *)c->data + m0 * c->ld * c_size,
                               .c_row = c->ld,
                               .c_type = c->type,
                               .accumulate = accumulate,
                               .scale = 1,
                               .residual =
                                   residual ? (const unsigned char *)residual->data + m0 * residual->ld * c_size : NULL,
                               .residual_row = residual ? residual->ld : 0});
}

/* Asserts that each element of `got` is sums + residual, rounded to the type of `got`. residual may be NULL. */
static void check_follows(const aoei_kernels *k, const product_matrix *got, const product_matrix *sums,
                          const product_matrix *residual, const char *what) {
    for (size_t m = 0; m < got->rows; m++)
        for (size_t n = 0; n < got->cols; n++) {
            const float f = product_get(sums, m, n), r = residual ? product_get(residual, m, n) : 0;
            kernel_check_bits(product_get(got, m, n), kernel_stored(k, got->type, residual ? f + r : f), what, m, n);
        }
}

/* Computes the product C with several calls, each for `group` rows, and compares C with `sums`. C has the type c_type.
 * If in_place is set, C initially contains the residual, which the calls add to the product. */
static void check_groups(const aoei_kernels *k, const layer *l, aoei_rng *r, const product_matrix *sums, size_t group,
                         aoei_dtype c_type, int in_place) {
    const size_t M = sums->rows;
    product_matrix c = product_output(r, c_type, M, sums->cols), residual = product_input(r, c_type, M, sums->cols);
    for (size_t i = 0; in_place && i < M; i++)
        for (size_t j = 0; j < c.cols; j++)
            product_set(&c, i, j, product_get(&residual, i, j));
    for (size_t m = 0; m < M; m += group)
        multiply_part(k, l, &c, m, m + group < M ? m + group : M, 0, l->x->cols, 0, in_place ? &c : NULL);
    check_follows(k, &c, sums, in_place ? &residual : NULL, l->packed ? "groups of rows, packed" : "groups of rows");
    product_free(&c);
    product_free(&residual);
}

static void check_pieces(const aoei_kernels *k, aoei_dtype type, aoei_rng *r, size_t M, size_t N, size_t K) {
    static const size_t groups[] = {1, 2, 17, 33, 300, 1000};
    const size_t every = kernel_every();
    product_matrix x = product_input(r, type, M, K), w = product_input(r, type, N, K),
                   sums = product_output(r, AOEI_F32, M, N);
    void *packed = pack(k, type, w.data, type, 1, w.ld, K, N);
    const layer plain = {type, &x, &w, NULL}, ready = {type, &x, &w, packed};
    multiply_part(k, &plain, &sums, 0, M, 0, K, 0, NULL);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i += every) {
        const aoei_dtype c_type = i % 2 ? AOEI_F32 : type;
        check_groups(k, i / 2 % 2 ? &ready : &plain, r, &sums, groups[i], c_type, 0);
        check_groups(k, &ready, r, &sums, groups[i], type, 1);
        if (type == AOEI_BF16)
            check_groups(k, &ready, r, &sums, groups[i], AOEI_F32, 1);
    }
    for (size_t part = 0; part <= K; part += 32 * every * kernel_size(r, 1, 1 + K / 128)) {
        product_matrix c = product_output(r, AOEI_F32, M, N);
        multiply_part(k, &plain, &c, 0, M, 0, part, 0, NULL);
        multiply_part(k, &plain, &c, 0, M, part, K, 1, NULL);
        check_follows(k, &c, &sums, NULL, "K in two parts");
        product_free(&c);
    }
    product_matrix *all[] = {&x, &w, &sums};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        product_free(all[i]);
    free(packed);
}

void product_test_pieces(const aoei_kernels *k, aoei_dtype type) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    check_pieces(k, type, &r, 560, 75, 1100);
    check_pieces(k, type, &r, 3, 160, (size_t)12500);
    /* N is so large that the accumulators of a row do not fit into the scratch memory */
    check_pieces(k, type, &r, 2, 3000, 1601);
}

void product_test_specials(const aoei_kernels *k, aoei_dtype type) {
    enum { M = 37, N = 75, K = 20 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    product_matrix x = product_input(&r, type, M, K), w = product_input(&r, type, N, K),
                   c = product_output(&r, type, M, N);
    const layer l = {type, &x, &w, NULL};
    product_set(&x, 5, 3, NAN);
    product_set(&w, 70, 19, INFINITY);
    /* C initially contains NaN. The product is not added to C, so the kernel must not read C. */
    multiply_part(k, &l, &c, 0, M, 0, K, 0, NULL);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            const float v = product_get(&c, m, n);
            assert_int_equal(isnan(v) != 0, m == 5);
            assert_int_equal(isinf(v) != 0, m != 5 && n == 70);
        }
    for (size_t m = 0; m < M; m++) /* each element of the product is one subnormal number times 1 */
        for (size_t i = 0; i < K; i++)
            product_set(&x, m, i, i == m % K ? ldexpf(1, -130) : 0);
    for (size_t n = 0; n < N; n++)
        for (size_t i = 0; i < K; i++)
            product_set(&w, n, i, 1);
    multiply_part(k, &l, &c, 0, M, 0, K, 0, NULL);
    const int native = type == AOEI_BF16 && aoei_tier_bf16(k->tier);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++)
            kernel_check_bits(product_get(&c, m, n), native ? 0 : ldexpf(1, -130), "subnormal", m, n);
    product_matrix *all[] = {&x, &w, &c};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        product_free(all[i]);
}
