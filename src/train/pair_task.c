/* SPDX-License-Identifier: MIT
 * Fine-tuning on labelled pairs: the order of an epoch, batches, the objectives
 * against the labels. Accumulated batches are numbered through, so that a text's
 * masks are keyed by its place in the step.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "objective/pair_step.h"
#include "train/dataset.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

typedef struct pair_task {
    aoei_task task;
    const aoe_train_options *o;      /* borrowed, checked */
    aoe_objective_options objective; /* threshold resolved */
    aoei_dataset data;
    aoei_pair_step step;
    size_t *order;      /* owned; [n] permutation of the current epoch */
    size_t order_epoch; /* of `order`; (size_t)-1: none */
    double *labels;     /* owned; [B] of the batch */
    uint32_t *groups;   /* owned; [2B] */
} pair_task;

void aoe_train_options_defaults(aoe_train_options *o) {
    memset(o, 0, sizeof *o);
    aoei_course_defaults(&o->course);
    aoe_objective_options_defaults(&o->objective);
    o->objective.ibn_threshold = (double)NAN;
    o->batch_size = 32;
    o->accumulate = 1;
}

static int check_options(const aoe_train_options *o, aoe_error *err) {
    if (!o || !o->course.model || !o->data || !o->course.output)
        return aoei_fail(err, AOE_EARG, "training needs a model, data and an output directory");
    if (!o->batch_size || !o->accumulate)
        return aoei_fail(err, AOE_EARG, "--batch-size and --accumulate must be at least 1");
    if (o->batch_size == 1)
        return aoei_fail(err, AOE_EARG,
                         "--batch-size 1: the objectives compare pairs of a batch with each other; use at least 2");
    if (o->batch_size > UINT32_MAX / 4 / o->accumulate)
        return aoei_fail(err, AOE_EARG, "--batch-size %zu with --accumulate %zu is too large", o->batch_size, o->accumulate);
    const aoe_objective_options *j = &o->objective;
    if (!(j->w_cosine >= 0 && j->w_ibn >= 0 && j->w_angle >= 0 && isfinite(j->w_cosine + j->w_ibn + j->w_angle)))
        return aoei_fail(err, AOE_EARG, "--w-cosine, --w-ibn and --w-angle must be finite and not negative");
    if (j->w_cosine + j->w_ibn + j->w_angle == 0)
        return aoei_fail(err, AOE_EARG, "every objective has weight 0; set one of --w-cosine, --w-ibn, --w-angle above 0");
    if (!(j->tau_cosine > 0 && j->tau_ibn > 0 && j->tau_angle > 0 && isfinite(j->tau_cosine + j->tau_ibn + j->tau_angle)))
        return aoei_fail(err, AOE_EARG, "--tau-cosine, --tau-ibn and --tau-angle must be finite and above 0");
    return AOE_OK;
}

static int load_data(pair_task *p, aoei_trainer *t, aoe_error *err) {
    const aoe_train_options *o = p->o;
    aoe_pairs *pairs = NULL;
    aoe_table_options table = o->table;
    table.allow_empty = 0;
    int code = aoe_pairs_load(&pairs, o->data, &table, err);
    if (code)
        return code;
    if (aoe_pairs_skipped(pairs))
        aoei_log_write(&t->ctx->log, AOE_LOG_WARNING, "%s: %zu bad rows were left out", o->data, aoe_pairs_skipped(pairs));
    if (aoe_pairs_dropped(pairs))
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%s: %zu rows have a label that is dropped", o->data,
                       aoe_pairs_dropped(pairs));
    code = aoei_dataset_create(&p->data, t->base, pairs, o->data, err);
    aoe_pairs_free(pairs);
    if (!code && p->data.truncated)
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%s: %zu of %zu texts are longer than %zu tokens and were cut", o->data,
                       p->data.truncated, 2 * p->data.n, t->base->settings.max_length);
    return code;
}

/* Labels against objectives: something to learn, and the threshold of in-batch negatives. */
static int resolve_objective(pair_task *p, const aoei_trainer *t, aoe_error *err) {
    aoe_objective_options *j = &p->objective;
    const aoei_dataset *d = &p->data;
    *j = p->o->objective;
    if (isnan(j->ibn_threshold))
        j->ibn_threshold = d->lowest + 0.8 * (d->highest - d->lowest);
    if (d->lowest == d->highest && (j->w_cosine > 0 || j->w_angle > 0))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: every label is %g, so no pair is more similar than another; add other labels, or train with --w-cosine 0 "
            "--w-angle 0",
            p->o->data, d->lowest);
    if (j->w_ibn > 0 && d->highest < j->ibn_threshold)
        return aoei_fail(err, AOE_EARG,
                         "%s: no label reaches --ibn-threshold %g (highest: %g); lower it, or train with --w-ibn 0", p->o->data,
                         j->ibn_threshold, d->highest);
    if (j->w_angle > 0 && t->base->config.hidden % 2)
        return aoei_fail(err, AOE_EARG, "%s: the angle objective needs an even hidden size, not %zu; train with --w-angle 0",
                         t->o->model, t->base->config.hidden);
    return AOE_OK;
}

static int load(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    pair_task *p = task->self;
    const size_t per_step = p->o->batch_size * p->o->accumulate;
    int code = load_data(p, t, err);
    if (!code)
        code = resolve_objective(p, t, err);
    if (code)
        return code;
    task->examples = p->data.n;
    task->steps_per_epoch = (p->data.n + per_step - 1) / per_step;
    task->ibn_threshold = p->objective.ibn_threshold;
    return AOE_OK;
}

static int describe(const aoei_task *task, json_t *r) {
    const pair_task *p = task->self;
    const aoe_train_options *o = p->o;
    const aoe_objective_options *j = &p->objective;
    char fingerprint[24], dev_fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)p->data.fingerprint);
    snprintf(dev_fingerprint, sizeof dev_fingerprint, "%016llx", (unsigned long long)o->dev_fingerprint);
    int bad = json_object_set_new(r, "data", aoei_name_json(o->data));
    bad |= json_object_set_new(r, "data_fingerprint", json_string(fingerprint));
    bad |= json_object_set_new(r, "pairs", json_integer((json_int_t)p->data.n));
    bad |= json_object_set_new(r, "dev", aoei_name_json(o->evaluate ? o->dev_name : NULL));
    bad |= json_object_set_new(r, "dev_fingerprint", o->dev_fingerprint ? json_string(dev_fingerprint) : json_null());
    bad |= json_object_set_new(r, "batch_size", json_integer((json_int_t)o->batch_size));
    bad |= json_object_set_new(r, "accumulate", json_integer((json_int_t)o->accumulate));
    bad |= json_object_set_new(r, "w_cosine", json_real(j->w_cosine));
    bad |= json_object_set_new(r, "w_ibn", json_real(j->w_ibn));
    bad |= json_object_set_new(r, "w_angle", json_real(j->w_angle));
    bad |= json_object_set_new(r, "tau_cosine", json_real(j->tau_cosine));
    bad |= json_object_set_new(r, "tau_ibn", json_real(j->tau_ibn));
    bad |= json_object_set_new(r, "tau_angle", json_real(j->tau_angle));
    bad |= json_object_set_new(r, "isp", json_boolean(j->isp));
    bad |= json_object_set_new(r, "angle_form", json_string(j->angle_form == AOE_ANGLE_PHASE ? "phase" : "reference"));
    bad |= json_object_set_new(r, "ibn_threshold", isfinite(j->ibn_threshold) ? json_real(j->ibn_threshold) : json_null());
    bad |= json_object_set_new(r, "cache_chunk", json_integer((json_int_t)o->cache_chunk));
    return bad;
}

static int lay_out(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    pair_task *p = task->self;
    const size_t pairs = p->o->batch_size < p->data.n ? p->o->batch_size : p->data.n;
    aoei_pair_step_options step = {.pairs = pairs,
                                   .longest = p->data.longest,
                                   .type = t->base->type,
                                   .recompute = t->o->recompute,
                                   .chunk_pairs = p->o->cache_chunk < pairs ? p->o->cache_chunk : 0};
    int code = aoei_dataset_batch_tokens(&p->data, pairs, &step.tokens, err);
    if (!code && step.chunk_pairs)
        code = aoei_dataset_batch_tokens(&p->data, step.chunk_pairs, &step.chunk_tokens, err);
    if (!code)
        code = aoei_pair_step_create(&p->step, t->ctx, &t->base->config, &step, err);
    if (code)
        return code;
    task->params = &p->step.params;
    p->order = aoei_malloc_array(p->data.n, sizeof *p->order);
    p->order_epoch = (size_t)-1;
    p->labels = aoei_malloc_array(pairs, sizeof *p->labels);
    p->groups = aoei_malloc_array(2 * pairs, sizeof *p->groups);
    return p->order && p->labels && p->groups ? AOE_OK : aoei_fail_nomem(err, p->data.n * sizeof *p->order);
}

static void order_epoch(pair_task *p, uint64_t seed, size_t epoch) {
    if (p->order_epoch == epoch)
        return;
    aoei_rng rng;
    aoei_rng_init(&rng, seed, AOEI_STREAM_SHUFFLE, (uint32_t)epoch);
    for (size_t i = 0; i < p->data.n; i++)
        p->order[i] = i;
    aoei_rng_shuffle(&rng, p->order, p->data.n);
    p->order_epoch = epoch;
}

/* Fills the step's buffer, labels and groups with pairs order[begin, end); the texts are numbers 2 (begin - first) .. of the
 * step. */
static void fill_batch(pair_task *p, size_t first, size_t begin, size_t end) {
    const aoei_token_lists *l = &p->data.tokens;
    aoei_batch_clear(&p->step.buffer);
    for (size_t i = begin; i < end; i++) {
        const size_t pair = p->order[i];
        for (size_t side = 0; side < 2; side++) {
            const size_t text = 2 * pair + side;
            aoei_batch_add(&p->step.buffer, l->ids + l->offsets[text], aoei_token_count(l, text),
                           (uint32_t)(2 * (i - first) + side));
            p->groups[2 * (i - begin) + side] = p->data.groups[text];
        }
        p->labels[i - begin] = p->data.labels[pair];
    }
}

static void add_result(aoe_objective_result *sum, const aoe_objective_result *r, double share) {
    sum->total += r->total * share;
    sum->cosine += r->cosine * share;
    sum->ibn += r->ibn * share;
    sum->angle += r->angle * share;
    sum->ordered_pairs += r->ordered_pairs;
    sum->positive_pairs += r->positive_pairs;
}

static int gradient(aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop, aoei_task_result *result,
                    aoe_error *err) {
    pair_task *p = task->self;
    const size_t epoch = step / task->steps_per_epoch, in_epoch = step % task->steps_per_epoch;
    const size_t B = p->o->batch_size, first = in_epoch * B * p->o->accumulate;
    const size_t end = first + B * p->o->accumulate < p->data.n ? first + B * p->o->accumulate : p->data.n;
    const double share = 1.0 / (double)((end - first + B - 1) / B);
    order_epoch(p, t->o->seed, epoch);
    for (size_t begin = first; begin < end; begin += B) {
        const size_t stop = begin + B < end ? begin + B : end;
        aoe_objective_result r;
        fill_batch(p, first, begin, stop);
        const int code = aoei_pair_step_gradient(&p->step, t->base->settings.pooling, &p->objective, p->labels, p->groups, drop,
                                                 share, &r, err);
        if (code)
            return code;
        add_result(&result->loss, &r, share);
        result->tokens += p->step.buffer.batch.n_tokens;
        result->examples += stop - begin;
    }
    return AOE_OK;
}

static int evaluate(aoei_task *task, aoei_trainer *t, double *score, aoei_task_result *result, aoe_error *err) {
    pair_task *p = task->self;
    (void)result;
    return p->o->evaluate(p->o->evaluate_user, t->embedder, score, err);
}

int aoe_train(aoe_context *ctx, const aoe_train_options *o, aoe_error *err) {
    int code = check_options(o, err);
    if (code)
        return code;
    pair_task p = {.o = o};
    p.task = (aoei_task){.self = &p,
                         .load = load,
                         .describe = describe,
                         .lay_out = lay_out,
                         .gradient = gradient,
                         .evaluate = o->evaluate ? evaluate : NULL,
                         .embeds = 1};
    code = aoei_train_run(ctx, &o->course, &p.task, err);
    aoei_pair_step_destroy(&p.step);
    aoei_dataset_destroy(&p.data);
    aoei_free(p.order);
    aoei_free(p.labels);
    aoei_free(p.groups);
    return code;
}
