/* SPDX-License-Identifier: MIT
 * Measures the speed of matmuls with the shapes that occur in encoders. For batches of 512 to 2,048 tokens, it measures
 * the matmuls of the forward pass, of the backward pass and of the gradients of the weights. For single short texts, it
 * measures the matmuls of the forward pass.
 *
 *     gemm_bench [THREADS [TIER [f32|bf16]]]     THREADS: 0 for all threads; TIER (instruction set) and f32 or bf16:
 *                                                measure only these
 *
 * Prints, for each matmul, the fastest and the median time of the runs, the GFLOP/s of the fastest run, and these
 * GFLOP/s as a percentage of the peak. The peak is the rate of multiply-adds whose operands are in registers. It is
 * measured before the matmuls of each data type, with the same number of threads and with the instructions that the
 * matmul uses: float32 vectors, bf16 vectors or tiles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "nn/dtype.h"
#include "nn/gemm.h"
#include "support/peak.h"
#include "support/series.h"

enum { RUNS = 15, RUNS_C = 3 };

typedef enum form {
    NT,        /* x w^T */
    NT_PACKED, /* x w^T, where w is packed before the measurement */
    NT_GELU,   /* gelu(x w^T + b), where w is packed before the measurement; the input of GELU is stored */
    NN,        /* dy w */
    TN         /* dw += dy^T x, where dw is float32 */
} form;

static const char *const names[] = {"x w^T", "x w^T packed", "gelu(x w^T + b)", "dy w", "dw += dy^T x"};

static const struct {
    form form;
    size_t M, N, K;
} matmuls[] = {
    {NT_PACKED, 512, 768, 768},   {NT_PACKED, 2048, 768, 768},  {NT_PACKED, 2048, 3072, 768},
    {NT_PACKED, 2048, 768, 3072}, {NT_PACKED, 768, 3072, 2048}, {NT_PACKED, 1024, 1536, 384},
    {NT_GELU, 2048, 3072, 768},   {NT, 2048, 768, 768},         {NT, 2048, 768, 3072},
    {NN, 2048, 768, 768},         {NN, 2048, 768, 3072},        {NN, 2048, 3072, 768},
    {TN, 768, 768, 2048},         {TN, 3072, 768, 2048},        {TN, 768, 3072, 2048},
    {NT_PACKED, 1, 384, 384},     {NT_PACKED, 1, 768, 768},     {NT_PACKED, 1, 3072, 768},
    {NT_PACKED, 1, 768, 3072},    {NT_PACKED, 2, 768, 768},     {NT_PACKED, 4, 768, 768},
    {NT_PACKED, 8, 768, 768},     {NT_PACKED, 16, 384, 384},    {NT_PACKED, 16, 1536, 384},
    {NT_PACKED, 16, 384, 1536},   {NT_PACKED, 16, 768, 768},    {NT_PACKED, 32, 768, 768},
    {NT_PACKED, 32, 3072, 768},
};

#define LARGEST ((size_t)2048 * 3072) /* maximum number of elements of an operand */

typedef struct memory {
    /* [LARGEST] a, b: operands; c: result; pre: input of GELU; packed: packed weights; all in float32 or bf16 */
    void *a, *b, *c, *pre, *packed;
    float *bias; /* [LARGEST]: bias of the output columns */
} memory;

static void fill(void *p, aoei_dtype type, size_t period) {
    for (size_t i = 0; i < LARGEST; i++) {
        const float x = (float)(i % period) / 64 - 0.45f;
        if (type == AOEI_BF16)
            ((aoei_bf16 *)p)[i] = aoei_bf16_from_f32(x);
        else
            ((float *)p)[i] = x;
    }
}

static aoei_gemm_args make_product(const aoe_context *ctx, const memory *m, aoei_dtype type, size_t which) {
    const form f = matmuls[which].form;
    const size_t M = matmuls[which].M, N = matmuls[which].N, K = matmuls[which].K;
    const int nt = f == NT || f == NT_PACKED || f == NT_GELU;
    aoei_gemm_args g = {.M = M,
                        .N = N,
                        .K = K,
                        .a = m->a,
                        .a_row = f == TN ? 1 : K,
                        .a_col = f == TN ? M : 1,
                        .b = m->b,
                        .b_row = nt ? 1 : N,
                        .b_col = nt ? K : 1,
                        .c = m->c,
                        .c_row = N,
                        .c_type = f == TN ? AOEI_F32 : type,
                        .accumulate = f == TN,
                        .scale = 1};
    if (f == NT_PACKED || f == NT_GELU) {
        aoei_gemm_pack(ctx, type, m->packed, aoei_tensor_wrap_typed(type, m->b, NULL, N, K), 1);
        g.packed = m->packed;
    }
    if (f == NT_GELU) {
        g.bias = m->bias;
        g.activation = AOEI_GELU;
        g.pre = m->pre;
        g.pre_row = N;
    }
    memset(m->c, 0, M * N * aoei_dtype_size(g.c_type));
    return g;
}

static void measure(const aoe_context *ctx, const memory *m, aoei_dtype type, size_t which, double peak) {
    const aoei_gemm_args g = make_product(ctx, m, type, which);
    const double flops = 2.0 * (double)g.M * (double)g.N * (double)g.K;
    /* short matmuls are repeated more often, so that the measured time is much longer than the resolution of the
     * clock */
    const size_t repeat = flops < 1e8 ? 200 : flops < 1e9 ? 20 : 1;
    const size_t runs = ctx->tier == AOEI_TIER_C ? RUNS_C : RUNS;
    bench_series times = {.n = 0};
    aoei_gemm(ctx, type, &g);
    for (size_t run = 0; run < runs; run++) {
        const double start = aoei_now();
        for (size_t i = 0; i < repeat; i++)
            aoei_gemm(ctx, type, &g);
        bench_series_add(&times, (aoei_now() - start) / (double)repeat);
    }
    const double fastest = bench_fastest(&times);
    char shape[64], share[16] = "-";
    snprintf(shape, sizeof shape, "%zux%zux%zu", g.M, g.N, g.K);
    if (peak > 0)
        snprintf(share, sizeof share, "%.1f%%", 100 * flops / fastest / peak);
    printf("%-15s %-4s %-10s %7zu %-14s %10.4f %10.4f %9.1f %7s\n", names[matmuls[which].form],
           type == AOEI_BF16 ? "bf16" : "f32", aoe_context_tier(ctx), aoe_context_threads(ctx), shape, 1e3 * fastest,
           1e3 * bench_median(&times), flops / fastest / 1e9, share);
}

static void bench_type(const aoe_context *ctx, memory *m, aoei_dtype type) {
    double peak = bench_peak(ctx, type == AOEI_BF16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32);
    if (!(peak > 0)) /* a tier without bf16 instructions computes with float32 vectors, so their peak is the limit */
        peak = bench_peak(ctx, AOE_DTYPE_F32);
    if (peak > 0)
        printf("%-15s %-4s %-10s %7zu %-14s %10s %10s %9.1f %7s\n", "registers", type == AOEI_BF16 ? "bf16" : "f32",
               aoe_context_tier(ctx), aoe_context_threads(ctx), "-", "-", "-", peak / 1e9, "100.0%");
    fill(m->a, type, 61);
    fill(m->b, type, 53);
    for (size_t i = 0; i < sizeof matmuls / sizeof *matmuls; i++)
        measure(ctx, m, type, i, peak);
}

/* Measures all matmuls on one tier. only: "f32" or "bf16" measures only this data type; NULL measures both. */
static int bench_tier(memory *m, size_t threads, aoei_tier tier, const char *only) {
    aoe_context *ctx;
    aoe_error err;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    if (threads)
        o.threads = threads;
    setenv("AOE_CPU", aoei_tier_name(tier), 1);
    if (aoe_context_create(&ctx, &o, &err)) {
        fprintf(stderr, "gemm_bench: %s\n", err.message);
        return 1;
    }
    /* tiers with bf16 instructions add only a bf16 matmul; their float32 matmul is that of a lower tier */
    if (!aoei_tier_bf16(tier) && (!only || !strcmp(only, "f32")))
        bench_type(ctx, m, AOEI_F32);
    if (!only || !strcmp(only, "bf16"))
        bench_type(ctx, m, AOEI_BF16);
    aoe_context_destroy(ctx);
    return 0;
}

int main(int argc, char **argv) {
    const size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t bytes = LARGEST * sizeof(float);
    memory m = {aoei_aligned(bytes), aoei_aligned(bytes), aoei_aligned(bytes),
                aoei_aligned(bytes), aoei_aligned(bytes), aoei_aligned(bytes)};
    int failed = !m.a || !m.b || !m.c || !m.pre || !m.packed || !m.bias;
    if (failed)
        fprintf(stderr, "gemm_bench: out of memory: six matrices of %zu bytes\n", bytes);
    if (!failed) {
        fill(m.bias, AOEI_F32, 37);
        printf("%-15s %-4s %-10s %7s %-14s %10s %10s %9s %7s\n", "matmul", "type", "tier", "threads", "MxNxK",
               "fastest ms", "median ms", "GFLOP/s", "of peak");
    }
    for (aoei_tier tier = AOEI_TIER_C; !failed && tier <= aoei_cpu_detect(); tier++)
        if (aoei_cpu_has(tier) && (argc < 3 || !strcmp(argv[2], aoei_tier_name(tier))))
            failed = bench_tier(&m, threads, tier, argc > 3 ? argv[3] : NULL);
    aoei_aligned_free(m.a);
    aoei_aligned_free(m.b);
    aoei_aligned_free(m.c);
    aoei_aligned_free(m.pre);
    aoei_aligned_free(m.packed);
    aoei_aligned_free(m.bias);
    return failed;
}
