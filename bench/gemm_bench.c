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
#include "nn/gemm.h"
#include "support/peak.h"
#include "support/series.h"

enum { RUNS = 9, RUNS_C = 5 };

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
    bench_series times = {.n = 0};
    aoei_gemm(ctx, &g);
    for (size_t run = 0; run < runs; run++) {
        const double start = aoei_now();
        for (size_t i = 0; i < repeat; i++)
            aoei_gemm(ctx, &g);
        bench_series_add(&times, (aoei_now() - start) / (double)repeat);
    }
    const double fastest = bench_fastest(&times);
    char shape[64], share[16] = "-";
    snprintf(shape, sizeof shape, "%zux%zux%zu", M, N, K);
    if (peak > 0)
        snprintf(share, sizeof share, "%.1f%%", 100 * flops / fastest / peak);
    printf("%-14s %-7s %7zu %-14s %10.4f %10.4f %9.1f %7s\n", products[which].name, aoe_context_tier(ctx),
           aoe_context_threads(ctx), shape, 1e3 * fastest, 1e3 * bench_median(&times), flops / fastest / 1e9, share);
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
    const double peak = bench_peak(ctx, AOE_DTYPE_F32);
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
