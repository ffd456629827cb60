/* SPDX-License-Identifier: MIT
 * Compares the speed of the matmuls of aoe and oneDNN, with the shapes of an encoder. The measurements of the two
 * libraries alternate. The matmul is C = A W^T, where A [M, K] and C [M, N] are row-major, and all matrices have the
 * same data type. Both libraries pack the weights W before the measurement (oneDNN: format `any` and a reorder). oneDNN
 * is measured with its primitives `matmul` and `inner product`; the faster one (by median time) is compared with aoe.
 *
 *     gemm_onednn [--threads N] [--rounds N] [--type f32|bf16] [--quick] [--json FILE]
 *
 * Each measurement begins with a pause, in which the idle threads of the other library stop spinning, and with one call
 * that is not measured. Then the call is repeated for TURN_SECONDS. Before the measurements, the program checks that
 * the results of both libraries agree.
 */
#include <dnnl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support/peak.h"
#include "../support/series.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/cpu.h"
#include "nn/gemm.h"

enum { SIDES = 3, AOE = 0, MATMUL = 1, INNER_PRODUCT = 2, MAX_CALLS = 64 };
#define TURN_SECONDS 0.03
#define PAUSE_NS     30000000L

static const struct {
    size_t M, N, K;
} shapes[] = {{512, 768, 768},   {2048, 768, 768},  {2048, 3072, 768},
              {2048, 768, 3072}, {768, 3072, 2048}, {1024, 1536, 384}};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };
#define LARGEST ((size_t)2048 * 3072) /* maximum number of elements of an operand */

typedef struct options {
    size_t threads, rounds;
    int quick;        /* 1: measure only two shapes */
    const char *type; /* data type to measure, "f32" or "bf16"; NULL: both */
    const char *json; /* path of the JSON output file; NULL: none */
} options;

/* Operands and results of one matmul. Each buffer has space for LARGEST floats; if bf16 is 1, the elements are bf16. */
typedef struct problem {
    size_t M, N, K;
    int bf16;
    void *a, *w;    /* a: operand A [M, K]; w: operand W [N, K] */
    void *c[SIDES]; /* result C [M, N] of each side (aoe, oneDNN matmul, oneDNN inner product) */
    float *packed;  /* W in the packed format of aoe */
} problem;

typedef struct side {
    const char *name;
    int present;
    bench_series times;
    dnnl_primitive_t primitive;
    dnnl_memory_t src, weights, dst;
    char implementation[64];
} side;

typedef struct run {
    const options *o;
    aoe_context *ctx;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    problem p;
    side sides[SIDES];
    double peak[2]; /* peak in FLOP/s; index 0: f32, index 1: bf16 */
    FILE *json;     /* JSON output file, or NULL */
    int rows;       /* number of rows written to `json` */
} run;

/* ------------------------------------------------------------------ oneDNN */

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const dnnl_status_t status = (call);                                                                           \
        if (status != dnnl_success)                                                                                    \
            return (int)status;                                                                                        \
    } while (0)

/* Creates the description *pd of a oneDNN primitive. which: MATMUL (weights [K, N]) or INNER_PRODUCT (weights [N, K]);
 * for both, src is [M, K] and dst is [M, N]. Sets *plain_weights to the layout of p->w. */
static int describe(const problem *p, int which, dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                    dnnl_memory_desc_t *plain_weights) {
    const dnnl_data_type_t type = p->bf16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_dim_t M = (dnnl_dim_t)p->M, N = (dnnl_dim_t)p->N, K = (dnnl_dim_t)p->K;
    const dnnl_dims_t src_dims = {M, K}, dst_dims = {M, N};
    const dnnl_dims_t weights_dims = {which == MATMUL ? K : N, which == MATMUL ? N : K};
    dnnl_memory_desc_t src, weights, dst;
    TRY(dnnl_memory_desc_init_by_tag(&src, 2, src_dims, type, dnnl_ab));
    TRY(dnnl_memory_desc_init_by_tag(&dst, 2, dst_dims, type, dnnl_ab));
    TRY(dnnl_memory_desc_init_by_tag(&weights, 2, weights_dims, type, dnnl_format_tag_any));
    TRY(dnnl_memory_desc_init_by_tag(plain_weights, 2, weights_dims, type, which == MATMUL ? dnnl_ba : dnnl_ab));
    if (which == MATMUL) {
        dnnl_matmul_desc_t d;
        TRY(dnnl_matmul_desc_init(&d, &src, &weights, NULL, &dst));
        TRY(dnnl_primitive_desc_create(pd, &d, NULL, engine, NULL));
    } else {
        dnnl_inner_product_desc_t d;
        TRY(dnnl_inner_product_forward_desc_init(&d, dnnl_forward_inference, &src, &weights, NULL, &dst));
        TRY(dnnl_primitive_desc_create(pd, &d, NULL, engine, NULL));
    }
    return 0;
}

static int pack_weights(run *r, side *s, const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *wanted) {
    dnnl_memory_t from = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t reorder = NULL;
    TRY(dnnl_memory_create(&from, plain, r->engine, r->p.w));
    TRY(dnnl_memory_create(&s->weights, wanted, r->engine, DNNL_MEMORY_ALLOCATE));
    TRY(dnnl_reorder_primitive_desc_create(&pd, plain, r->engine, wanted, r->engine, NULL));
    TRY(dnnl_primitive_create(&reorder, pd));
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, s->weights}};
    TRY(dnnl_primitive_execute(reorder, r->stream, 2, args));
    TRY(dnnl_stream_wait(r->stream));
    TRY(dnnl_primitive_destroy(reorder));
    TRY(dnnl_primitive_desc_destroy(pd));
    TRY(dnnl_memory_destroy(from));
    return 0;
}

/* Creates the oneDNN primitive of a side and packs its weights. Returns 0 or the error status of oneDNN. After an
 * error, the objects that were created are not freed, because the program ends. */
static int prepare_onednn(run *r, int which) {
    side *s = &r->sides[which];
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t plain;
    const char *implementation = "";
    TRY((dnnl_status_t)describe(&r->p, which, &pd, r->engine, &plain));
    TRY(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &implementation));
    snprintf(s->implementation, sizeof s->implementation, "%s", implementation);
    TRY((dnnl_status_t)pack_weights(r, s, &plain, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0)));
    TRY(dnnl_memory_create(&s->src, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), r->engine, r->p.a));
    TRY(dnnl_memory_create(&s->dst, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), r->engine, r->p.c[which]));
    TRY(dnnl_primitive_create(&s->primitive, pd));
    TRY(dnnl_primitive_desc_destroy(pd));
    return 0;
}

static void release_onednn(side *s) {
    dnnl_primitive_destroy(s->primitive);
    dnnl_memory_destroy(s->src);
    dnnl_memory_destroy(s->weights);
    dnnl_memory_destroy(s->dst);
}

static void run_onednn(const run *r, const side *s) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, s->src}, {DNNL_ARG_WEIGHTS, s->weights}, {DNNL_ARG_DST, s->dst}};
    dnnl_primitive_execute(s->primitive, r->stream, 3, args);
    dnnl_stream_wait(r->stream);
}

/* --------------------------------------------------------------------- aoe */

static aoei_dtype type_of(const problem *p) {
    return p->bf16 ? AOEI_BF16 : AOEI_F32;
}

static void prepare_aoe(const run *r) {
    const problem *p = &r->p;
    aoei_gemm_pack(r->ctx, type_of(p), p->packed, aoei_tensor_wrap_typed(type_of(p), p->w, NULL, p->N, p->K), 1);
}

static void run_aoe(const run *r) {
    const problem *p = &r->p;
    aoei_gemm(r->ctx, type_of(p),
              &(aoei_gemm_args){.M = p->M,
                                .N = p->N,
                                .K = p->K,
                                .a = p->a,
                                .a_row = p->K,
                                .a_col = 1,
                                .packed = p->packed,
                                .c = p->c[AOE],
                                .c_row = p->N,
                                .c_type = type_of(p),
                                .scale = 1});
}

/* ---------------------------------------------------------------- problems */

static uint16_t to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* rounds to nearest, ties to even; the input is never
                                                                    NaN */
}

static float value_at(const problem *p, const void *c, size_t i) {
    if (!p->bf16)
        return ((const float *)c)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)c)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Fills a buffer with n random values in [-0.5, 0.5) from a linear congruential generator. */
static void fill(const problem *p, void *to, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float x = (float)(seed >> 8) / 16777216.0f - 0.5f;
        if (p->bf16)
            ((uint16_t *)to)[i] = to_bf16(x);
        else
            ((float *)to)[i] = x;
    }
}

/* Returns the maximum absolute difference between the result of a side and the result of oneDNN's matmul, divided by
 * the maximum absolute element of oneDNN's result. Returns NaN if a difference is NaN. */
static double difference(const problem *p, int which) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < p->M * p->N; i++) {
        const double x = value_at(p, p->c[which], i), y = value_at(p, p->c[MATMUL], i), d = fabs(x - y);
        largest = fabs(y) > largest ? fabs(y) : largest;
        worst = d <= worst ? worst : d;
    }
    return worst / largest;
}

static void call(const run *r, int which) {
    if (which == AOE)
        run_aoe(r);
    else
        run_onednn(r, &r->sides[which]);
}

/* Runs all sides once and checks that their results agree. The tolerances allow for rounding errors: both libraries
 * accumulate up to 3,072 terms in float32 and, for bf16, round the sum once. */
static int compare(const run *r) {
    const double tolerance = r->p.bf16 ? 1.0 / 128 : 1e-5;
    for (int i = 0; i < SIDES; i++)
        if (r->sides[i].present)
            call(r, i);
    for (int i = 0; i < SIDES; i++) {
        const double d = r->sides[i].present ? difference(&r->p, i) : 0;
        if (!(d <= tolerance)) {
            fprintf(stderr, "gemm_onednn: %s and %s differ by %g of the largest element\n", r->sides[i].name,
                    r->sides[MATMUL].name, d);
            return 1;
        }
    }
    return 0;
}

static double turn(const run *r, int which, size_t calls) {
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    call(r, which);
    const double start = aoei_now();
    for (size_t i = 0; i < calls; i++)
        call(r, which);
    return (aoei_now() - start) / (double)calls;
}

static int prepare(run *r, size_t shape, int bf16) {
    problem *p = &r->p;
    p->M = shapes[shape].M;
    p->N = shapes[shape].N;
    p->K = shapes[shape].K;
    p->bf16 = bf16;
    fill(p, p->a, p->M * p->K, 1);
    fill(p, p->w, p->N * p->K, 2);
    for (int i = 0; i < SIDES; i++)
        memset(p->c[i], 0xff, p->M * p->N * (bf16 ? 2 : 4));
    prepare_aoe(r);
    r->sides[AOE] = (side){.name = "aoe", .present = 1};
    r->sides[MATMUL] = (side){.name = "oneDNN matmul", .present = 1};
    r->sides[INNER_PRODUCT] = (side){.name = "oneDNN inner product", .present = 1};
    for (int i = MATMUL; i < SIDES; i++) {
        const int status = prepare_onednn(r, i);
        if (status) {
            fprintf(stderr, "gemm_onednn: %s: oneDNN status %d\n", r->sides[i].name, status);
            return 1;
        }
    }
    return compare(r);
}

/* ------------------------------------------------------------------ report */

static const side *best_onednn(const run *r) {
    const side *a = &r->sides[MATMUL], *b = &r->sides[INNER_PRODUCT];
    return bench_median(&a->times) <= bench_median(&b->times) ? a : b;
}

static void print_side(const run *r, const side *s) {
    const problem *p = &r->p;
    const double flops = 2.0 * (double)p->M * (double)p->N * (double)p->K, peak = r->peak[p->bf16];
    if (!s->present) {
        printf(" %9s %9s %8s %6s", "-", "-", "-", "-");
        return;
    }
    const double median = bench_median(&s->times);
    printf(" %9.3f %9.3f %8.1f", 1e3 * bench_fastest(&s->times), 1e3 * median, flops / median / 1e9);
    if (peak > 0)
        printf(" %5.1f%%", 100 * flops / median / peak);
    else
        printf(" %6s", "-");
}

static void write_side(const run *r, const side *s) {
    fprintf(r->json, "{\"name\": \"%s\", \"implementation\": \"%s\", \"ms\": [", s->name, s->implementation);
    for (size_t i = 0; i < s->times.n; i++)
        fprintf(r->json, "%s%.5f", i ? ", " : "", 1e3 * s->times.seconds[i]);
    fprintf(r->json, "]}");
}

/* Prints the row of the current matmul. Returns oneDNN's median time divided by aoe's median time, or 0 if aoe has no
 * such matmul. */
static double report(run *r) {
    const problem *p = &r->p;
    const side *peer = best_onednn(r), *own = &r->sides[AOE];
    char shape[32], ratio[16] = "-";
    const double gain = own->present ? bench_median(&peer->times) / bench_median(&own->times) : 0;
    snprintf(shape, sizeof shape, "%zux%zux%zu", p->M, p->N, p->K);
    if (own->present)
        snprintf(ratio, sizeof ratio, "%.2f", gain);
    printf("%-4s %-14s", p->bf16 ? "bf16" : "f32", shape);
    print_side(r, own);
    print_side(r, peer);
    printf(" %6s  %s %s\n", ratio, peer == &r->sides[MATMUL] ? "matmul" : "inner product", peer->implementation);
    fflush(stdout);
    if (r->json) {
        fprintf(r->json, "%s\n    {\"type\": \"%s\", \"M\": %zu, \"N\": %zu, \"K\": %zu, \"sides\": [",
                r->rows++ ? "," : "", p->bf16 ? "bf16" : "f32", p->M, p->N, p->K);
        for (int i = 0, written = 0; i < SIDES; i++)
            if (r->sides[i].present) {
                fprintf(r->json, "%s", written++ ? ", " : "");
                write_side(r, &r->sides[i]);
            }
        fprintf(r->json, "]}");
    }
    return gain;
}

static int measure_shape(run *r, size_t shape, int bf16, double *ratio) {
    if (prepare(r, shape, bf16))
        return 1;
    size_t calls[SIDES];
    for (int i = 0; i < SIDES; i++) {
        const double seconds = r->sides[i].present ? turn(r, i, 1) : 1;
        const size_t n = (size_t)(TURN_SECONDS / seconds) + 1;
        calls[i] = n < MAX_CALLS ? n : MAX_CALLS;
    }
    for (size_t round = 0; round < r->o->rounds; round++)
        for (size_t i = 0; i < SIDES; i++) {
            const int which = (int)((i + round) % SIDES);
            if (r->sides[which].present)
                bench_series_add(&r->sides[which].times, turn(r, which, calls[which]));
        }
    *ratio = report(r);
    release_onednn(&r->sides[MATMUL]);
    release_onednn(&r->sides[INNER_PRODUCT]);
    return 0;
}

/* Measures all shapes with one data type. Prints the geometric mean of the ratios of the median times, the geometric
 * mean of aoe's speed as a percentage of the peak, and the minimum values that both means should reach. */
static int measure_type(run *r, int bf16) {
    const aoe_dtype type = bf16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
    const double floor = bf16 ? 1.4 : 1.0;
    double logs = 0, shares = 0, ratio;
    size_t n = 0;
    for (size_t i = 0; i < N_SHAPES; i += r->o->quick ? 3 : 1) {
        /* the peak is measured again for every shape and the maximum is used, because other processes may disturb a
         * measurement */
        const double peak = bench_peak(r->ctx, type);
        r->peak[bf16] = peak > r->peak[bf16] ? peak : r->peak[bf16];
        if (measure_shape(r, i, bf16, &ratio))
            return 1;
        if (ratio > 0) {
            const problem *p = &r->p;
            logs += log(ratio);
            shares += log(2.0 * (double)p->M * (double)p->N * (double)p->K / bench_median(&r->sides[AOE].times));
            n++;
        }
    }
    if (!n) {
        printf("%-4s geometric mean: - (this build has no bf16 matmul)\n", bf16 ? "bf16" : "f32");
        return 0;
    }
    printf("%-4s geometric mean: %.2f of oneDNN (floor %.2f)", bf16 ? "bf16" : "f32", exp(logs / (double)n), floor);
    if (r->peak[bf16] > 0)
        printf(", %.1f%% of the peak of %s, %.0f GFLOP/s (floor %s)", 100 * exp(shares / (double)n) / r->peak[bf16],
               bench_peak_unit(r->ctx, type), r->peak[bf16] / 1e9, bf16 ? "55%" : "85%, or oneDNN's rate");
    printf("\n");
    return 0;
}

static int measure(run *r) {
    const dnnl_version_t *v = dnnl_version();
    printf("C = A W^T, weights packed in advance; aoe %s with kernels up to tier %s, oneDNN %d.%d.%d; %zu threads, %zu "
           "rounds\n",
           aoe_version(), aoe_context_tier(r->ctx), v->major, v->minor, v->patch, r->o->threads, r->o->rounds);
    printf("%-4s %-14s %35s %35s\n", "", "", "aoe ----------------------------", "oneDNN -------------------------");
    printf("%-4s %-14s %9s %9s %8s %6s %9s %9s %8s %6s %6s\n", "type", "MxNxK", "fastest", "median ms", "GFLOP/s",
           "peak", "fastest", "median ms", "GFLOP/s", "peak", "ratio");
    for (int bf16 = 1; bf16 >= 0; bf16--) {
        if (r->o->type && strcmp(r->o->type, bf16 ? "bf16" : "f32") != 0)
            continue;
        if (bf16 && !aoei_tier_bf16(r->ctx->tier)) /* oneDNN has no bf16 matmul for this CPU */
            printf("bf16 is not measured: CPU tier %s has no bf16 instructions\n", aoe_context_tier(r->ctx));
        else if (measure_type(r, bf16))
            return 1;
    }
    return 0;
}

/* Sets the environment variable OMP_NUM_THREADS and starts the program again. The restart is necessary because oneDNN's
 * OpenMP runtime reads the variable before main(). */
static void start_with_threads(char **argv, size_t threads) {
    char wanted[24];
    const char *given = getenv("OMP_NUM_THREADS");
    snprintf(wanted, sizeof wanted, "%zu", threads);
    if (given && !strcmp(given, wanted))
        return;
    setenv("OMP_NUM_THREADS", wanted, 1);
    execv("/proc/self/exe", argv);
}

static int parse(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick")) {
            o->quick = 1;
            o->rounds = 2;
            continue;
        }
        if (!value)
            return 1;
        if (!strcmp(argv[i], "--threads"))
            o->threads = strtoul(value, NULL, 10);
        else if (!strcmp(argv[i], "--rounds"))
            o->rounds = strtoul(value, NULL, 10);
        else if (!strcmp(argv[i], "--type"))
            o->type = value;
        else if (!strcmp(argv[i], "--json"))
            o->json = value;
        else
            return 1;
        i++;
    }
    return !o->rounds || o->rounds > BENCH_SERIES_MAX || !o->threads;
}

static int allocate(run *r) {
    const size_t bytes = LARGEST * sizeof(float);
    r->p.a = aoei_aligned(bytes);
    r->p.w = aoei_aligned(bytes);
    r->p.packed = aoei_aligned(bytes);
    for (int i = 0; i < SIDES; i++)
        r->p.c[i] = aoei_aligned(bytes);
    return !r->p.a || !r->p.w || !r->p.packed || !r->p.c[0] || !r->p.c[1] || !r->p.c[2];
}

int main(int argc, char **argv) {
    options o = {.threads = aoei_cpu_count(), .rounds = 9};
    run r = {.o = &o};
    aoe_error err;
    if (parse(&o, argc, argv)) {
        fprintf(stderr, "usage: gemm_onednn [--threads N] [--rounds N] [--type f32|bf16] [--quick] [--json FILE]\n");
        return 2;
    }
    start_with_threads(argv, o.threads);
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = o.threads;
    int failed = aoe_context_create(&r.ctx, &c, &err);
    if (failed)
        fprintf(stderr, "gemm_onednn: %s\n", err.message);
    if (!failed && (allocate(&r) || dnnl_engine_create(&r.engine, dnnl_cpu, 0) ||
                    dnnl_stream_create(&r.stream, r.engine, dnnl_stream_default_flags))) {
        fprintf(stderr, "gemm_onednn: out of memory, or oneDNN cannot be initialised\n");
        failed = 1;
    }
    if (!failed && o.json && !(r.json = fopen(o.json, "w"))) {
        perror(o.json);
        failed = 1;
    }
    if (r.json)
        fprintf(r.json, "{\"version\": \"oneDNN %d.%d.%d\", \"threads\": %zu, \"rows\": [", dnnl_version()->major,
                dnnl_version()->minor, dnnl_version()->patch, o.threads);
    if (!failed)
        failed = measure(&r);
    if (r.json) {
        fprintf(r.json, "\n  ],\n  \"peak_gflops\": {\"f32\": %.1f, \"bf16\": %.1f}}\n", r.peak[0] / 1e9,
                r.peak[1] / 1e9);
        failed |= fclose(r.json) != 0;
    }
    dnnl_stream_destroy(r.stream);
    dnnl_engine_destroy(r.engine);
    aoe_context_destroy(r.ctx);
    aoei_aligned_free(r.p.a);
    aoei_aligned_free(r.p.w);
    aoei_aligned_free(r.p.packed);
    for (int i = 0; i < SIDES; i++)
        aoei_aligned_free(r.p.c[i]);
    return failed;
}
