/* SPDX-License-Identifier: MIT
 * Setting a training run up: every input is looked at before anything is
 * written. The order is the order in which a mistake is cheapest to report:
 * options, output directory, model, data, labels, memory.
 */
#include "train/setup.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = INT32_MAX }; /* of epochs and steps alike: products of the two fit */

void aoe_train_options_defaults(aoe_train_options *o) {
    memset(o, 0, sizeof *o);
    aoe_objective_options_defaults(&o->objective);
    aoe_model_options_defaults(&o->model_options);
    o->objective.ibn_threshold = (double)NAN;
    o->epochs = 1;
    o->batch_size = 32;
    o->accumulate = 1;
    o->batch_tokens = 4096;
    o->lr = 5e-5;
    o->warmup = 0.1;
    o->weight_decay = 0.01;
    o->max_grad_norm = 1.0;
    o->dropout = -1;
    o->seed = 42;
    o->keep_checkpoints = 1;
}

static int check_options(const aoe_train_options *o, aoe_error *err) {
    if (!o || !o->model || !o->data || !o->output)
        return aoei_fail(err, AOE_EARG, "training needs a model, data and an output directory");
    if (!o->epochs && !o->max_steps)
        return aoei_fail(err, AOE_EARG, "--epochs 0 trains nothing; give at least 1");
    if (!o->batch_size || !o->accumulate || !o->keep_checkpoints)
        return aoei_fail(err, AOE_EARG, "--batch-size, --accumulate and the number of kept checkpoints must be at least 1");
    if (o->batch_size > UINT32_MAX / 4 / o->accumulate)
        return aoei_fail(err, AOE_EARG, "--batch-size %zu with --accumulate %zu is too large", o->batch_size, o->accumulate);
    if (!(o->lr >= 0 && isfinite(o->lr)) || !(o->weight_decay >= 0 && isfinite(o->weight_decay)))
        return aoei_fail(err, AOE_EARG, "--lr and --weight-decay must be finite and not negative");
    if (o->lr * o->weight_decay >= 1)
        return aoei_fail(err, AOE_EARG, "--lr %g with --weight-decay %g takes all of every weight in a step; lower one of them",
                         o->lr, o->weight_decay);
    if (!(o->warmup >= 0 && o->warmup <= MAX_STEPS) || !(o->max_grad_norm >= 0 && isfinite(o->max_grad_norm)))
        return aoei_fail(err, AOE_EARG, "--warmup and --max-grad-norm must be finite and not negative");
    if (o->epochs > MAX_STEPS || o->max_steps > MAX_STEPS)
        return aoei_fail(err, AOE_EARG, "--epochs and --max-steps must be at most %d", MAX_STEPS);
    if (!(o->dropout < 1))
        return aoei_fail(err, AOE_EARG, "--dropout must be below 1");
    const aoe_objective_options *j = &o->objective;
    if (!(j->w_cosine >= 0 && j->w_ibn >= 0 && j->w_angle >= 0 && isfinite(j->w_cosine + j->w_ibn + j->w_angle)))
        return aoei_fail(err, AOE_EARG, "--w-cosine, --w-ibn and --w-angle must be finite and not negative");
    if (j->w_cosine + j->w_ibn + j->w_angle == 0)
        return aoei_fail(err, AOE_EARG, "every objective has weight 0; set one of --w-cosine, --w-ibn, --w-angle above 0");
    if (!(j->tau_cosine > 0 && j->tau_ibn > 0 && j->tau_angle > 0 && isfinite(j->tau_cosine + j->tau_ibn + j->tau_angle)))
        return aoei_fail(err, AOE_EARG, "--tau-cosine, --tau-ibn and --tau-angle must be finite and above 0");
    return AOE_OK;
}

/* The output directory can be written and holds nothing that would be lost without the caller's word. *checkpoint: what to
 * resume from (aoei_free), or NULL. */
static int find_checkpoint(const aoei_trainer *t, char **checkpoint, aoe_error *err) {
    const aoe_train_options *o = t->o;
    *checkpoint = NULL;
    int code = aoei_check_writable_dir(o->output, err);
    if (!code)
        code = aoei_checkpoint_find(checkpoint, o->output, err);
    if (code)
        return code;
    const int model = aoei_is_model_dir(o->output);
    if (o->resume) {
        if (!*checkpoint && model)
            return aoei_fail(err, AOE_ENOENT, "%s: a model but no checkpoint to resume from; use --force to train it anew",
                             o->output);
        return *checkpoint ? AOE_OK : aoei_model_dir_check(o->output, o->force, err);
    }
    if (!o->force && aoei_same_path(o->model, o->output))
        return aoei_fail(err, AOE_EARG,
                         "%s: the model to start from and the output are the same directory; choose another output, or "
                         "use --force to replace the model",
                         o->output);
    if ((model || *checkpoint) && !o->force) {
        aoei_free(*checkpoint);
        *checkpoint = NULL;
        return aoei_fail(err, AOE_EEXIST, "%s: already holds %s; use --resume to go on or --force to replace it", o->output,
                         model ? "a model" : "checkpoints");
    }
    aoei_free(*checkpoint);
    *checkpoint = NULL;
    return aoei_model_dir_check(o->output, o->force, err);
}

int aoei_trainer_check_output(const aoei_trainer *t, aoe_error *err) {
    char *checkpoint;
    const int code = find_checkpoint(t, &checkpoint, err);
    aoei_free(checkpoint);
    return code;
}

/* Labels against objectives: something to learn, and the threshold of in-batch negatives. */
static int resolve_objective(aoei_trainer *t, aoe_error *err) {
    aoe_objective_options *j = &t->objective;
    const aoei_dataset *d = &t->data;
    *j = t->o->objective;
    if (isnan(j->ibn_threshold))
        j->ibn_threshold = d->lowest + 0.8 * (d->highest - d->lowest);
    if (d->lowest == d->highest && (j->w_cosine > 0 || j->w_angle > 0))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: every label is %g, so no pair is more similar than another; add other labels, or train with --w-cosine 0 "
            "--w-angle 0",
            t->o->data, d->lowest);
    if (j->w_ibn > 0 && d->highest < j->ibn_threshold)
        return aoei_fail(err, AOE_EARG,
                         "%s: no label reaches --ibn-threshold %g (highest: %g); lower it, or train with --w-ibn 0", t->o->data,
                         j->ibn_threshold, d->highest);
    if (j->w_angle > 0 && t->base->config.hidden % 2)
        return aoei_fail(err, AOE_EARG, "%s: the angle objective needs an even hidden size, not %zu; train with --w-angle 0",
                         t->o->model, t->base->config.hidden);
    return AOE_OK;
}

static void plan_steps(aoei_trainer *t) {
    const aoe_train_options *o = t->o;
    const size_t per_step = o->batch_size * o->accumulate;
    t->steps_per_epoch = (t->data.n + per_step - 1) / per_step;
    t->total_steps = o->max_steps ? o->max_steps : o->epochs * t->steps_per_epoch;
    t->warmup_steps = o->warmup < 1 ? (size_t)(o->warmup * (double)t->total_steps) : (size_t)o->warmup;
}

/* A name on the disk need not be UTF-8; JSON must be. */
static json_t *name_json(const char *name) {
    json_t *v = NULL;
    char *copy = name ? aoei_strdup(name) : NULL;
    if (copy)
        v = json_stringn(copy, aoei_one_line(copy, strlen(copy)));
    aoei_free(copy);
    return name ? v : json_null();
}

static json_t *real_or_null(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

/* What decides the result. Thread count, checkpoint rhythm and messages do not. What changes other values comes before them:
 * the first difference is the one that a resumed run is told. */
static int describe(aoei_trainer *t, aoe_error *err) {
    const aoe_train_options *o = t->o;
    const aoe_objective_options *j = &t->objective;
    const aoei_settings *s = &t->base->settings;
    char fingerprint[24], dev_fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)t->data.fingerprint);
    snprintf(dev_fingerprint, sizeof dev_fingerprint, "%016llx", (unsigned long long)o->dev_fingerprint);
    aoei_json_init();
    json_t *r = t->settings = json_object();
    int bad = !r;
    bad |= json_object_set_new(r, "base_model", name_json(o->model));
    bad |= json_object_set_new(r, "data", name_json(o->data));
    bad |= json_object_set_new(r, "pooling", json_string(aoe_pooling_name(s->pooling)));
    bad |= json_object_set_new(r, "prompt", json_string(s->prompt));
    bad |= json_object_set_new(r, "max_length", json_integer((json_int_t)s->max_length));
    bad |= json_object_set_new(r, "normalize", json_boolean(s->normalize));
    bad |= json_object_set_new(r, "data_fingerprint", json_string(fingerprint));
    bad |= json_object_set_new(r, "pairs", json_integer((json_int_t)t->data.n));
    bad |= json_object_set_new(r, "dev", name_json(o->evaluate ? o->dev_name : NULL));
    bad |= json_object_set_new(r, "dev_fingerprint", o->dev_fingerprint ? json_string(dev_fingerprint) : json_null());
    bad |= json_object_set_new(r, "epochs", json_integer((json_int_t)o->epochs));
    bad |= json_object_set_new(r, "max_steps", json_integer((json_int_t)o->max_steps));
    bad |= json_object_set_new(r, "batch_size", json_integer((json_int_t)o->batch_size));
    bad |= json_object_set_new(r, "accumulate", json_integer((json_int_t)o->accumulate));
    bad |= json_object_set_new(r, "lr", json_real(o->lr));
    bad |= json_object_set_new(r, "warmup", json_real(o->warmup));
    bad |= json_object_set_new(r, "weight_decay", json_real(o->weight_decay));
    bad |= json_object_set_new(r, "max_grad_norm", json_real(o->max_grad_norm));
    bad |= json_object_set_new(r, "hidden_dropout", json_real(t->hidden_dropout));
    bad |= json_object_set_new(r, "attention_dropout", json_real(t->attention_dropout));
    bad |= json_object_set_new(r, "seed", json_integer((json_int_t)o->seed));
    bad |= json_object_set_new(r, "eval_every", json_integer((json_int_t)o->eval_every));
    bad |= json_object_set_new(r, "patience", json_integer((json_int_t)o->patience));
    bad |= json_object_set_new(r, "w_cosine", json_real(j->w_cosine));
    bad |= json_object_set_new(r, "w_ibn", json_real(j->w_ibn));
    bad |= json_object_set_new(r, "w_angle", json_real(j->w_angle));
    bad |= json_object_set_new(r, "tau_cosine", json_real(j->tau_cosine));
    bad |= json_object_set_new(r, "tau_ibn", json_real(j->tau_ibn));
    bad |= json_object_set_new(r, "tau_angle", json_real(j->tau_angle));
    bad |= json_object_set_new(r, "isp", json_boolean(j->isp));
    bad |= json_object_set_new(r, "angle_form", json_string(j->angle_form == AOE_ANGLE_PHASE ? "phase" : "reference"));
    bad |= json_object_set_new(r, "ibn_threshold", real_or_null(j->ibn_threshold));
    bad |= json_object_set_new(r, "dtype", json_string(t->base->type == AOEI_BF16 ? "bf16" : "f32"));
    bad |= json_object_set_new(r, "cache_chunk", json_integer((json_int_t)o->cache_chunk));
    bad |= json_object_set_new(r, "aoe_version", json_string(AOE_VERSION));
    return bad ? aoei_fail_nomem(err, 0) : AOE_OK;
}

static int load_data(aoei_trainer *t, aoe_error *err) {
    aoe_pairs *pairs = NULL;
    aoe_table_options table = t->o->table;
    table.allow_empty = 0;
    int code = aoe_pairs_load(&pairs, t->o->data, &table, err);
    if (code)
        return code;
    if (aoe_pairs_skipped(pairs))
        aoei_log_write(&t->ctx->log, AOE_LOG_WARNING, "%s: %zu bad rows were left out", t->o->data, aoe_pairs_skipped(pairs));
    if (aoe_pairs_dropped(pairs))
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%s: %zu rows have a label that is dropped", t->o->data,
                       aoe_pairs_dropped(pairs));
    code = aoei_dataset_create(&t->data, t->base, pairs, t->o->data, err);
    aoe_pairs_free(pairs);
    if (!code && t->data.truncated)
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%s: %zu of %zu texts are longer than %zu tokens and were cut", t->o->data,
                       t->data.truncated, 2 * t->data.n, t->base->settings.max_length);
    return code;
}

/* Memory of the run: parameters, activations, the best weights, the epoch's order. */
static int lay_out(aoei_trainer *t, aoe_error *err) {
    const size_t pairs = t->o->batch_size < t->data.n ? t->o->batch_size : t->data.n;
    aoei_pair_step_options step = {.pairs = pairs,
                                   .longest = t->data.longest,
                                   .type = t->base->type,
                                   .recompute = t->o->recompute,
                                   .chunk_pairs = t->o->cache_chunk < pairs ? t->o->cache_chunk : 0};
    int code = aoei_dataset_batch_tokens(&t->data, pairs, &step.tokens, err);
    if (!code && step.chunk_pairs)
        code = aoei_dataset_batch_tokens(&t->data, step.chunk_pairs, &step.chunk_tokens, err);
    if (!code)
        code = aoei_pair_step_create(&t->step, t->ctx, &t->base->config, &step, err);
    if (code)
        return code;
    aoei_params_load(t->ctx, &t->step.params, t->base->weights);
    aoei_model_release_weights(t->base);
    code = aoei_model_view(&t->view, t->base, t->step.params.values, err);
    if (code)
        return code;
    t->order = aoei_malloc_array(t->data.n, sizeof *t->order);
    t->order_epoch = (size_t)-1;
    if (!t->order)
        return aoei_fail_nomem(err, t->data.n * sizeof *t->order);
    if (!t->o->evaluate)
        return AOE_OK;
    t->best = aoei_malloc_array(t->step.params.count, sizeof *t->best);
    if (!t->best)
        return aoei_fail_nomem(err, t->step.params.count * sizeof *t->best);
    const aoe_embedder_options e = {.batch_tokens = t->o->batch_tokens};
    return aoe_embedder_create(&t->embedder, t->view, &e, err);
}

int aoei_trainer_create(aoei_trainer *t, aoe_context *ctx, const aoe_train_options *o, aoe_error *err) {
    memset(t, 0, sizeof *t);
    t->ctx = ctx;
    t->o = o;
    char *checkpoint = NULL;
    int code = check_options(o, err);
    if (!code)
        code = find_checkpoint(t, &checkpoint, err);
    if (!code)
        code = aoei_model_open_plain(&t->base, ctx, checkpoint ? checkpoint : o->model, &o->model_options, err);
    if (!code)
        code = load_data(t, err);
    if (!code)
        code = resolve_objective(t, err);
    if (!code) {
        t->hidden_dropout = o->dropout >= 0 ? o->dropout : t->base->config.hidden_dropout;
        t->attention_dropout = o->dropout >= 0 ? o->dropout : t->base->config.attention_dropout;
        plan_steps(t);
        code = describe(t, err);
    }
    if (!code)
        code = lay_out(t, err);
    if (!code && o->resume && !checkpoint)
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%s: no checkpoint yet, starting from the beginning", o->output);
    if (!code && checkpoint)
        code = aoei_checkpoint_read(t, checkpoint, err);
    aoei_free(checkpoint);
    if (code)
        aoei_trainer_destroy(t);
    return code;
}

void aoei_trainer_destroy(aoei_trainer *t) {
    aoei_unlock(&t->lock);
    aoei_train_log_close(t->log);
    aoe_embedder_destroy(t->embedder);
    aoe_model_close(t->view);
    aoei_pair_step_destroy(&t->step);
    aoei_dataset_destroy(&t->data);
    aoe_model_close(t->base);
    aoei_free(t->best);
    aoei_free(t->order);
    json_decref(t->settings);
    memset(t, 0, sizeof *t);
}
