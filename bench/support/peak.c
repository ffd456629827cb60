/* SPDX-License-Identifier: MIT
 * Measures the peak speed of the CPU's multiply-adds and the transfer rate of its memory. Each loop of multiply-adds
 * uses only registers, and enough independent accumulators to hide the latency of the instructions. AOEI_TARGET
 * compiles a loop for an instruction set beyond the baseline. Such a loop is called only if the tier of the CPU (the
 * highest level of instruction sets that it supports) includes the instruction set. If the tier is amx, the operating
 * system permits the process to use tiles.
 */
#include "peak.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"

#if AOEI_X86_64
#include <immintrin.h>
#endif

enum { STREAMS = 9, VECTOR_STEPS = 400000, CHAINS = 12, TILE_STEPS = 60000, TILE_CHAINS = 6 };

#define PEAK_SECONDS 0.25              /* time for which a loop that takes a few milliseconds is repeated */
#define STREAM_BLOCK ((size_t)1 << 15) /* number of 8-byte words that one task copies */

/* The loop of multiply-adds that each thread executes. It returns a value so that the compiler does not remove it. */
typedef struct unit {
    const char *name;
    float (*loop)(void);
    double flops; /* number of floating-point operations of one call of `loop` */
} unit;

#if AOEI_X86_64
#define FOR_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define START_512(i)  __m512 c##i = _mm512_set1_ps((float)i);
#define STEP_512(i)   c##i = _mm512_fmadd_ps(c##i, x, y);
#define STEP_BF16(i)  c##i = _mm512_dpbf16_ps(c##i, x, y);
#define ADD_512(i)    sum = _mm512_add_ps(sum, c##i);
#define START_256(i)  __m256 c##i = _mm256_set1_ps((float)i);
#define STEP_256(i)   c##i = _mm256_fmadd_ps(c##i, x, y);
#define ADD_256(i)    sum = _mm256_add_ps(sum, c##i);

#define BF16_SMALL 0x3c00 /* 2^-7 */

AOEI_TARGET("avx2,fma") static float loop_avx2(void) {
    const __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
    __m256 sum = _mm256_setzero_ps();
    FOR_CHAINS(START_256);
    for (size_t i = 0; i < VECTOR_STEPS; i++) {
        FOR_CHAINS(STEP_256);
    }
    FOR_CHAINS(ADD_256);
    return _mm256_cvtss_f32(sum);
}

AOEI_TARGET("avx512f") static float loop_avx512(void) {
    const __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
    __m512 sum = _mm512_setzero_ps();
    FOR_CHAINS(START_512);
    for (size_t i = 0; i < VECTOR_STEPS; i++) {
        FOR_CHAINS(STEP_512);
    }
    FOR_CHAINS(ADD_512);
    return _mm512_reduce_add_ps(sum);
}

AOEI_TARGET("avx512f,avx512bw,avx512vl,avx512bf16") static float loop_avx512bf16(void) {
    const __m512bh x = (__m512bh)_mm512_set1_epi16(BF16_SMALL), y = x;
    __m512 sum = _mm512_setzero_ps();
    FOR_CHAINS(START_512);
    for (size_t i = 0; i < VECTOR_STEPS; i++) {
        FOR_CHAINS(STEP_BF16);
    }
    FOR_CHAINS(ADD_512);
    return _mm512_reduce_add_ps(sum);
}

/* Memory layout of the tile configuration, palette 1 (Intel SDM, LDTILECFG). */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16]; /* number of bytes per row of each tile */
    uint8_t rows[16];
} tile_config;

/* Tiles 0 to 5 accumulate 16 x 16 floats each. Tiles 6 and 7 contain 16 x 32 bf16 values each. The memory that tile
 * instructions read is volatile, because the intrinsics of some compilers do not declare that they read memory. Without
 * `volatile`, such a compiler could remove the preceding stores. */
AOEI_TARGET("amx-tile,amx-bf16") static float loop_amx(void) {
    volatile tile_config config = {.palette = 1};
    volatile uint16_t operand[16 * 32];
    float result[16 * 16];
    for (size_t t = 0; t < 8; t++) {
        config.row_bytes[t] = 64;
        config.rows[t] = 16;
    }
    for (size_t i = 0; i < 16 * 32; i++)
        operand[i] = BF16_SMALL;
    _tile_loadconfig((const void *)(uintptr_t)&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_loadd(6, (const void *)(uintptr_t)operand, 64);
    _tile_loadd(7, (const void *)(uintptr_t)operand, 64);
    for (size_t i = 0; i < TILE_STEPS; i++) {
        _tile_dpbf16ps(0, 6, 7);
        _tile_dpbf16ps(1, 6, 7);
        _tile_dpbf16ps(2, 6, 7);
        _tile_dpbf16ps(3, 6, 7);
        _tile_dpbf16ps(4, 6, 7);
        _tile_dpbf16ps(5, 6, 7);
    }
    _tile_stored(0, result, 64);
    _tile_release();
    return result[0];
}

/* Each multiply-add counts as two floating-point operations. A bf16 instruction computes two multiply-adds per lane. A
 * tile instruction computes 16 x 16 x 32 multiply-adds. */
static const unit avx2 = {"float32 vectors", loop_avx2, 8.0 * 2 * CHAINS *VECTOR_STEPS};
static const unit avx512 = {"float32 vectors", loop_avx512, 16.0 * 2 * CHAINS *VECTOR_STEPS};
static const unit avx512bf16 = {"bf16 vectors", loop_avx512bf16, 16.0 * 2 * 2 * CHAINS *VECTOR_STEPS};
static const unit amx = {"tiles", loop_amx, 16.0 * 16 * 32 * 2 * TILE_CHAINS *TILE_STEPS};

/* Returns the loop for `dtype` on the highest tier that the CPU and AOE_CPU allow, or NULL if there is none. The tier
 * may be higher than the tier of aoe's kernels, because the peak is a property of the machine. */
static const unit *find_unit(const aoe_context *ctx, aoe_dtype dtype) {
    aoei_tier tier = AOEI_TIER_C;
    if (aoei_cpu_tier(&tier, NULL))
        return NULL;
    if (ctx->tier == AOEI_TIER_C)
        return NULL;
    if (dtype == AOE_DTYPE_BF16)
        return tier == AOEI_TIER_AMX ? &amx : tier == AOEI_TIER_AVX512BF16 ? &avx512bf16 : NULL;
    return tier == AOEI_TIER_AVX2 ? &avx2 : &avx512;
}
#else
static const unit *find_unit(const aoe_context *ctx, aoe_dtype dtype) {
    (void)ctx;
    (void)dtype;
    return NULL;
}
#endif

typedef struct peak_job {
    const unit *unit;
    volatile float *sink; /* [threads] results of the loops */
} peak_job;

static void peak_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const peak_job *j = arg;
    j->sink[task] = j->unit->loop();
}

double bench_peak(const aoe_context *ctx, aoe_dtype dtype) {
    const size_t threads = aoe_context_threads(ctx);
    const unit *u = find_unit(ctx, dtype);
    float *sink = u ? aoei_malloc_array(threads, sizeof *sink) : NULL;
    if (!sink)
        return 0;
    peak_job job = {u, sink};
    double best = 1e30;
    for (const double end = aoei_now() + PEAK_SECONDS; aoei_now() < end;) {
        const double start = aoei_now();
        aoei_parallel_for(ctx->pool, threads, peak_task, &job);
        const double seconds = aoei_now() - start;
        best = seconds < best ? seconds : best;
    }
    aoei_free(sink);
    return (double)threads * u->flops / best;
}

const char *bench_peak_unit(const aoe_context *ctx, aoe_dtype dtype) {
    const unit *u = find_unit(ctx, dtype);
    return u ? u->name : "-";
}

typedef struct stream_job {
    uint64_t *to, *from; /* [n] words */
    size_t n;
} stream_job;

static void copy_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const stream_job *j = arg;
    const size_t first = task * STREAM_BLOCK, rest = j->n - first;
    memcpy(j->to + first, j->from + first, (rest < STREAM_BLOCK ? rest : STREAM_BLOCK) * sizeof *j->to);
}

/* Updates the words in place. A copy must read the cache lines that it overwrites; an update reads only the words that
 * it updates. */
static void update_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const stream_job *j = arg;
    const size_t first = task * STREAM_BLOCK, rest = j->n - first;
    uint64_t *p = j->to + first;
    for (size_t i = 0, n = rest < STREAM_BLOCK ? rest : STREAM_BLOCK; i < n; i++)
        p[i] += 1;
}

/* Runs a job several times and returns the fastest time in seconds. */
static double stream(const aoe_context *ctx, aoei_task_fn task, stream_job *job) {
    double best = 1e30;
    for (int run = 0; run < STREAMS; run++) {
        const double start = aoei_now();
        aoei_parallel_for(ctx->pool, (job->n + STREAM_BLOCK - 1) / STREAM_BLOCK, task, job);
        const double seconds = aoei_now() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

double bench_memory_rate(const aoe_context *ctx, size_t bytes) {
    const size_t half = bytes / 2 / sizeof(uint64_t) * sizeof(uint64_t);
    stream_job job = {aoei_aligned(half), aoei_aligned(half), half / sizeof(uint64_t)};
    double best = 0;
    if (job.to && job.from && job.n) {
        memset(job.from, 1, half);
        memset(job.to, 0, half);
        const double copy = stream(ctx, copy_task, &job), update = stream(ctx, update_task, &job);
        best = copy < update ? copy : update;
    }
    aoei_aligned_free(job.to);
    aoei_aligned_free(job.from);
    return best > 0 ? 2 * (double)half / best : 0;
}
