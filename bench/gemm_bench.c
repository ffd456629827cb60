/* SPDX-License-Identifier: MIT
 * Speed of the float32 products at the shapes of BERT base: a batch of 2,048
 * tokens forward, backward and in weight gradients, and single short texts.
 *
 *     gemm [THREADS [TIER]]     threads 0: all; tier: one only
 *
 * For each product the fastest and the median of the runs, GFLOP/s at the
 * fastest, and its share of the fused multiply-adds the same threads make from
 * registers, measured just before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "nn/gemm.h"

#if AOEI_X86_64
#include <immintrin.h>
#endif

enum { RUNS = 9, RUNS_C = 5, PEAK_STEPS = 400000, CHAINS = 12 };

typedef enum form {
    NT,        /* x w^T */
    NT_PACKED, /* the same with w packed before */
    NN,        /* dy w */
    TN         /* dw += dy^T x */
} form;

static const struct {
    const char *name;
    form form;
    size_t M, N, K;
} products[] = {
    {"x w^T", NT, 2048, 768, 768},
    {"x w^T", NT, 2048, 3072, 768},
    {"x w^T", NT, 2048, 768, 3072},
    {"x w^T packed", NT_PACKED, 2048, 768, 768},
    {"x w^T packed", NT_PACKED, 2048, 3072, 768},
    {"x w^T packed", NT_PACKED, 2048, 768, 3072},
    {"dy w", NN, 2048, 768, 768},
    {"dy w", NN, 2048, 768, 3072},
    {"dy w", NN, 2048, 3072, 768},
    {"dw += dy^T x", TN, 768, 768, 2048},
    {"dw += dy^T x", TN, 3072, 768, 2048},
    {"dw += dy^T x", TN, 768, 3072, 2048},
    {"x w^T", NT, 8, 768, 768},
    {"x w^T", NT, 32, 768, 768},
    {"x w^T packed", NT_PACKED, 1, 768, 768},
    {"x w^T packed", NT_PACKED, 8, 768, 768},
    {"x w^T packed", NT_PACKED, 32, 768, 768},
    {"x w^T packed", NT_PACKED, 32, 3072, 768},
};

#define LARGEST ((size_t)2048 * 3072) /* floats in an operand */

#if AOEI_X86_64
#define FOR_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define START_512(i)  __m512 c##i = _mm512_set1_ps((float)i);
#define STEP_512(i)   c##i = _mm512_fmadd_ps(c##i, x, y);
#define ADD_512(i)    sum = _mm512_add_ps(sum, c##i);
#define START_256(i)  __m256 c##i = _mm256_set1_ps((float)i);
#define STEP_256(i)   c##i = _mm256_fmadd_ps(c##i, x, y);
#define ADD_256(i)    sum = _mm256_add_ps(sum, c##i);

/* Independent chains, as many as hide the latency; returns something so that they are not optimised away. */
AOEI_TARGET("avx512f") static float chains_avx512(void) {
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
    __m512 sum = _mm512_setzero_ps();
    FOR_CHAINS(START_512);
    for (size_t i = 0; i < PEAK_STEPS; i++) {
        FOR_CHAINS(STEP_512);
    }
    FOR_CHAINS(ADD_512);
    return _mm512_reduce_add_ps(sum);
}

AOEI_TARGET("avx2,fma") static float chains_avx2(void) {
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    __m256 sum = _mm256_setzero_ps();
    FOR_CHAINS(START_256);
    for (size_t i = 0; i < PEAK_STEPS; i++) {
        FOR_CHAINS(STEP_256);
    }
    FOR_CHAINS(ADD_256);
    return _mm256_cvtss_f32(sum);
}
#endif

typedef struct peak_job {
    aoei_tier tier;
    volatile float *sink; /* [threads] */
} peak_job;

static void peak_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    peak_job *j = arg;
#if AOEI_X86_64
    j->sink[task] = j->tier == AOEI_TIER_AVX2 ? chains_avx2() : chains_avx512();
#else
    j->sink[task] = 0;
#endif
}

/* FLOP/s of all threads from registers; 0 for tier c, whose vector width is the compiler's choice. */
static double measure_peak(const aoe_context *ctx) {
    const size_t threads = aoe_context_threads(ctx);
    if (ctx->kernels.tier == AOEI_TIER_C)
        return 0;
    float *sink = aoei_malloc_array(threads, sizeof *sink);
    if (!sink)
        return 0;
    peak_job job = {ctx->kernels.tier, sink};
    double best = 1e30;
    for (int run = 0; run < 15; run++) {
        const double start = aoei_now();
        aoei_parallel_for(ctx->pool, threads, peak_task, &job);
        const double seconds = aoei_now() - start;
        best = seconds < best ? seconds : best;
    }
    aoei_free(sink);
    const double lanes = ctx->kernels.tier == AOEI_TIER_AVX2 ? 8 : 16;
    return (double)threads * PEAK_STEPS * CHAINS * lanes * 2 / best;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct memory {
    float *a, *b, *c, *packed; /* [LARGEST] each */
} memory;

static void measure(const aoe_context *ctx, const memory *m, size_t which, double peak) {
    const form f = products[which].form;
    const size_t M = products[which].M, N = products[which].N, K = products[which].K;
    aoei_gemm_f32 g = {.M = M, .N = N, .K = K, .a = m->a, .b = m->b, .c = m->c, .c_row = N, .scale = 1, .accumulate = f == TN};
    g.a_row = f == TN ? 1 : K;
    g.a_col = f == TN ? M : 1;
    g.b_row = f == NT || f == NT_PACKED ? 1 : N;
    g.b_col = f == NT || f == NT_PACKED ? K : 1;
    if (f == NT_PACKED) {
        ctx->kernels.gemm_f32_pack(m->packed, m->b, g.b_row, g.b_col, K, 0, N);
        g.packed = m->packed;
    }
    memset(m->c, 0, M * N * sizeof(float));
    const double flops = 2.0 * (double)M * (double)N * (double)K;
    const size_t repeat = flops < 1e9 ? 50 : 1; /* short products: several in one measurement */
    const size_t runs = ctx->kernels.tier == AOEI_TIER_C ? RUNS_C : RUNS;
    double seconds[RUNS];
    aoei_gemm(ctx, &g);
    for (size_t run = 0; run < runs; run++) {
        const double start = aoei_now();
        for (size_t i = 0; i < repeat; i++)
            aoei_gemm(ctx, &g);
        seconds[run] = (aoei_now() - start) / (double)repeat;
    }
    qsort(seconds, runs, sizeof *seconds, compare);
    char shape[64], share[16] = "-";
    snprintf(shape, sizeof shape, "%zux%zux%zu", M, N, K);
    if (peak > 0)
        snprintf(share, sizeof share, "%.1f%%", 100 * flops / seconds[0] / peak);
    printf("%-14s %-7s %7zu %-14s %10.4f %10.4f %9.1f %7s\n", products[which].name, aoe_context_tier(ctx),
           aoe_context_threads(ctx), shape, 1e3 * seconds[0], 1e3 * seconds[runs / 2], flops / seconds[0] / 1e9, share);
}

static int bench_tier(const memory *m, size_t threads, aoei_tier tier) {
    aoe_context *ctx;
    aoe_error err;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    o.threads = threads;
    setenv("AOE_CPU", aoei_tier_name(tier), 1);
    if (aoe_context_create(&ctx, &o, &err)) {
        fprintf(stderr, "gemm: %s\n", err.message);
        return 1;
    }
    const double peak = measure_peak(ctx);
    if (peak > 0)
        printf("%-14s %-7s %7zu %-14s %10s %10s %9.1f %7s\n", "registers", aoe_context_tier(ctx), aoe_context_threads(ctx), "-",
               "-", "-", peak / 1e9, "100.0%");
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        measure(ctx, m, i, peak);
    aoe_context_destroy(ctx);
    return 0;
}

int main(int argc, char **argv) {
    const size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t bytes = LARGEST * sizeof(float);
    memory m = {aoei_aligned(bytes), aoei_aligned(bytes), aoei_aligned(bytes), aoei_aligned(bytes)};
    int failed = !m.a || !m.b || !m.c || !m.packed;
    if (failed)
        fprintf(stderr, "gemm: no memory for four matrices of %zu bytes\n", bytes);
    for (size_t i = 0; !failed && i < LARGEST; i++) {
        m.a[i] = (float)(i % 61) / 64 - 0.5f;
        m.b[i] = (float)(i % 53) / 64 - 0.4f;
    }
    if (!failed)
        printf("%-14s %-7s %7s %-14s %10s %10s %9s %7s\n", "product", "tier", "threads", "MxNxK", "fastest ms", "median ms",
               "GFLOP/s", "of peak");
    for (aoei_tier tier = AOEI_TIER_C; !failed && tier <= AOEI_TIER_AVX512 && tier <= aoei_cpu_detect(); tier++)
        if (argc < 3 || !strcmp(argv[2], aoei_tier_name(tier)))
            failed = bench_tier(&m, threads, tier);
    aoei_aligned_free(m.a);
    aoei_aligned_free(m.b);
    aoei_aligned_free(m.c);
    aoei_aligned_free(m.packed);
    return failed;
}
