/* SPDX-License-Identifier: MIT
 * Tests the int8 matmul of every instruction set, and the AMX kernel also with emulated tile instructions
 * (emulated_gemm.h). The int32 sums are exact, and every operation of the epilogue is rounded to float32 in a defined
 * order. Every element is therefore compared bit by bit with one reference, so the results of all instruction sets are
 * equal. The only exceptions are activation functions, for which the reference calls the kernel of the instruction set,
 * and GELU, which is less accurate.
 *
 * Inputs end at an inaccessible page, so that a load after their end fails. The memory of C after the end of a row and
 * of the matrix is checked.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/emulated_gemm.h"
#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

#if AOEI_X86_64
#include "../support/amx_emulation.h"
#endif

typedef enum values { VALUES_RANDOM, VALUES_EXTREME, VALUES_LARGEST, VALUES_COUNT } values;

/* The operations of the epilogue that a test uses. */
typedef struct epilogue {
    aoei_dtype c_type;
    int scales, bias, pre, residual; /* scales: 0: all scales are 1, so the results without a bias are the int32 sums */
    aoei_activation activation;
} epilogue;

/* One matmul. A and C have gaps between their rows. */
typedef struct product {
    const aoei_kernels *k;
    size_t M, N, K, a_row, c_row;
    epilogue e;
    test_span a_span, b_span, packed, a_scale, b_scale, bias, residual;
    const int8_t *a, *b;    /* A [M][a_row], and B transposed [N][K] */
    size_t bytes;           /* size of the packed form of B */
    unsigned char *c, *pre; /* [M][c_row] elements of e.c_type, owned */
} product;

enum { CANARY = 0x7f, GAP = 5 };

static test_span scratch_span;
static int emulated; /* 1: the AMX kernel runs with emulated instructions; only on x86-64 */

static int8_t *create_int8(test_span *span, aoei_rng *r, values v, size_t n) {
    *span = test_span_create((n + 3) / 4, 0);
    int8_t *data = (int8_t *)(void *)(span->data + span->n) - n;
    for (size_t i = 0; i < n; i++)
        data[i] = (int8_t)(v == VALUES_LARGEST   ? -127
                           : v == VALUES_EXTREME ? (aoei_rng_below(r, 2) ? 127 : -127)
                                                 : (int)aoei_rng_below(r, 256) - 128);
    return data;
}

static test_span create_floats(aoei_rng *r, size_t n, double low, double high) {
    test_span s = test_span_create(n, 0);
    for (size_t i = 0; i < n; i++)
        s.data[i] = (float)(low + (high - low) * aoei_rng_uniform(r));
    return s;
}

static unsigned char *create_output(const product *p) {
    const size_t bytes = p->M * p->c_row * aoei_dtype_size(p->e.c_type) + 1;
    unsigned char *c = malloc(bytes);
    assert_non_null(c);
    memset(c, CANARY, bytes);
    return c;
}

static void create(product *p, const aoei_kernels *k, aoei_rng *r, values v, size_t M, size_t N, size_t K, epilogue e) {
    *p = (product){.k = k, .M = M, .N = N, .K = K, .e = e};
    p->a_row = K % 64 ? K + aoei_rng_below(r, 3) : K;
    p->c_row = N + GAP;
    p->a = create_int8(&p->a_span, r, v, M ? (M - 1) * p->a_row + K : 0);
    p->b = create_int8(&p->b_span, r, v, N * K);
    p->a_scale = create_floats(r, M, e.scales ? 1e-3 : 1, e.scales ? 0.1 : 1);
    p->b_scale = create_floats(r, N, e.scales ? 1e-4 : 1, e.scales ? 0.01 : 1);
    p->bias = create_floats(r, e.bias ? N : 0, -1, 1);
    p->residual = create_floats(r, e.residual ? M * N : 0, -1, 1);
    p->c = create_output(p);
    p->pre = create_output(p);
    p->bytes = k->gemm_int8_packed_size(K, N);
    p->packed = test_span_create((p->bytes + 63) / 64 * 16 + 16, 0);
}

static void destroy(product *p) {
    test_span *const spans[] = {&p->a_span, &p->b_span, &p->packed, &p->a_scale, &p->b_scale, &p->bias, &p->residual};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        test_span_free(spans[i]);
    free(p->c);
    free(p->pre);
}

static float element(const unsigned char *c, aoei_dtype type, size_t i) {
    return type == AOEI_BF16 ? aoei_bf16_to_f32(((const aoei_bf16 *)(const void *)c)[i])
                             : ((const float *)(const void *)c)[i];
}

static float rounded(aoei_dtype type, float x) {
    return type == AOEI_BF16 ? aoei_bf16_to_f32(aoei_bf16_from_f32(x)) : x;
}

/* Returns x as it is stored in C. The emulated kernel rounds like those of tier avx512. */
static float stored(const product *p, float x) {
    return emulated ? rounded(p->e.c_type, x) : kernel_stored(p->k, p->e.c_type, x);
}

/* Returns the bound of the error of a result x that contains GELU: the error of GELU, and the rounding errors of the
 * result. */
static double gelu_bound(aoei_dtype type, float x) {
    const double rounding = type == AOEI_BF16 ? 0x1p-8 : 0x1p-22;
    return AOEI_INT8_GELU_ERROR + rounding * (fabs((double)x) + AOEI_INT8_GELU_ERROR);
}

/* Checks row m of C and of the values before the activation. */
static void check_row(const product *p, size_t m) {
    const epilogue *e = &p->e;
    float *want = malloc((p->N + 1) * sizeof *want), *pre = malloc((p->N + 1) * sizeof *pre);
    assert_true(want && pre);
    for (size_t n = 0; n < p->N; n++) {
        int64_t sum = 0;
        for (size_t k = 0; k < p->K; k++)
            sum += p->a[m * p->a_row + k] * p->b[n * p->K + k];
        want[n] = (float)(int32_t)sum * (p->a_scale.data[m] * p->b_scale.data[n]);
        if (e->bias)
            want[n] += p->bias.data[n];
        pre[n] = stored(p, want[n]);
    }
    if (e->activation != AOEI_IDENTITY)
        kernel_activation(p->k, e->activation)(want, want, p->N);
    for (size_t n = 0; n < p->N; n++) {
        if (e->residual)
            want[n] += rounded(e->c_type, p->residual.data[m * p->N + n]);
        const float got = element(p->c, e->c_type, m * p->c_row + n);
        if (e->activation == AOEI_GELU)
            kernel_check_value(got, (double)want[n], gelu_bound(e->c_type, want[n]), "C", m, n);
        else
            kernel_check_bits(got, stored(p, want[n]), "C", m, n);
        if (e->pre)
            kernel_check_bits(element(p->pre, e->c_type, m * p->c_row + n), pre[n], "pre", m, n);
    }
    const size_t size = aoei_dtype_size(e->c_type);
    for (size_t i = (m * p->c_row + p->N) * size; i < (m + 1) * p->c_row * size; i++)
        assert_true(p->c[i] == CANARY && p->pre[i] == CANARY);
    free(want);
    free(pre);
}

static void run(const product *p, const aoei_gemm_args *g) {
#if AOEI_X86_64
    if (emulated) {
        const amx_region regions[] = {{scratch_span.data, scratch_span.n * sizeof(float)},
                                      {p->a, p->M ? (p->M - 1) * p->a_row + p->K : 0},
                                      {p->packed.data, p->packed.n * sizeof(float)}};
        amx_emulation_begin(regions, 3);
        emulated_gemm_int8(g, scratch_span.data);
        amx_emulation_end();
        return;
    }
#endif
    p->k->gemm_int8(g, scratch_span.data);
}

static void pack(const product *p, void *packed) {
    for (size_t n = 0; n < p->N; n += 2 * AOEI_GEMM_PANEL) { /* the columns are packed in several calls, as by several
                                                                threads */
        const size_t end = p->N - n < 2 * AOEI_GEMM_PANEL ? p->N : n + 2 * AOEI_GEMM_PANEL;
#if AOEI_X86_64
        if (emulated) {
            emulated_gemm_int8_pack(packed, p->b, AOEI_I8, 1, p->K, p->K, n, end);
            continue;
        }
#endif
        p->k->gemm_int8_pack(packed, p->b, AOEI_I8, 1, p->K, p->K, n, end);
    }
}

/* Computes the matmul in two blocks of columns, the second of which starts at column `split`, a multiple of
 * AOEI_GEMM_PANEL. */
static void multiply(product *p, size_t split) {
    unsigned char *packed = (unsigned char *)p->packed.data + (0 - (uintptr_t)p->packed.data) % 64;
    const size_t size = aoei_dtype_size(p->e.c_type);
    aoei_bf16 *residual = malloc((p->M * p->N + 1) * sizeof *residual);
    assert_non_null(residual);
    for (size_t i = 0; i < p->M * p->N && p->e.residual; i++)
        residual[i] = aoei_bf16_from_f32(p->residual.data[i]);
    const void *added = p->e.c_type == AOEI_BF16 ? (const void *)residual : p->residual.data;
    pack(p, packed);
    for (size_t n = 0, end; n < p->N; n = end) {
        end = n < split && split < p->N ? split : p->N;
        const aoei_gemm_args g = {.M = p->M,
                                  .N = end - n,
                                  .K = p->K,
                                  .a = p->a,
                                  .a_row = p->a_row,
                                  .a_col = 1,
                                  .packed = packed + p->k->gemm_int8_packed_size(p->K, n),
                                  .c = p->c + n * size,
                                  .c_row = p->c_row,
                                  .c_type = p->e.c_type,
                                  .a_scale = p->a_scale.data,
                                  .b_scale = p->b_scale.data + n,
                                  .scale = 1,
                                  .bias = p->e.bias ? p->bias.data + n : NULL,
                                  .activation = p->e.activation,
                                  .pre = p->e.pre ? p->pre + n * size : NULL,
                                  .pre_row = p->c_row,
                                  .residual = p->e.residual ? (const unsigned char *)added + n * size : NULL,
                                  .residual_row = p->N};
        run(p, &g);
    }
    free(residual);
}

static void check(const aoei_kernels *k, aoei_rng *r, values v, size_t M, size_t N, size_t K, epilogue e) {
    product p;
    create(&p, k, r, v, M, N, K, e);
    multiply(&p, N > AOEI_GEMM_PANEL ? AOEI_GEMM_PANEL * (1 + aoei_rng_below(r, (uint32_t)(N / AOEI_GEMM_PANEL))) : 0);
    for (size_t m = 0; m < M; m++)
        check_row(&p, m);
    kernel_compared(0, 0);
    destroy(&p);
}

/* Tests the int32 sums: all values of each dimension from 1 to a little more than a tile or a step, and random shapes
 * with K longer than a block of K of every kernel. */
static void sums(const aoei_kernels *k) {
    const epilogue plain = {.c_type = AOEI_F32};
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t i = 1; i <= 70; i++) {
        check(k, &r, VALUES_RANDOM, i, 33, 37, plain);
        check(k, &r, VALUES_RANDOM, 17, i, 70, plain);
        check(k, &r, VALUES_RANDOM, 15, 35, 2 * i, plain);
        check(k, &r, VALUES_EXTREME, 3, 34, i, plain);
    }
    for (int i = 0; i < 6; i++)
        for (values v = VALUES_RANDOM; v < VALUES_COUNT; v++)
            check(k, &r, v, kernel_size(&r, 1, 90), kernel_size(&r, 1, 200), kernel_size(&r, 1, 3500), plain);
    check(k, &r, VALUES_EXTREME, 2, 33, 1536, plain);
    check(k, &r, VALUES_RANDOM, 1, 300, 3000, plain);
    check(k, &r, VALUES_RANDOM, 5, 33, 0, plain);
    check(k, &r, VALUES_LARGEST, 1, 3, AOEI_INT8_MAX_K, plain);
}

/* Tests all combinations of the operations of the epilogue. */
static void epilogues(const aoei_kernels *k) {
    static const aoei_activation activations[] = {AOEI_IDENTITY, AOEI_GELU, AOEI_GELU_TANH,
                                                  AOEI_SILU,     AOEI_RELU, AOEI_QUICK_GELU};
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t a = 0; a < sizeof activations / sizeof *activations; a++)
        for (int i = 0; i < 16; i++) {
            const epilogue e = {.c_type = i & 1 ? AOEI_BF16 : AOEI_F32,
                                .scales = 1,
                                .bias = i >> 1 & 1,
                                .residual = i >> 2 & 1,
                                .pre = (i >> 3 & 1) && activations[a] != AOEI_IDENTITY,
                                .activation = activations[a]};
            check(k, &r, VALUES_RANDOM, kernel_size(&r, 1, 50), kernel_size(&r, 1, 90), kernel_size(&r, 1, 200), e);
        }
}

/* Tests A whose rows are whole cache lines, from which the AMX kernel loads tiles without packing. */
static void aligned_rows(const aoei_kernels *k) {
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    const epilogue e = {.c_type = AOEI_BF16, .scales = 1, .bias = 1};
    check(k, &r, VALUES_RANDOM, 96, 96, 384, e);
    check(k, &r, VALUES_EXTREME, 130, 64, 1536, e);
    check(k, &r, VALUES_RANDOM, 64, 40, 64, e);
}

static void test_sums(void **state) {
    (void)state;
    kernel_each_tier("gemm_int8", sums);
}

static void test_epilogues(void **state) {
    (void)state;
    kernel_each_tier("gemm_int8", epilogues);
}

static void test_aligned_rows(void **state) {
    (void)state;
    kernel_each_tier("gemm_int8", aligned_rows);
}

/* A packed matrix consists of panels with a fixed number of columns. */
static void packed_size(const aoei_kernels *k) {
    assert_true(k->gemm_int8_packed_size(10, 33) >= 330);
    assert_int_equal(k->gemm_int8_packed_size(10, 3 * AOEI_GEMM_PANEL),
                     3 * k->gemm_int8_packed_size(10, AOEI_GEMM_PANEL));
}

static void test_packed_size(void **state) {
    (void)state;
    kernel_each_tier("gemm_int8_packed_size", packed_size);
}

/* Packing in several calls and packing in one call write the same bytes, which are all bytes of the packed form and no
 * others. The two buffers contain different bytes before. */
static void packed_parts(const aoei_kernels *k) {
    enum { N = 6 * AOEI_GEMM_PANEL, K = 37, MARGIN = 64 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    product p;
    create(&p, k, &r, VALUES_RANDOM, 1, N, K, (epilogue){.c_type = AOEI_F32});
    const size_t capacity = (p.bytes + MARGIN + 63) / 64 * 64;
    unsigned char *x = aligned_alloc(64, capacity), *y = aligned_alloc(64, capacity);
    assert_true(x && y);
    memset(x, CANARY, capacity);
    memset(y, CANARY + 1, capacity);
    pack(&p, x);
    k->gemm_int8_pack(y, p.b, AOEI_I8, 1, K, K, 0, N);
    assert_memory_equal(x, y, p.bytes);
    for (size_t i = p.bytes; i < capacity; i++)
        assert_true(x[i] == CANARY && y[i] == CANARY + 1);
    free(x);
    free(y);
    destroy(&p);
}

static void test_packed_parts(void **state) {
    (void)state;
    kernel_each_tier("gemm_int8_pack", packed_parts);
}

#if AOEI_X86_64
/* Calls fn with the AMX kernel, whose tile instructions are emulated. The other instructions need AVX-512. */
static void emulate(kernel_tier_fn fn) {
    aoei_tier tier = AOEI_TIER_C;
    assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
    if (tier < AOEI_TIER_AVX512BF16) {
        print_message("SKIP: the emulation of tier amx requires a CPU with AVX512-BF16\n");
        return;
    }
    emulated = 1;
    fn(aoei_kernel_tables[AOEI_TIER_AMX]);
    emulated = 0;
}
#endif

static void test_emulated(void **state) {
    (void)state;
#if AOEI_X86_64
    emulate(sums);
    emulate(epilogues);
    emulate(aligned_rows);
#else
    print_message("SKIP: tier amx exists only on x86-64\n");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums),         cmocka_unit_test(test_epilogues),
                                       cmocka_unit_test(test_aligned_rows), cmocka_unit_test(test_packed_size),
                                       cmocka_unit_test(test_packed_parts), cmocka_unit_test(test_emulated)};
    scratch_span = test_span_create(AOEI_GEMM_SCRATCH, 0);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_span_free(&scratch_span);
    return failed;
}
