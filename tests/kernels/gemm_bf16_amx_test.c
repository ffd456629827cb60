/* SPDX-License-Identifier: MIT
 * tags: slow
 * Tests the bf16 matmul for AMX with emulated tile instructions (emulated_gemm.h), so it runs on CPUs without AMX.
 * Every element of the product is compared bit for bit with a second implementation. This implementation adds products
 * in the order of the tile instruction, in blocks of 32 values of k. Its sums are compared with the exact sums in
 * double. The error may be at most (K + 4) u (sum |a||b| + |c|) times the tolerance in kernels.def, where u is 2^-24.
 *
 * The whole output buffer is compared, so that a store outside C is detected. Inputs end at an inaccessible page, so
 * that a load after their end fails. On a CPU with AMX, one test compares the results of the real instructions with the
 * exact sums. gemm_bf16_test.c contains all other tests of the real instructions.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/emulated_gemm.h"
#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"
#include "kernels/gemm_block.h"

#if AOEI_X86_64
#include "../support/amx_emulation.h"

typedef enum layout { LAYOUT_ROWS, LAYOUT_COLUMNS, LAYOUT_BOTH_STRIDED, LAYOUT_COUNT } layout;

typedef enum b_format { B_PLAIN, B_PACKED, B_PACKED_FROM_F32, B_FORMATS } b_format;

typedef struct product {
    size_t M, N, K;
    layout a_layout, b_layout;
    b_format b_format;
    aoei_dtype c_type;
    int accumulate, bias, scale, pre, gate, residual;
    int a_padded; /* 1: A is padded as aoei_gemm_args.a_padded describes; only with LAYOUT_ROWS */
    int in_place; /* 1: the gate is in the memory of C; if there is no gate, the residual is in the memory of C */
    aoei_activation activation;
} product;

/* A matrix whose values are exact in bf16. It is stored as bf16 and as float32. Each of the two arrays ends at an
 * inaccessible page. The memory between the elements of the matrix contains NaN. */
typedef struct operand {
    test_span bf16_span, f32_span;
    aoei_bf16 *bf16;
    float *f32;
    size_t row, col; /* strides in elements */
} operand;

/* A matrix inside a larger buffer. All other bytes of the buffer are canaries. */
typedef struct output {
    unsigned char *buffer; /* owned */
    size_t bytes;
    unsigned char *data; /* first element of the matrix, inside `buffer` */
    size_t row;          /* row stride in elements */
} output;

enum { CANARY = 0x7f, MARGIN = 96 /* bytes */ };

static test_span scratch_span;
static float *scratch; /* [AOEI_GEMM_SCRATCH], inside scratch_span, initially NaN */

static size_t minimum(size_t a, size_t b) {
    return a < b ? a : b;
}

static float random_value(aoei_rng *r) {
    return (float)(2 * aoei_rng_uniform(r) - 1);
}

static size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* Returns a matrix whose rows are padded with zeros to a multiple of 32 elements, with additional rows of NaN up to a
 * multiple of 16 rows. */
static operand make_padded(aoei_rng *r, size_t rows, size_t cols) {
    operand o = {.row = round_up(cols, 32), .col = 1};
    const size_t n = round_up(rows, 16) * o.row;
    o.bf16_span = test_span_create(n / 2, 0);
    o.f32_span = test_span_create(n, 0);
    o.bf16 = (aoei_bf16 *)(void *)(o.bf16_span.data + o.bf16_span.n) - n;
    o.f32 = o.f32_span.data;
    for (size_t i = 0; i < n; i++) {
        const int is_element = i / o.row < rows && i % o.row < cols;
        o.f32[i] = is_element ? random_value(r) : 0;
        o.bf16[i] = i / o.row < rows ? aoei_bf16_from_f32(o.f32[i]) : 0x7fc0;
    }
    return o;
}

static operand make_operand(aoei_rng *r, size_t rows, size_t cols, layout l) {
    operand o = {0};
    const size_t pad = aoei_rng_below(r, 2) ? aoei_rng_below(r, 40) : 0;
    o.row = l == LAYOUT_ROWS ? cols + pad : l == LAYOUT_COLUMNS ? 1 : 3 * cols + pad;
    o.col = l == LAYOUT_ROWS ? 1 : l == LAYOUT_COLUMNS ? rows + pad : 3;
    const size_t n = rows && cols ? (rows - 1) * o.row + (cols - 1) * o.col + 1 : 0;
    o.bf16_span = test_span_create((n + 1) / 2, 0);
    o.f32_span = test_span_create(n, 0);
    o.bf16 = (aoei_bf16 *)(void *)(o.bf16_span.data + o.bf16_span.n) - n;
    o.f32 = o.f32_span.data;
    for (size_t i = 0; i < n; i++)
        o.bf16[i] = 0x7fc0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const size_t at = i * o.row + j * o.col;
            o.f32[at] = random_value(r);
            o.bf16[at] = aoei_bf16_from_f32(o.f32[at]);
        }
    return o;
}

static void free_operand(operand *o) {
    test_span_free(&o->bf16_span);
    test_span_free(&o->f32_span);
}

static float element(const operand *o, size_t i, size_t j) {
    return aoei_bf16_to_f32(o->bf16[i * o->row + j * o->col]);
}

static output make_output(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols) {
    const size_t size = aoei_dtype_size(type);
    output o = {.row = cols + (aoei_rng_below(r, 2) ? aoei_rng_below(r, 40) : 0)};
    const size_t before = MARGIN + size * aoei_rng_below(r, 32);
    o.bytes = before + rows * o.row * size + MARGIN;
    o.buffer = malloc(o.bytes);
    assert_non_null(o.buffer);
    memset(o.buffer, CANARY, o.bytes);
    o.data = o.buffer + before;
    return o;
}

static void fill_output(output *o, aoei_rng *r, aoei_dtype type, size_t rows, size_t cols) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const float x = random_value(r);
            if (type == AOEI_BF16)
                ((aoei_bf16 *)(void *)o->data)[i * o->row + j] = aoei_bf16_from_f32(x);
            else
                ((float *)(void *)o->data)[i * o->row + j] = x;
        }
}

static output copy_output(const output *from) {
    output o = *from;
    o.buffer = malloc(o.bytes);
    assert_non_null(o.buffer);
    memcpy(o.buffer, from->buffer, o.bytes);
    o.data = o.buffer + (from->data - from->buffer);
    return o;
}

static float flushed(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

/* Returns element (m, n) of the product, added to `start` in the accumulation order of the tile instruction. */
static float tile_sum(const operand *a, const operand *b, size_t m, size_t n, size_t K, float start) {
    float sum = start;
    for (size_t k = 0; k < K; k += 32) {
        float sums[2] = {0, 0};
        for (size_t i = k; i < minimum(K, k + 32); i++)
            sums[i % 2] = flushed(fmaf(flushed(element(a, m, i)), flushed(element(b, i, n)), sums[i % 2]));
        sum = flushed(flushed(sum) + flushed(sums[0] + sums[1]));
    }
    return sum;
}

/* Compares `sum`, which is element (m, n) of the product added to `start`, with the exact sum. */
static void check_sum(const operand *a, const operand *b, size_t m, size_t n, size_t K, float start, float sum) {
    double exact = (double)start, size = fabs((double)start);
    for (size_t k = 0; k < K; k++) {
        const double v = (double)element(a, m, k) * (double)element(b, k, n);
        exact += v;
        size += fabs(v);
    }
    /* each step may flush a subnormal sum to zero, which changes the sum by less than FLT_MIN */
    const double bound = kernel_tolerance("gemm_bf16") * ((double)K + 4) * (KERNEL_ROUNDOFF * size + (double)FLT_MIN);
    kernel_check_value(sum, exact, bound, "sum", m, n);
}

/* A product with its operands, outputs and expected sums. */
typedef struct trial {
    const product *p;
    aoei_gemm_args g;
    operand a, b;
    output c, pre, gate, residual;
    float *bias;      /* [N] */
    float *sums;      /* [M, N] expected sums */
    test_span packed; /* packed B, with padding for the alignment */
    amx_counts counts;
} trial;

static void choose_b(trial *t) {
    const product *p = t->p;
    const size_t bytes = emulated_gemm_bf16_packed_size(p->K, p->N);
    /* kernels.h requires 64-byte alignment; the address is not the start of a page */
    t->packed = test_span_create(bytes / sizeof(float), 16);
    if (p->b_format == B_PLAIN) {
        t->g.b = t->b.bf16;
        t->g.b_row = t->b.row;
        t->g.b_col = t->b.col;
        return;
    }
    for (size_t n = 0; n < p->N; n += AOEI_GEMM_PANEL) {
        const size_t end = minimum(n + AOEI_GEMM_PANEL, p->N);
        if (p->b_format == B_PACKED)
            emulated_gemm_bf16_pack(t->packed.data, t->b.bf16, AOEI_BF16, t->b.row, t->b.col, p->K, n, end);
        else
            emulated_gemm_bf16_pack(t->packed.data, t->b.f32, AOEI_F32, t->b.row, t->b.col, p->K, n, end);
    }
    t->g.packed = t->packed.data;
}

static void create_trial(trial *t, aoei_rng *r, const product *p) {
    *t = (trial){.p = p};
    t->a = p->a_padded ? make_padded(r, p->M, p->K) : make_operand(r, p->M, p->K, p->a_layout);
    t->b = make_operand(r, p->K, p->N, p->b_layout);
    t->c = make_output(r, p->c_type, p->M, p->N);
    t->pre = make_output(r, p->c_type, p->M, p->N);
    t->gate = make_output(r, p->c_type, p->M, p->N);
    t->residual = make_output(r, p->c_type, p->M, p->N);
    fill_output(&t->gate, r, p->c_type, p->M, p->N);
    fill_output(&t->residual, r, p->c_type, p->M, p->N);
    if (p->accumulate || p->in_place)
        fill_output(&t->c, r, p->c_type, p->M, p->N);
    t->bias = malloc((p->N + 1) * sizeof(float));
    t->sums = malloc((p->M * p->N + 1) * sizeof(float));
    assert_true(t->bias && t->sums);
    for (size_t n = 0; n < p->N; n++)
        t->bias[n] = random_value(r);
    t->g = (aoei_gemm_args){.M = p->M,
                            .N = p->N,
                            .K = p->K,
                            .a = t->a.bf16,
                            .a_row = t->a.row,
                            .a_col = t->a.col,
                            .a_padded = p->a_padded,
                            .c = t->c.data,
                            .c_row = t->c.row,
                            .c_type = p->c_type,
                            .accumulate = p->accumulate,
                            .scale = p->scale ? 0.37f : 1,
                            .bias = p->bias ? t->bias : NULL,
                            .activation = p->activation,
                            .pre = p->pre ? t->pre.data : NULL,
                            .pre_row = t->pre.row};
    if (p->gate) {
        t->g.gate = p->in_place ? t->c.data : t->gate.data;
        t->g.gate_row = p->in_place ? t->c.row : t->gate.row;
    }
    if (p->residual) {
        t->g.residual = p->in_place && !p->gate ? t->c.data : t->residual.data;
        t->g.residual_row = p->in_place && !p->gate ? t->c.row : t->residual.row;
    }
    choose_b(t);
}

static void free_trial(trial *t) {
    output *outputs[] = {&t->c, &t->pre, &t->gate, &t->residual};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        free(outputs[i]->buffer);
    free_operand(&t->a);
    free_operand(&t->b);
    test_span_free(&t->packed);
    free(t->bias);
    free(t->sums);
}

static void compute_sums(trial *t) {
    const product *p = t->p;
    for (size_t m = 0; m < p->M; m++)
        for (size_t n = 0; n < p->N; n++) {
            const float start = p->accumulate ? ((const float *)(const void *)t->c.data)[m * t->c.row + n] : 0;
            t->sums[m * p->N + n] = tile_sum(&t->a, &t->b, m, n, p->K, start);
            check_sum(&t->a, &t->b, m, n, p->K, start, t->sums[m * p->N + n]);
        }
}

static void emulate(const aoei_gemm_args *g, size_t packed_bytes, amx_counts *counts) {
    const size_t to_last = g->M && g->K ? (g->M - 1) * g->a_row + (g->K - 1) * g->a_col + 1 : 0;
    const size_t a_elements = g->a_padded ? round_up(g->M, 16) * g->a_row : to_last;
    const amx_region regions[] = {{scratch, AOEI_GEMM_SCRATCH * sizeof *scratch},
                                  {g->a, a_elements * sizeof(aoei_bf16)},
                                  {g->packed, packed_bytes}};
    amx_emulation_begin(regions, g->packed ? 3 : 2);
    emulated_gemm_bf16(g, scratch);
    *counts = amx_emulation_end();
    test_span_check(&scratch_span);
}

static void check_buffer(const output *got, const output *want, aoei_dtype type, size_t cols, const char *what) {
    if (memcmp(got->buffer, want->buffer, got->bytes) == 0)
        return;
    size_t i = 0;
    while (got->buffer[i] == want->buffer[i])
        i++;
    const ptrdiff_t at = ((got->buffer + i) - got->data) / (ptrdiff_t)aoei_dtype_size(type), row = (ptrdiff_t)got->row;
    fail_msg("%s: element %td (row %td, column %td of %zu) differs", what, at, at / row, at % row, cols);
}

/* Applies the epilogue to the expected sums and compares the product with the results. Returns how many instructions
 * were emulated. */
static amx_counts check_product(aoei_rng *r, const product *p) {
    trial t;
    create_trial(&t, r, p);
    compute_sums(&t);
    output c = copy_output(&t.c), pre = copy_output(&t.pre);
    aoei_gemm_args want = t.g;
    want.c = c.data;
    want.pre = want.pre ? pre.data : NULL;
    want.gate = want.gate == t.c.data ? c.data : want.gate;
    want.residual = want.residual == t.c.data ? c.data : want.residual;
    aoei_gemm_epilogue_avx512(&want, t.sums, p->N, 0, 0, p->M, p->N);
    emulate(&t.g, emulated_gemm_bf16_packed_size(p->K, p->N), &t.counts);
    check_buffer(&t.c, &c, p->c_type, p->N, "C");
    check_buffer(&t.pre, &pre, p->c_type, p->N, "value before the activation");
    free(c.buffer);
    free(pre.buffer);
    free_trial(&t);
    return t.counts;
}

static int coin(aoei_rng *r) {
    return (int)aoei_rng_below(r, 2);
}

/* Returns a product with random layouts and a random valid combination of options. */
static product random_product(aoei_rng *r, size_t M, size_t N, size_t K) {
    product p = {.M = M,
                 .N = N,
                 .K = K,
                 .a_layout = (layout)aoei_rng_below(r, LAYOUT_COUNT),
                 .b_layout = (layout)aoei_rng_below(r, LAYOUT_COUNT),
                 .b_format = (b_format)aoei_rng_below(r, B_FORMATS)};
    p.c_type = coin(r) ? AOEI_BF16 : AOEI_F32;
    p.accumulate = p.c_type == AOEI_F32 && coin(r);
    if (p.accumulate)
        return p;
    p.bias = coin(r);
    p.scale = coin(r);
    p.activation = coin(r) ? AOEI_IDENTITY : (aoei_activation)(1 + aoei_rng_below(r, AOEI_QUICK_GELU));
    p.gate = p.activation != AOEI_IDENTITY && coin(r);
    p.pre = p.activation != AOEI_IDENTITY && !p.gate && coin(r);
    p.residual = coin(r);
    p.in_place = (p.gate || p.residual) && coin(r);
    return p;
}

/* Returns 1 if the CPU can run the emulated kernel. Otherwise prints a message and returns 0. */
static int can_emulate(void) {
    aoei_tier tier = AOEI_TIER_C;
    assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
    if (tier >= AOEI_TIER_AVX512BF16)
        return 1;
    print_message("SKIP: the emulation of tier amx requires a CPU with AVX512-BF16\n");
    return 0;
}

/* ---- the emulation itself */

typedef struct tile_words {
    uint16_t data[16][32];
} tile_words;

/* Returns element [m][n] of the result of one dot instruction on whole tiles. It is the dot product of row m of a and
 * column n of b, added to `start`. */
static float one_dot(const tile_words *a, const tile_words *b, float start, size_t m, size_t n) {
    static const tile_shapes shapes = {.palette = 1, .row_bytes = {64, 64, 64}, .rows = {16, 16, 16}};
    float sums[16][16] = {{0}};
    sums[m][n] = start;
    const amx_region regions[] = {{a, sizeof *a}, {b, sizeof *b}, {sums, sizeof sums}};
    amx_emulation_begin(regions, 3);
    amx_emulate_configure(&shapes);
    amx_emulate_load(0, sums, 64);
    amx_emulate_load(1, a, 64);
    amx_emulate_load(2, b, 64);
    amx_emulate_dot_bf16(0, 1, 2);
    amx_emulate_store(0, sums, 64);
    amx_emulate_release();
    const amx_counts counts = amx_emulation_end();
    assert_true(counts.loads == 3 && counts.stores == 1 && counts.dots == 1 && counts.load_lines >= 48);
    return sums[m][n];
}

/* Returns start + a[0] b[0] + ... + a[n - 1] b[n - 1], computed by a dot instruction in row 3 and column 5 of the
 * tiles. */
static float dot_of(const float *a, const float *b, size_t n, float start) {
    static tile_words left, right;
    memset(&left, 0, sizeof left);
    memset(&right, 0, sizeof right);
    for (size_t k = 0; k < n; k++) {
        left.data[3][k] = aoei_bf16_from_f32(a[k]);
        right.data[k / 2][2 * 5 + k % 2] = aoei_bf16_from_f32(b[k]);
    }
    return one_dot(&left, &right, start, 3, 5);
}

static void test_instruction(void **state) {
    (void)state;
    const float one[] = {1, 1, 1, 1}, tiny[] = {0x1p-130f}, small[] = {0x1p-70f}, big[] = {0x1p127f, 0x1p127f};
    assert_true(dot_of((const float[]){3, 5}, (const float[]){7, -2}, 2, 0.5f) == 11.5f);
    /* The products of even k and of odd k are added in separate sums. The total of both sums is computed last. */
    assert_true(dot_of((const float[]){0x1p24f, 1, 1, 1}, one, 4, 0) == 0x1p24f + 2);
    assert_true(dot_of((const float[]){0x1p24f, 1, -0x1p24f, 1}, one, 4, 0) == 2);
    /* Both sums start at 0. The accumulator is added to their total. */
    assert_true(dot_of((const float[]){1, 1}, one, 2, 0x1p24f) == 0x1p24f + 2);
    /* A subnormal operand, product, accumulator or result is replaced by zero. */
    assert_true(dot_of(tiny, (const float[]){0x1p20f}, 1, 0) == 0);
    assert_true(dot_of(small, small, 1, 0) == 0);
    assert_true(dot_of(one, (const float[]){0}, 1, 0x1p-130f) == 0);
    assert_true(dot_of((const float[]){0x1.8p-126f}, one, 1, -0x1p-126f) == 0);
    assert_true(dot_of((const float[]){0x1p-126f}, one, 1, 0) == 0x1p-126f);
    assert_true(isinf(dot_of(big, one, 2, 0)));
    assert_true(isnan(dot_of((const float[]){INFINITY, -INFINITY}, one, 2, 0)));
    assert_true(isnan(dot_of((const float[]){NAN}, (const float[]){0}, 1, 1)));
}

/* ---- the product */

static void check_random(aoei_rng *r, size_t M, size_t N, size_t K) {
    const product p = random_product(r, M, N, K);
    check_product(r, &p);
}

/* Tests sizes around the sizes of the kernel's parts: blocks of 32 rows and columns, chunks of 384 values of k, and
 * M-blocks of 512 rows. */
static void test_shapes(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    aoei_rng r = kernel_rng("shapes");
    for (size_t M = 1; M <= 2 * 512 + 1; M += M < 70 || (M > 508 && M < 516) || M >= 1020 ? 1 : 17)
        check_random(&r, M, kernel_size(&r, 1, 40), kernel_size(&r, 1, 40));
    for (size_t N = 1; N <= 2 * 32 + 1; N++)
        check_random(&r, kernel_size(&r, 1, 40), N, kernel_size(&r, 1, 80));
    for (size_t K = 0; K <= 2 * 384 + 1; K++)
        check_random(&r, kernel_size(&r, 1, 16), kernel_size(&r, 1, 10), K);
    for (size_t K = 352; K <= 1200; K += 31)
        check_random(&r, kernel_size(&r, 30, 70), kernel_size(&r, 30, 40), K);
    for (int i = 0; i < 60; i++)
        check_random(&r, kernel_size(&r, 1, 100), kernel_size(&r, 1, 100), kernel_size(&r, 1, 100));
    for (int i = 0; i < 2; i++) { /* 3 chunks and 2 groups of panels */
        product p = random_product(&r, 500, 200, 800);
        p.b_format = i ? B_PACKED : B_PLAIN;
        p.c_type = AOEI_F32;
        p.accumulate = 1;
        p.bias = p.scale = p.pre = p.gate = p.residual = p.in_place = 0;
        p.activation = AOEI_IDENTITY;
        check_product(&r, &p);
    }
}

/* If A is padded, all its tiles are loaded from A. */
static void test_padded(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    aoei_rng r = kernel_rng("padded");
    for (size_t K = 1; K <= 900; K += K < 70 ? 1 : 107) {
        product p = random_product(&r, kernel_size(&r, 1, 70), kernel_size(&r, 1, 70), K);
        p.a_layout = LAYOUT_ROWS;
        p.a_padded = 1;
        check_product(&r, &p);
    }
}

/* Tests every memory layout of both operands and every format of B. The sizes give full and partial tiles. */
static void test_options(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    aoei_rng r = kernel_rng("options");
    for (unsigned i = 0; i < LAYOUT_COUNT * LAYOUT_COUNT * B_FORMATS * 20; i++) {
        product p = random_product(&r, kernel_size(&r, 1, 70), kernel_size(&r, 1, 70), kernel_size(&r, 1, 130));
        p.a_layout = (layout)(i % LAYOUT_COUNT);
        p.b_layout = (layout)(i / LAYOUT_COUNT % LAYOUT_COUNT);
        p.b_format = (b_format)(i / LAYOUT_COUNT / LAYOUT_COUNT % B_FORMATS);
        check_product(&r, &p);
    }
}

/* Tests A whose tiles the kernel loads without packing: rows of whole cache lines. The numbers of rows give blocks of
 * whole tiles and blocks that must be packed. Half of the trials have padded rows, most of which are not whole cache
 * lines. */
static void test_in_place(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    aoei_rng r = kernel_rng("in place");
    static const size_t rows[] = {1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 80, 81, 100, 512, 528, 545};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t K = 32; K <= 1280; K += K < 512 ? 96 : 384) {
            product p = random_product(&r, rows[i], kernel_size(&r, 1, 70), K);
            p.a_layout = LAYOUT_ROWS;
            check_product(&r, &p);
        }
    for (size_t M = 32; M <= 128; M += 16) { /* A is processed in several parts, or M-blocks have few blocks */
        product p = random_product(&r, M, kernel_size(&r, 1, 70), 12320);
        p.a_layout = LAYOUT_ROWS;
        check_product(&r, &p);
    }
}

/* Tests large K, for which the kernel adds several chunks of K and processes A in several parts. C has one block or
 * many blocks. */
static void test_long_sums(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    aoei_rng r = kernel_rng("long sums");
    static const struct {
        size_t M, N, K;
        aoei_dtype c_type;
        int accumulate, residual;
        b_format b_format;
    } cases[] = {{20, 37, 2500, AOEI_BF16, 0, 1, B_PLAIN},  {70, 35, 1601, AOEI_BF16, 0, 0, B_PACKED},
                 {33, 35, 8192, AOEI_BF16, 0, 0, B_PLAIN},  {33, 3, 12321, AOEI_BF16, 0, 1, B_PACKED_FROM_F32},
                 {65, 17, 12289, AOEI_F32, 0, 1, B_PLAIN},  {16, 33, 12800, AOEI_F32, 0, 1, B_PLAIN},
                 {7, 5, 24700, AOEI_BF16, 0, 0, B_PACKED},  {65, 40, 8225, AOEI_F32, 0, 0, B_PLAIN},
                 {100, 35, 7000, AOEI_F32, 1, 0, B_PACKED}, {100, 35, 7000, AOEI_F32, 1, 0, B_PLAIN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const product p = {.M = cases[i].M,
                           .N = cases[i].N,
                           .K = cases[i].K,
                           .a_layout = i % 2 ? LAYOUT_ROWS : LAYOUT_COLUMNS,
                           .b_layout = i / 2 % 2 ? LAYOUT_ROWS : LAYOUT_COLUMNS,
                           .b_format = cases[i].b_format,
                           .c_type = cases[i].c_type,
                           .accumulate = cases[i].accumulate,
                           .residual = cases[i].residual,
                           .in_place = cases[i].residual};
        check_product(&r, &p);
    }
}

/* The part of the product x w^T that one call computes: rows [m0, m1), columns [n0, n1) and the values [k0, k1) of k.
 * n0 and k0 are multiples of 32. */
typedef struct part {
    size_t m0, m1, n0, n1, k0, k1;
    int accumulate;
} part;

static void multiply_part(const operand *x, const operand *w, const void *packed, size_t K, float *c, size_t c_row,
                          part t) {
    amx_counts counts;
    const aoei_gemm_args g = {.M = t.m1 - t.m0,
                              .N = t.n1 - t.n0,
                              .K = t.k1 - t.k0,
                              .a = x->bf16 + t.m0 * x->row + t.k0,
                              .a_row = x->row,
                              .a_col = 1,
                              .b = packed ? NULL : w->bf16 + t.n0 * w->row + t.k0,
                              .b_row = 1,
                              .b_col = w->row,
                              .packed = packed ? (const char *)packed + emulated_gemm_bf16_packed_size(K, t.n0) : NULL,
                              .c = c + t.m0 * c_row + t.n0,
                              .c_row = c_row,
                              .c_type = AOEI_F32,
                              .accumulate = t.accumulate,
                              .scale = 1};
    emulate(&g, emulated_gemm_bf16_packed_size(g.K, g.N), &counts);
}

/* Tests that several calls for parts of a product give the same bits as one call. Each call computes some of the rows,
 * some of the columns, or one of two parts of K. The second part of K starts at a multiple of 32. */
static void test_pieces(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    enum { M = 75, N = 75, K = 1000 };
    aoei_rng r = kernel_rng("pieces");
    operand x = make_operand(&r, M, K, LAYOUT_ROWS), w = make_operand(&r, N, K, LAYOUT_ROWS);
    test_span packed = test_span_create(emulated_gemm_bf16_packed_size(K, N) / sizeof(float), 16);
    emulated_gemm_bf16_pack(packed.data, w.bf16, AOEI_BF16, 1, w.row, K, 0, N);
    float *whole = malloc(sizeof(float[M][N])), *c = malloc(sizeof(float[M][N]));
    assert_true(whole && c);
    multiply_part(&x, &w, NULL, K, whole, N, (part){.m1 = M, .n1 = N, .k1 = K});
    static const size_t rows[] = {M, 1, 17, 32, 50}, columns[] = {N, 32, 64};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < 2 * sizeof columns / sizeof *columns; j++) {
            memset(c, 0xff, sizeof(float[M][N]));
            const size_t step = columns[j / 2];
            for (size_t m = 0; m < M; m += rows[i])
                for (size_t n = 0; n < N; n += step)
                    multiply_part(&x, &w, j % 2 ? packed.data : NULL, K, c, N,
                                  (part){m, minimum(m + rows[i], M), n, minimum(n + step, N), 0, K, 0});
            test_same_floats(c, whole, (size_t)M * N);
            assert_memory_equal(c, whole, sizeof(float[M][N]));
        }
    for (size_t k = 0; k <= K; k += 32) {
        memset(c, 0xff, sizeof(float[M][N]));
        multiply_part(&x, &w, NULL, K, c, N, (part){.m1 = M, .n1 = N, .k1 = k});
        multiply_part(&x, &w, NULL, K, c, N, (part){.m1 = M, .n1 = N, .k0 = k, .k1 = K, .accumulate = 1});
        assert_memory_equal(c, whole, sizeof(float[M][N]));
    }
    free(whole);
    free(c);
    test_span_free(&packed);
    free_operand(&x);
    free_operand(&w);
}

/* Tests the packed format, in which B is stored as panels of 32 columns each. The address of a panel must not depend on
 * later panels, so that the first columns can be packed in a call of their own. Both data types and all layouts of B
 * must give the same packed bytes. */
static void test_packed_format(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    aoei_rng r = kernel_rng("packed form");
    assert_int_equal(emulated_gemm_bf16_packed_size(0, 5), 0);
    assert_int_equal(emulated_gemm_bf16_packed_size(33, 33), 2 * 2 * 2048);
    for (int i = 0; i < 40; i++) {
        const size_t K = kernel_size(&r, 1, 150), N = kernel_size(&r, 1, 100);
        operand b = make_operand(&r, K, N, (layout)(i % LAYOUT_COUNT));
        const size_t bytes = emulated_gemm_bf16_packed_size(K, N);
        unsigned char *got = malloc(bytes), *want = calloc(1, bytes);
        assert_true(got && want);
        for (size_t k = 0; k < K; k++)
            for (size_t n = 0; n < N; n++) {
                const size_t tile = emulated_gemm_bf16_packed_size(K, n / 32 * 32) + k / 32 * 2048 + n % 32 / 16 * 1024;
                memcpy(want + tile + k % 32 / 2 * 64 + n % 16 * 4 + k % 2 * 2, b.bf16 + k * b.row + n * b.col, 2);
            }
        for (int f32 = 0; f32 < 2; f32++) {
            memset(got, CANARY, bytes);
            const void *from = f32 ? (const void *)b.f32 : b.bf16;
            const size_t cut = minimum(N, 32 * kernel_size(&r, 0, 3));
            emulated_gemm_bf16_pack(got, from, f32 ? AOEI_F32 : AOEI_BF16, b.row, b.col, K, 0, cut);
            if (cut < N)
                emulated_gemm_bf16_pack(got, from, f32 ? AOEI_F32 : AOEI_BF16, b.row, b.col, K, cut, N);
            assert_memory_equal(got, want, bytes);
        }
        free(got);
        free(want);
        free_operand(&b);
    }
}

/* Tests that packing rounds random and special float32 values as aoei_bf16_from_f32 does. */
static void test_packed_rounding(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    enum { K = 32, N = 32 };
    aoei_rng r = kernel_rng("rounding");
    static float b[K][N];
    aoei_bf16 *packed = aligned_alloc(64, 2048);
    assert_non_null(packed);
    for (int i = 0; i < 200; i++) {
        for (size_t k = 0; k < K; k++)
            for (size_t n = 0; n < N; n++) {
                const uint32_t bits = aoei_rng_below(&r, UINT32_MAX) & (coin(&r) ? 0xffffffffu : 0xffff8000u);
                memcpy(&b[k][n], &bits, sizeof bits);
                if (coin(&r) && coin(&r))
                    b[k][n] = test_specials[aoei_rng_below(&r, (uint32_t)test_n_specials)];
            }
        const int transposed = i % 2;
        emulated_gemm_bf16_pack(packed, b, AOEI_F32, transposed ? 1 : N, transposed ? N : 1, K, 0, N);
        for (size_t k = 0; k < K; k++)
            for (size_t n = 0; n < N; n++)
                assert_int_equal(packed[n / 16 * 512 + k / 2 * 32 + n % 16 * 2 + k % 2],
                                 aoei_bf16_from_f32(transposed ? b[n][k] : b[k][n]));
    }
    free(packed);
}

/* Tests that a NaN in a row of A affects only this row of C, and that an infinity in a column of B affects only this
 * column. The initial values of C are NaN, which must have no effect, because the product is not added to C. */
static void test_specials_stay(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    enum { M = 37, N = 75, K = 420 };
    aoei_rng r = kernel_rng("specials");
    operand x = make_operand(&r, M, K, LAYOUT_ROWS), w = make_operand(&r, N, K, LAYOUT_ROWS);
    float *c = malloc(sizeof(float[M][N]));
    assert_non_null(c);
    memset(c, 0xff, sizeof(float[M][N]));
    x.bf16[5 * x.row + 419] = 0x7fc0;
    w.bf16[70 * w.row + 19] = 0x7f80;
    multiply_part(&x, &w, NULL, K, c, N, (part){.m1 = M, .n1 = N, .k1 = K});
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            assert_int_equal(isnan(c[m * N + n]) != 0, m == 5);
            assert_int_equal(isinf(c[m * N + n]) != 0, m != 5 && n == 70);
        }
    free(c);
    free_operand(&x);
    free_operand(&w);
}

/* Tests empty products. A product without rows or columns must write nothing. A product with K = 0 must keep the stored
 * value if `accumulate` is set, and store the bias otherwise. */
static void test_empty(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    amx_counts counts;
    float c[3] = {1, -0.0f, 1e-45f};
    const float same[3] = {1, -0.0f, 1e-45f}, bias[3] = {1, 2, 3};
    aoei_gemm_args g = {.M = 1, .N = 3, .c = c, .c_row = 3, .c_type = AOEI_F32, .accumulate = 1, .scale = 1};
    emulate(&g, 0, &counts);
    assert_memory_equal(c, same, sizeof c);
    g.M = 0;
    g.K = 9;
    emulate(&g, 0, &counts);
    g.M = 1;
    g.N = 0;
    emulate(&g, 0, &counts);
    assert_memory_equal(c, same, sizeof c);
    g = (aoei_gemm_args){.M = 1, .N = 3, .c = c, .c_row = 3, .c_type = AOEI_F32, .scale = 1, .bias = bias};
    emulate(&g, 0, &counts);
    assert_memory_equal(c, bias, sizeof c);
}

/* ---- instruction counts */

/* Checks the instruction counts of an M x N x K product. All sizes must be multiples of 32, and M at most 512. The
 * kernel must load one tile per dot instruction. For each tile of C and each chunk of K, it must store the sums once.
 * For each chunk except the first, it must load the stored sums once. For the first chunk, it must zero the
 * accumulators. */
static void check_counts(const amx_counts *c, size_t M, size_t N, size_t K) {
    const size_t blocks = M / 32 * (N / 32), steps = K / 32, chunks = M > 32 ? (steps + 11) / 12 : 1;
    print_message(
        "%zu x %zu x %zu: %zu dots, %zu loads, %zu stores; at least %zu dots between aliasing stores and loads\n", M, N,
        K, c->dots, c->loads, c->stores, c->least_alias);
    assert_int_equal(c->configures, 1);
    assert_int_equal(c->releases, 1);
    assert_int_equal(c->dots, 4 * blocks * steps);
    assert_int_equal(c->zeros, 4 * blocks);
    assert_int_equal(c->loads, 4 * blocks * steps + 4 * blocks * (chunks - 1));
    assert_int_equal(c->stores, 4 * blocks * chunks);
    assert_int_equal(c->load_lines, 16 * c->loads); /* no row of a tile crosses a cache line; a tile has 16 rows */
}

/* Returns the instruction counts of an M x N x K product. A is row-major, B is packed at the start of a page, and C is
 * bf16. If `aligned` is 1, the rows of A are whole cache lines. */
static amx_counts count(size_t M, size_t N, size_t K, int aligned) {
    const size_t bytes = emulated_gemm_bf16_packed_size(K, N), a_row = aligned ? K : K + 1;
    aoei_bf16 *a = aligned_alloc(64, (M * a_row * sizeof *a + 63) / 64 * 64), *c = calloc(M * N, sizeof *c);
    void *packed = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    amx_counts counts;
    assert_true(a && c && packed);
    memset(packed, 0, bytes);
    memset(a, 0, M * a_row * sizeof *a);
    const aoei_gemm_args g = {.M = M,
                              .N = N,
                              .K = K,
                              .a = a,
                              .a_row = a_row,
                              .a_col = 1,
                              .packed = packed,
                              .c = c,
                              .c_row = N,
                              .c_type = AOEI_BF16,
                              .scale = 1};
    emulate(&g, bytes, &counts);
    free(a);
    free(c);
    free(packed);
    return counts;
}

static void test_counts(void **state) {
    (void)state;
    if (!can_emulate())
        return;
    static const size_t shapes[][3] = {{512, 96, 768}, {256, 64, 3072}, {384, 64, 2048}, {512, 64, 384}, {32, 64, 768}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t M = shapes[i][0], N = shapes[i][1], K = shapes[i][2];
        const amx_counts in_place = count(M, N, K, 1), c = count(M, N, K, 0);
        check_counts(&in_place, M, N, K);
        check_counts(&c, M, N, K);
        /* A load waits for a pending store if both addresses have the same offset within a page, in cache lines. No
         * load reads memory that one of the 8 most recent stores wrote. Dot instructions separate a load from every
         * earlier store with the same offset. */
        assert_true(c.least_reuse == SIZE_MAX);
        assert_true(c.least_alias >= (K > 384 ? 1 : 3));
    }
    /* A block with a single row or column of tiles needs 2 dot instructions instead of 4. The kernel must not load
     * unused tiles. */
    amx_counts c = count(16, 32, 96, 0);
    assert_true(c.dots == 2 * 3 && c.loads == 3 * 3 && c.stores == 2);
    c = count(32, 16, 96, 0);
    assert_true(c.dots == 2 * 3 && c.loads == 3 * 3 && c.stores == 2);
    c = count(5, 7, 96, 0);
    assert_true(c.dots == 3 && c.loads == 2 * 3 && c.stores == 1);
}

/* ---- real instructions */

static void test_native(void **state) {
    (void)state;
    aoei_tier tier = AOEI_TIER_C;
    assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
    if (tier < AOEI_TIER_AMX) {
        print_message("SKIP: this CPU or AOE_CPU does not support tier amx\n");
        return;
    }
    aoei_rng r = kernel_rng("native");
    for (int i = 0; i < 60; i++) {
        product p = random_product(&r, kernel_size(&r, 1, 100), kernel_size(&r, 1, 100), kernel_size(&r, 1, 900));
        p = (product){
            .M = p.M, .N = p.N, .K = p.K, .a_layout = p.a_layout, .b_layout = p.b_layout, .b_format = p.b_format};
        trial t;
        create_trial(&t, &r, &p);
        aoei_gemm_bf16_amx(&t.g, scratch);
        for (size_t m = 0; m < p.M; m++)
            for (size_t n = 0; n < p.N; n++)
                check_sum(&t.a, &t.b, m, n, p.K, 0, ((const float *)(const void *)t.c.data)[m * t.c.row + n]);
        free_trial(&t);
    }
}

static int setup(void **state) {
    (void)state;
    /* initially NaN; kernels.h requires 64-byte alignment; the address is not the start of a page */
    scratch_span = test_span_create(AOEI_GEMM_SCRATCH, 48);
    scratch = scratch_span.data;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_span_free(&scratch_span);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_instruction),     cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_padded),          cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_in_place),        cmocka_unit_test(test_long_sums),
                                       cmocka_unit_test(test_pieces),          cmocka_unit_test(test_packed_format),
                                       cmocka_unit_test(test_packed_rounding), cmocka_unit_test(test_specials_stay),
                                       cmocka_unit_test(test_empty),           cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_native)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

#else

int main(void) {
    print_message("SKIP: tier amx: x86-64 only\n");
    return 0;
}

#endif
