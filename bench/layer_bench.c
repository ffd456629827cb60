/* SPDX-License-Identifier: MIT
 * Measures the operations of a BERT-base training step, except large matmuls, in float32 and bf16. The operations are
 * normalization, GELU, attention, dropout, embedding, pooling and AdamW.
 *
 *     layer_bench [THREADS [quick]]     THREADS: 0 (default) for all threads; quick: the optimizer updates only an
 *                                       eighth of the parameters
 *
 * Prints one row per operation:
 * - the fastest and the median time of the runs,
 * - the minimum number of bytes that the operation must read and write,
 * - the transfer rate of the fastest run,
 * - this rate as a percentage of the limit,
 * - the GFLOP/s of the fastest run (attention only).
 * The limit is the rate at which the same number of bytes can be copied or updated in place. It is measured before each
 * operation. The environment variable AOE_CPU selects the kernels of another instruction set, for example AOE_CPU=avx2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/embedding.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/optimizer.h"
#include "nn/pooling.h"
#include "support/peak.h"
#include "support/series.h"

enum { RUNS = 15, HIDDEN = 768, INTERMEDIATE = 3072, HEADS = 12, TOKENS = 2048, VOCABULARY = 30522, POSITIONS = 512 };
#define PARAMETERS ((size_t)109482240) /* number of parameters of BERT-base */

/* A batch of texts of equal length, and the operands of all operations. All tensors are allocated in one arena. N:
 * number of tokens; D: hidden size; I: intermediate size; V: size of the vocabulary. */
typedef struct fixture {
    aoe_context *ctx;
    aoei_arena arena;
    aoei_batch batch;                /* the texts, which have TOKENS tokens in total */
    aoei_dtype type;                 /* data type of the activations */
    size_t parameters;               /* number of elements of `value`, `grad`, `m` and `moment` */
    aoei_tensor x, y;                /* [N, D] input and output of operations, in `type` */
    aoei_tensor dy, dx;              /* [N, D] gradients of the residual stream, in float32 */
    aoei_tensor q, k, v, dq, dk, dv; /* [N, D] query, key, value and their gradients, in `type` */
    aoei_tensor up, pre;             /* [N, I] output and input of GELU, in `type` */
    aoei_tensor stats;               /* [N, 2] mean and inverse standard deviation of each row */
    aoei_tensor gamma, beta, dg, db; /* [1, D] weight and bias of a LayerNorm, and their gradients */
    aoei_tensor bias;                /* [1, I] gradient of a bias */
    aoei_tensor word, dword;         /* [V, D] token embeddings and their gradient */
    aoei_tensor position, dposition; /* [POSITIONS, D] position embeddings and their gradient */
    aoei_tensor token_type, dtoken;  /* [2, D] token type embeddings and their gradient */
    aoei_tensor pooled;              /* [n_texts, D] one embedding per text */
    /* [1, parameters] value: parameters; grad: gradients; m, moment: first and second moments of AdamW */
    aoei_tensor value, grad, m, moment;
    aoei_tensor work; /* workspace of attention */
    aoei_attention attention;
    aoei_dropout drop;
    aoei_optimizer_segment segment; /* segment of AdamW that contains all parameters */
    size_t tasks;                   /* number of parallel tasks of an optimizer step */
    uint64_t step;
} fixture;

typedef struct operation {
    const char *name;
    void (*run)(fixture *f);
    double full;  /* minimum number of float32 values that are read and written, divided by `unit` */
    double typed; /* minimum number of values of type fixture.type that are read and written, divided by `unit` */
    /* TOKEN_ROWS: TOKENS x HIDDEN values; FFN_ROWS: TOKENS x INTERMEDIATE values; ALL_PARAMETERS: one value per
     * parameter */
    enum { TOKEN_ROWS, FFN_ROWS, ALL_PARAMETERS } unit;
    /* attention: number of multiply-adds per query token, key token and hidden component; 0: not counted */
    double multiply_adds;
} operation;

/* -------------------------------------------------------------- operations */

static void layernorm(fixture *f) {
    aoei_layernorm_forward(f->ctx, f->y, f->stats, f->x, f->gamma, f->beta, 1e-12);
}

static void layernorm_backward(fixture *f) {
    aoei_layernorm_backward(f->ctx, f->dx, f->dg, f->db, f->dy, f->x, f->stats, f->gamma);
}

/* Measures GELU alone. In a training step, GELU is fused into the preceding matmul (forward pass) or computed together
 * with its derivative (backward pass). */
static void gelu(fixture *f) {
    aoei_activation_forward(f->ctx, f->up, f->pre, AOEI_GELU);
}

static void bias_gradient(fixture *f) {
    aoei_linear_backward(f->ctx, &(aoei_linear_grads){.db = f->bias}, f->up, (aoei_tensor){0}, (aoei_tensor){0});
}

static void attention_with(fixture *f, double p) {
    f->attention.drop = f->drop;
    f->attention.drop.p = p;
    aoei_attention_forward(f->ctx, f->y, f->q, f->k, f->v, &f->batch, &f->attention, f->work);
}

static void attention(fixture *f) {
    attention_with(f, 0);
}

static void attention_dropout(fixture *f) {
    attention_with(f, 0.1);
}

static void attention_backward(fixture *f) {
    f->attention.drop = f->drop;
    aoei_attention_backward(f->ctx, f->dq, f->dk, f->dv, f->x, f->q, f->k, f->v, &f->batch, &f->attention, f->work);
}

static void dropout_residual(fixture *f) {
    aoei_dropout_add(f->ctx, f->y, f->x, f->q, &f->batch, &f->drop);
}

static void dropout_backward(fixture *f) {
    aoei_dropout_add(f->ctx, f->y, f->dy, (aoei_tensor){0}, &f->batch, &f->drop);
}

static void embedding(fixture *f) {
    aoei_embedding_forward(f->ctx, f->y, f->word, f->position, 0, f->token_type, &f->batch);
}

static void embedding_backward(fixture *f) {
    aoei_embedding_backward(f->ctx, f->dword, f->dposition, 0, f->dtoken, f->dy, &f->batch);
}

static void pool_mean(fixture *f) {
    aoei_pool_forward(f->ctx, f->pooled, AOE_POOLING_LAST_AVG, (aoei_tensor){0}, f->x, &f->batch);
}

static void pool_mean_backward(fixture *f) {
    aoei_pool_backward(f->ctx, (aoei_tensor){0}, f->dx, AOE_POOLING_LAST_AVG, f->pooled, f->x, &f->batch);
}

static void adamw(fixture *f) {
    const aoei_optimizer o = {.lr = 1e-5,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .eps = 1e-8,
                              .weight_decay = 0.01,
                              .grad_scale = 1,
                              .step = ++f->step,
                              .segments = &f->segment,
                              .n_segments = 1,
                              .n_tasks = f->tasks};
    aoei_optimizer_step(f->ctx, f->value, f->grad, f->m, f->moment, &o);
}

static void gradient_norm(fixture *f) {
    volatile double norm = aoei_sum_squares(f->ctx, f->grad);
    (void)norm;
}

/* Every operand is counted once, even if an operation uses it twice, because the operation can read it from the cache
 * the second time. */
static const operation operations[] = {
    {"layernorm", layernorm, 0, 2, TOKEN_ROWS, 0},
    {"layernorm backward", layernorm_backward, 2, 1, TOKEN_ROWS, 0},
    {"gelu", gelu, 0, 2, FFN_ROWS, 0},
    {"bias gradient", bias_gradient, 0, 1, FFN_ROWS, 0},
    {"attention", attention, 0, 4, TOKEN_ROWS, 2},
    {"attention, dropout", attention_dropout, 0, 4, TOKEN_ROWS, 2},
    {"attention backward", attention_backward, 0, 7, TOKEN_ROWS, 5},
    {"dropout + residual", dropout_residual, 0, 3, TOKEN_ROWS, 0},
    {"dropout backward", dropout_backward, 1, 1, TOKEN_ROWS, 0},
    {"embedding", embedding, 1, 1, TOKEN_ROWS, 0},
    {"embedding backward", embedding_backward, 3, 0, TOKEN_ROWS, 0},
    {"pooling, mean", pool_mean, 0, 1, TOKEN_ROWS, 0},
    {"pooling backward", pool_mean_backward, 1, 0, TOKEN_ROWS, 0},
    {"adamw", adamw, 8, 0, ALL_PARAMETERS, 0},
    {"gradient norm", gradient_norm, 1, 0, ALL_PARAMETERS, 0},
};

/* ------------------------------------------------------------------ fixture */

static void take(fixture *f, aoei_arena *a) {
    aoei_tensor *const rows[] = {&f->x, &f->y, &f->q, &f->k, &f->v, &f->dq, &f->dk, &f->dv};
    aoei_tensor *const gradients[] = {&f->dy, &f->dx};
    aoei_tensor *const wide[] = {&f->up, &f->pre};
    aoei_tensor *const vectors[] = {&f->gamma, &f->beta, &f->dg, &f->db};
    aoei_tensor *const flat[] = {&f->value, &f->grad, &f->m, &f->moment};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = aoei_tensor_take_typed(a, f->type, TOKENS, HIDDEN);
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        *gradients[i] = aoei_tensor_take(a, TOKENS, HIDDEN);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        *wide[i] = aoei_tensor_take_typed(a, f->type, TOKENS, INTERMEDIATE);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = aoei_tensor_take(a, 1, HIDDEN);
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        *flat[i] = aoei_tensor_take(a, 1, f->parameters);
    f->stats = aoei_tensor_take(a, TOKENS, 2);
    f->bias = aoei_tensor_take(a, 1, INTERMEDIATE);
    f->word = aoei_tensor_take(a, VOCABULARY, HIDDEN);
    f->dword = aoei_tensor_take(a, VOCABULARY, HIDDEN);
    f->position = aoei_tensor_take(a, POSITIONS, HIDDEN);
    f->dposition = aoei_tensor_take(a, POSITIONS, HIDDEN);
    f->token_type = aoei_tensor_take(a, 2, HIDDEN);
    f->dtoken = aoei_tensor_take(a, 2, HIDDEN);
    f->pooled = aoei_tensor_take(a, f->batch.n_texts, HIDDEN);
    f->work = aoei_workspace_take(a, aoei_attention_scratch(f->ctx, &f->attention, f->type, f->batch.longest));
    f->segment = (aoei_optimizer_segment){.begin = 0, .end = f->parameters, .decay = 1};
    f->tasks = aoei_optimizer_plan(&f->segment, 1);
}

/* Fills a tensor with random values in [least, least + 1). For second moments, `least` is 0, because they must not be
 * negative. */
static void fill(aoei_tensor t, uint32_t seed, float least) {
    for (size_t i = 0; i < t.rows * t.cols; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float x = (float)(seed >> 8) / 16777216.0f + least;
        if (t.type == AOEI_BF16)
            aoei_b16(t)[i] = aoei_bf16_from_f32(x);
        else
            aoei_f32(t)[i] = x;
    }
}

static void fill_all(fixture *f) {
    const aoei_tensor all[] = {f->x,         f->y,          f->dy,     f->dx,     f->q,     f->k,     f->v,
                               f->dq,        f->dk,         f->dv,     f->up,     f->pre,   f->stats, f->gamma,
                               f->beta,      f->dg,         f->db,     f->bias,   f->word,  f->dword, f->position,
                               f->dposition, f->token_type, f->dtoken, f->pooled, f->value, f->grad,  f->m};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fill(all[i], (uint32_t)i, -0.5f);
    fill(f->moment, 1, 0);
    aoei_tensor_zero(f->ctx, f->work);
}

static void describe_batch(fixture *f, size_t texts, int32_t *ids, uint32_t *positions, uint32_t *offsets) {
    const size_t length = TOKENS / texts;
    uint32_t seed = 1;
    for (size_t i = 0; i < TOKENS; i++) {
        seed = seed * 1664525u + 1013904223u;
        ids[i] = (int32_t)((seed >> 8) % VOCABULARY);
        positions[i] = (uint32_t)(i % length);
    }
    for (size_t i = 0; i <= texts; i++)
        offsets[i] = (uint32_t)(i * length);
    f->batch = (aoei_batch){.n_tokens = TOKENS,
                            .n_texts = texts,
                            .longest = length,
                            .ids = ids,
                            .positions = positions,
                            .offsets = offsets};
}

/* ------------------------------------------------------------------ measure */

static void measure(fixture *f, const operation *op) {
    const double units[] = {(double)TOKENS * HIDDEN, (double)TOKENS * INTERMEDIATE, (double)f->parameters};
    const double bytes = (op->full * sizeof(float) + op->typed * (double)aoei_dtype_size(f->type)) * units[op->unit];
    const double limit = bench_memory_rate(f->ctx, (size_t)bytes);
    bench_series times = {.n = 0};
    char rate[16];
    op->run(f);
    for (int i = 0; i < RUNS; i++) {
        const double start = aoei_now();
        op->run(f);
        bench_series_add(&times, aoei_now() - start);
    }
    const double fastest = bench_fastest(&times);
    const double flops = 2 * op->multiply_adds * (double)TOKENS * (double)f->batch.longest * HIDDEN;
    snprintf(rate, sizeof rate, "%.1f", flops / fastest / 1e9);
    printf("%-20s %6zux%-4zu %10.4f %10.4f %9.1f %9.1f %7.1f%% %9s\n", op->name, f->batch.n_texts, f->batch.longest,
           1e3 * fastest, 1e3 * bench_median(&times), bytes / 1e6, bytes / fastest / 1e9, 100 * bytes / fastest / limit,
           op->multiply_adds > 0 ? rate : "-");
}

/* Measures operations on a batch of `texts` texts of equal length. all: 1 measures all operations; 0 measures only
 * attention, because the other operations do not depend on the length. */
static int bench_texts(fixture *f, size_t texts, int all, aoe_error *err) {
    static int32_t ids[TOKENS];
    static uint32_t positions[TOKENS], offsets[TOKENS + 1];
    aoei_arena plan;
    describe_batch(f, texts, ids, positions, offsets);
    aoei_arena_measure(&plan);
    take(f, &plan);
    const int code = aoei_arena_create(&f->arena, plan.used, err);
    if (code)
        return code;
    take(f, &f->arena);
    fill_all(f);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (all || operations[i].multiply_adds > 0)
            measure(f, &operations[i]);
    aoei_arena_destroy(&f->arena);
    return 0;
}

int main(int argc, char **argv) {
    const int quick = argc > 2 && !strcmp(argv[2], "quick");
    fixture f = {.parameters = quick ? PARAMETERS / 8 : PARAMETERS,
                 .attention = {.heads = HEADS, .kv_heads = HEADS, .head_dim = HIDDEN / HEADS, .scale = 0.125},
                 .drop = {.p = 0.1, .key = {1, 2}, .site = 1}};
    aoe_error err;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    const size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (threads)
        o.threads = threads;
    int code = aoe_context_create(&f.ctx, &o, &err);
    for (int type = AOEI_F32; type <= AOEI_BF16 && !code; type++) {
        f.type = (aoei_dtype)type;
        printf("%s, hidden size %d, %d tokens, %.1f million parameters; kernels %s, %zu threads\n",
               type == AOEI_BF16 ? "bf16" : "float32", HIDDEN, TOKENS, (double)f.parameters / 1e6,
               aoe_context_tier(f.ctx), aoe_context_threads(f.ctx));
        printf("%-20s %11s %10s %10s %9s %9s %8s %9s\n", "operation", "texts", "fastest ms", "median ms", "MB", "GB/s",
               "of limit", "GFLOP/s");
        code = bench_texts(&f, 64, 1, &err);
        if (!code)
            code = bench_texts(&f, 16, 0, &err);
    }
    if (code)
        fprintf(stderr, "layer_bench: %s\n", err.message);
    aoe_context_destroy(f.ctx);
    return code != 0;
}
