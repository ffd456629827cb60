/* SPDX-License-Identifier: MIT
 * Measures the speed of an encoder of a given shape with random weights. No files are read. A benchmark measures one of
 * three operations:
 * - Inference: the forward pass and the pooling. The weights are packed before the first pass. If the linear layers are
 *   computed in int8, the weights are quantized when they are packed.
 * - A training step: the forward pass with dropout, the default objectives, the backward pass and AdamW.
 * - A step of masked-LM pretraining.
 */
#include "bench/bench.h"

#include "aoe_eval.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "base/sort.h"
#include "encoder/arch.h"
#include "encoder/shapes.h"
#include "encoder/slots.h"
#include "model/packed_weights.h"
#include "nn/batch.h"
#include "nn/dtype.h"
#include "nn/optimizer.h"
#include "train/mlm_step.h"
#include "train/pair_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_RUNS = 5, REDUCED_VOCABULARY = 1024 };
#define MAX_PARAMETERS ((size_t)1 << 31)

AOEI_DEFAULTS(aoe_bench_options) {
    *o = (aoe_bench_options){.struct_size = sizeof *o, .shape = {.struct_size = sizeof o->shape}};
    (void)aoe_shape_named(&o->shape, "bert-base", NULL);
    o->texts = 64;
    o->length = 32;
    o->runs = 7;
    o->seed = 42;
}

typedef struct aoei_bench {
    aoe_context *ctx; /* context that runs the operations; borrowed */
    aoe_bench_options options;
    const aoe_bench_options *o; /* points to the field `options` */
    uint64_t runs;              /* number of completed runs, including the warm-up */
    aoei_encoder_config config; /* model configuration that is timed; may have fewer layers than options.shape */
    size_t layers;              /* number of layers of options.shape */
    aoei_dtype type;            /* data type of the GEMMs */
    aoei_pair_step step;        /* training: parameters, activations and batch */
    aoei_mlm_step mlm;          /* pretraining: parameters, activations and batch */
    aoei_params params;         /* inference: weights */
    aoe_model model;            /* inference: model over `params`, which owns only the packed weights */
    char name[16];              /* name of the model in error messages */
    aoei_arena arena;           /* inference: memory of parameters and activations; owned */
    aoei_encoder_state state;   /* inference: activations */
    aoei_batch_buffer buffer;   /* inference: token ids */
    aoei_tensor pooled;         /* inference: [texts, hidden] embeddings */
    double *labels;             /* training: [pairs] labels, owned */
    size_t tokens;              /* total number of tokens in all texts */
    size_t longest;             /* number of tokens in the longest text */
} bench;

static size_t text_length(const bench *b, size_t i) {
    return b->o->lengths ? b->o->lengths[i] : b->o->length;
}

/* If the model has more than MAX_PARAMETERS parameters, reduces it to one layer and a small vocabulary. measure()
 * multiplies the measured time by the number of layers. */
static void reduce_shape(bench *b) {
    b->layers = b->config.layers;
    if (aoei_parameter_count(&b->config) <= MAX_PARAMETERS)
        return;
    b->config.layers = 1;
    b->config.vocab = REDUCED_VOCABULARY;
}

static int check(bench *b, aoe_error *err) {
    const aoe_bench_options *o = b->o;
    if (!o->texts || (o->mode == AOE_BENCH_TRAIN && o->texts % 2) || o->runs < MIN_RUNS)
        return aoei_fail(
            err, AOE_EARG,
            "options.texts must be positive, and an even number in training mode; options.runs must be at least %d",
            MIN_RUNS);
    int code = aoei_shape_checked(&b->config, &o->shape, err);
    if (!code && o->dtype == AOE_DTYPE_INT8)
        code = aoei_model_int8_check(&b->config, o->mode == AOE_BENCH_INFER, b->name, err);
    if (code)
        return code;
    reduce_shape(b);
    const size_t max_length = b->config.arch->max_length(&b->config);
    if (o->mode == AOE_BENCH_PRETRAIN && !b->config.arch->mlm_class_name)
        return aoei_fail(err, AOE_EARG, "options.mode: a %s model has no masked-LM head to pretrain",
                         b->config.arch->model_type);
    b->config.mlm_head = o->mode == AOE_BENCH_PRETRAIN;
    if (o->mode == AOE_BENCH_TRAIN && b->config.hidden % 2)
        return aoei_fail(err, AOE_EARG, "options.mode: the angle loss requires an even embedding size, not %zu",
                         b->config.hidden);
    for (size_t i = 0; i < o->texts; i++) {
        const size_t n = text_length(b, i);
        if (n == 0 || n > max_length)
            return aoei_fail(err, AOE_EARG,
                             "text %zu has %zu tokens; with this shape, a text must have 1 to %zu tokens", i + 1, n,
                             max_length);
        b->tokens += n;
        if (n > b->longest)
            b->longest = n;
    }
    return AOE_OK;
}

/* Initializes the parameters as `aoe init` does: weights from a normal distribution with standard deviation 0.02,
 * normalization weights with 1, and biases with 0. */
static int randomize(bench *b, aoei_params *p, aoe_error *err) {
    const float one = 1.0F;
    aoei_tensor_zero(b->ctx, p->value);
    float *host = aoei_malloc_array(p->count, sizeof *host);
    if (!host)
        return aoei_fail_nomem(err, p->count * sizeof *host);
    for (size_t s = 0; s < p->n_slots; s++) {
        aoei_slot d;
        aoei_rng rng;
        aoei_slot_describe(&b->config, s, &d);
        aoei_rng_init(&rng, b->o->seed, AOEI_STREAM_BENCH, aoei_slot_stream(&b->config, s));
        for (size_t i = 0; i < d.rows * d.cols; i++)
            host[i] = d.vector ? (d.norm ? one : 0.0F) : (float)(0.02 * aoei_rng_normal(&rng));
        aoei_tensor_write(b->ctx, p->values[s], host);
    }
    aoei_free(host);
    return AOE_OK;
}

static void fill_batch(const bench *b, aoei_batch_buffer *buffer, int32_t *ids) {
    aoei_rng rng;
    aoei_rng_init(&rng, b->o->seed, AOEI_STREAM_BENCH, UINT32_MAX);
    aoei_batch_clear(buffer);
    for (size_t i = 0; i < b->o->texts; i++) {
        const size_t n = text_length(b, i);
        for (size_t t = 0; t < n; t++)
            ids[t] = (int32_t)aoei_rng_below(&rng, (uint32_t)b->config.vocab);
        aoei_batch_add(buffer, ids, n, (uint32_t)i);
    }
}

/* Assigns memory of the arena to the tensors of inference. Gradients and moments also get addresses in the arena, but
 * inference never writes them, so the operating system allocates no physical memory for them. */
static int lay_out_inference(bench *b, aoei_arena *arena, aoe_error *err) {
    const int code = aoei_params_layout(&b->params, b->ctx, &b->config, &(aoei_params_options){0}, arena, err);
    if (code)
        return code;
    b->pooled = aoei_tensor_take(arena, b->o->texts, b->config.hidden);
    const aoei_encoder_mode mode = {.type = b->type, .int8 = b->o->dtype == AOE_DTYPE_INT8};
    return aoei_encoder_layout(&b->state, b->ctx, &b->config, arena, b->tokens, b->o->texts, b->longest, mode, err);
}

static int create_inference(bench *b, aoe_error *err) {
    aoei_arena plan;
    aoei_arena_measure(&plan);
    int code = lay_out_inference(b, &plan, err);
    if (!code)
        code = aoei_arena_create(&b->arena, plan.used, err);
    if (!code)
        code = lay_out_inference(b, &b->arena, err);
    if (!code)
        code = aoei_batch_buffer_create(&b->buffer, b->tokens, b->o->texts, err);
    if (!code)
        code = randomize(b, &b->params, err);
    if (code)
        return code;
    b->model.ctx = b->ctx;
    b->model.config = b->config;
    b->model.type = b->type;
    b->model.dtype = b->o->dtype;
    b->model.files.dir = b->name;
    b->model.weights = b->params.values;
    return aoei_model_pack(&b->model, 0, err);
}

/* Initializes the parameters for training: random values, and zero for moments and gradients. */
static int start_params(bench *b, aoei_params *p, aoe_error *err) {
    aoei_tensor_zero(b->ctx, p->grad);
    aoei_tensor_zero(b->ctx, p->m);
    aoei_tensor_zero(b->ctx, p->v);
    const int code = randomize(b, p, err);
    if (!code)
        aoei_params_pack(b->ctx, p);
    return code;
}

static int create_training(bench *b, aoe_error *err) {
    const size_t pairs = b->o->texts / 2;
    const aoei_pair_step_options step = {.pairs = pairs, .tokens = b->tokens, .longest = b->longest, .type = b->type};
    const int code = aoei_pair_step_create(&b->step, b->ctx, &b->config, &step, err);
    if (code)
        return code;
    b->labels = aoei_calloc(pairs, sizeof *b->labels);
    if (!b->labels)
        return aoei_fail_nomem(err, pairs * sizeof *b->labels);
    for (size_t i = 0; i < pairs; i++)
        b->labels[i] = (double)(i % 2);
    return start_params(b, &b->step.params, err);
}

static int create_pretraining(bench *b, aoe_error *err) {
    const aoei_mlm_step_options step = {
        .tokens = b->tokens, .texts = b->o->texts, .longest = b->longest, .type = b->type};
    const int code = aoei_mlm_step_create(&b->mlm, b->ctx, &b->config, &step, err);
    return code ? code : start_params(b, &b->mlm.params, err);
}

/* Selects 3 of every 20 tokens for the masked-LM prediction. */
static void select_masked(bench *b) {
    const aoei_batch *batch = &b->mlm.buffer.batch;
    for (size_t i = 0; i < batch->n_tokens; i++)
        if (i % 20 % 7 == 0) {
            b->mlm.index[b->mlm.n_masked] = (uint32_t)i;
            b->mlm.target[b->mlm.n_masked++] = batch->ids[i];
        }
}

static int create(bench *b, aoe_error *err) {
    const aoe_bench_mode mode = b->o->mode;
    int code = mode == AOE_BENCH_TRAIN      ? create_training(b, err)
               : mode == AOE_BENCH_PRETRAIN ? create_pretraining(b, err)
                                            : create_inference(b, err);
    int32_t *ids = code ? NULL : aoei_malloc_array(b->longest, sizeof *ids);
    if (!code && !ids)
        code = aoei_fail_nomem(err, b->longest * sizeof *ids);
    if (!code)
        fill_batch(b,
                   mode == AOE_BENCH_TRAIN      ? &b->step.buffer
                   : mode == AOE_BENCH_PRETRAIN ? &b->mlm.buffer
                                                : &b->buffer,
                   ids);
    if (!code && mode == AOE_BENCH_PRETRAIN)
        select_masked(b);
    aoei_free(ids);
    return code;
}

static void infer(bench *b) {
    const aoei_batch *batch = &b->buffer.batch;
    const aoei_tensor last = aoei_encoder_forward(b->ctx, &b->config, b->params.values, batch, &b->state, NULL);
    aoei_encoder_pool(b->ctx, &b->config, b->pooled, b->config.arch->default_pooling, last, batch, &b->state);
}

/* Runs one operation of the selected mode: inference, a training step or a pretraining step. */
static int run_once(bench *b, uint64_t run, aoe_error *err) {
    if (b->o->mode == AOE_BENCH_INFER) {
        infer(b);
        return AOE_OK;
    }
    const int pretrain = b->o->mode == AOE_BENCH_PRETRAIN;
    const aoei_optimizer adamw = {
        .lr = 1e-5, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01, .step = run + 1};
    aoei_encoder_dropout drop = {.hidden = b->config.hidden_dropout, .attention = b->config.attention_dropout};
    int code = AOE_OK;
    aoei_dropout_key(drop.key, b->o->seed, run);
    if (pretrain) {
        aoei_mlm_sums sums = {0};
        aoei_mlm_step_gradient(&b->mlm, &drop, 1 / (double)b->mlm.n_masked, &sums);
    } else {
        aoe_objective_options o;
        aoe_objective_result r;
        aoe_objective_options_defaults(&o);
        code = aoei_pair_step_gradient(&b->step, b->config.arch->default_pooling, &o, b->labels, NULL, &drop, 1.0, &r,
                                       err);
    }
    if (!code)
        aoei_params_update(b->ctx, pretrain ? &b->mlm.params : &b->step.params, &adamw, 1.0);
    return code;
}

int aoei_bench_create(aoei_bench **out, aoe_context *ctx, const aoe_bench_options *o, aoe_error *err) {
    *out = NULL;
    bench *b = aoei_calloc(1, sizeof *b);
    if (!b)
        return aoei_fail_nomem(err, sizeof *b);
    b->ctx = ctx;
    b->options = *o;
    b->o = &b->options;
    snprintf(b->name, sizeof b->name, "options.shape");
    b->type = aoei_context_type(ctx, o->dtype);
    int code = check(b, err);
    if (!code)
        code = create(b, err);
    if (code)
        aoei_bench_destroy(b);
    else
        *out = b;
    return code;
}

int aoei_bench_run(aoei_bench *b, double *seconds, aoe_error *err) {
    const double start = aoei_now();
    const int code = run_once(b, b->runs++, err);
    *seconds = aoei_now() - start;
    return code;
}

void aoei_bench_destroy(aoei_bench *b) {
    if (!b)
        return;
    aoei_pair_step_destroy(&b->step);
    aoei_mlm_step_destroy(&b->mlm);
    aoei_batch_buffer_destroy(&b->buffer);
    aoei_arena_destroy(&b->arena);
    aoei_aligned_free(b->model.memory.packed);
    aoei_free(b->labels);
    aoei_free(b);
}

/* Returns the number of floating-point operations of the GEMMs in one run. A multiply-add counts as two operations. The
 * backward pass has twice as many operations as the forward pass. */
static double operations(const bench *b) {
    const aoei_encoder_config *c = &b->config;
    const double D = (double)c->hidden;
    double layer = 0;
    for (size_t i = 0; i < b->o->texts; i++)
        layer += c->arch->encoder->layer_operations(c, text_length(b, i));
    const double forward = (double)b->layers * layer;
    /* 0 except in pretraining, because n_masked is 0 */
    const double head = 2.0 * (double)b->mlm.n_masked * D * (D + (double)c->vocab);
    return b->o->mode == AOE_BENCH_INFER ? forward : 3.0 * (forward + head);
}

/* Executes one warm-up run and options.runs timed runs, and computes the results from the median time. */
static int measure(bench *b, aoe_bench_result *result, aoe_error *err) {
    double *seconds = aoei_malloc_array(b->o->runs, sizeof *seconds);
    if (!seconds)
        return aoei_fail_nomem(err, b->o->runs * sizeof *seconds);
    double warm_up;
    int code = aoei_bench_run(b, &warm_up, err);
    for (size_t i = 0; i < b->o->runs && !code; i++)
        code = aoei_bench_run(b, &seconds[i], err);
    if (!code) {
        qsort(seconds, b->o->runs, sizeof *seconds, aoei_compare_doubles);
        const double scale = (double)b->layers / (double)b->config.layers; /* for a reduced model, extrapolates to all
                                                                              layers */
        const double median = scale * seconds[b->o->runs / 2];
        result->tokens = b->tokens;
        result->layers_timed = b->config.layers;
        result->ms = 1e3 * median;
        result->ms_min = 1e3 * scale * seconds[0];
        result->tokens_per_second = (double)b->tokens / median;
        result->tflops = operations(b) / median / 1e12;
        result->peak_rss_mb = (double)aoei_peak_rss_bytes() / 1e6;
        result->dtype = aoei_dtype_in_use(b->o->dtype, b->type);
    }
    aoei_free(seconds);
    return code;
}

int aoe_bench(aoe_context *ctx, const aoe_bench_options *o, aoe_bench_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, result);
    AOEI_RESULT(aoe_bench_result, result, err);
    AOEI_OPTIONS(aoe_bench_options, o, err);
    aoei_bench *b;
    int code = aoei_bench_create(&b, ctx, o, err);
    if (!code)
        code = measure(b, result, err);
    aoei_bench_destroy(b);
    return code;
}
