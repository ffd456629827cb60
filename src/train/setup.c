/* SPDX-License-Identifier: MIT
 * Prepares a training run. All inputs are checked before any file is written; only the output directory is created
 * earlier. Cheap checks come first. The order is: options, output directory, model, data, labels, memory.
 */
#include "train/setup.h"

#include "aoe_train.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/path.h"
#include "modeldir/peft.h"
#include "nn/optimizer.h"
#include "options/training.h"
#include "train/agreement.h"
#include "train/checkpoint.h"
#include "train/schedule.h"
#include "model/describe.h"
#include "model/lora_options.h"
#include "model/open.h"
#include "model/weight_view.h"
#include "modeldir/layout.h"
#include "modeldir/publish.h"
#include "options/model.h"

#include <string.h>

/* Maximum of options.epochs and options.max_steps. With this limit, the product of the two fits in size_t. */

AOEI_DEFAULTS(aoe_training_args) {
    *o = (aoe_training_args){.struct_size = sizeof *o};
    aoe_model_options_defaults(&o->model_options);
    o->epochs = 1;
    o->batch_tokens = 4096;
    o->lr = 5e-5;
    o->warmup = 0.1;
    o->weight_decay = 0.01;
    o->max_grad_norm = 1.0;
    o->dropout = AOE_AUTO;
    o->seed = 42;
    o->keep_checkpoints = 1;
    o->optimizer_eps = 1e-8;
    o->lr_epoch_factor = o->lr_divide = 1;
    o->shards = 1;
    o->comm_timeout = 600;
}

int aoei_training_args_check(const aoe_training_args *o, aoe_error *err) {
    if (!o->epochs && !o->max_steps && !(o->max_minutes > 0))
        return aoei_fail(err, AOE_EARG, "options.epochs is 0; give at least 1");
    int code = aoei_option_group_check(&aoei_train_groups[AOEI_GROUP_SCHEDULE], o, AOEI_ALL_METHODS, err);
    if (code)
        return code;
    if (o->lr * o->weight_decay >= 1)
        return aoei_fail(
            err, AOE_EARG,
            "options.lr %g times options.weight_decay %g is at least 1, which decays every weight to 0 in one step; "
            "lower one of them",
            o->lr, o->weight_decay);
    if (o->max_minutes > 0 && (o->max_steps || o->warmup >= 1))
        return aoei_fail(
            err, AOE_EARG,
            "if options.max_minutes is set, options.max_steps must not be set, and options.warmup must be a "
            "fraction below 1");
    if (o->shards & (o->shards - 1))
        return aoei_fail(err, AOE_EARG, "options.shards is %zu; give a power of two, such as 8", o->shards);
    const size_t ranks = o->comm && o->comm->ranks > 1 ? (size_t)o->comm->ranks : 1;
    if (ranks > o->shards)
        return aoei_fail(err, AOE_EARG,
                         "options.shards is %zu, but the run has %zu ranks; give a power of two that is at least the "
                         "number of ranks",
                         o->shards, ranks);
    if (!(o->comm_timeout >= 0))
        return aoei_fail(err, AOE_EARG, "options.comm_timeout is %g; give a number of seconds, or 0 for no limit",
                         o->comm_timeout);
    code = aoei_option_check(AOEI_ROW_OF_BATCH_TOKENS, &o->batch_tokens, err);
    return code ? code : aoei_schedule_check(o, err);
}

/* Checks that the run may write to the locked output directory. checkpoint: path of a checkpoint in the directory, or
 * NULL if it contains none. */
static int check_output(const aoei_trainer *t, const char *checkpoint, aoe_error *err) {
    const aoe_training_args *o = t->o;
    const int model = aoei_is_model_dir(o->output);
    if (o->resume && checkpoint)
        return AOE_OK;
    if (o->resume && model)
        return aoei_fail(
            err, AOE_ENOENT,
            "%s: contains a model but no checkpoint to resume from; use options.force to train again from the start",
            o->output);
    if (!o->resume && !o->force && aoei_same_path(o->model, o->output))
        return aoei_fail(err, AOE_EARG,
                         "%s: the model to start from and the output are the same directory; choose another output, or "
                         "use options.force to replace the model",
                         o->output);
    if (!o->resume && !o->force && (model || checkpoint))
        return aoei_fail(err, AOE_EEXIST,
                         "%s: already contains %s; use options.resume to continue or options.force to replace it",
                         o->output, model ? "a model" : "checkpoints");
    return aoei_model_dir_check(o->output, o->force, err);
}

/* Opens the output directory. *checkpoint is set to the checkpoint from which the run resumes, or to NULL if the run
 * starts from the beginning. The caller frees *checkpoint with aoei_free. */
static int open_output(aoei_trainer *t, char **checkpoint, aoe_error *err) {
    const aoe_training_args *o = t->o;
    *checkpoint = NULL;
    int code = aoei_output_dir_open(&t->output, o->output, err);
    if (!code)
        code = o->resume ? aoei_checkpoint_choose(checkpoint, o->output, &t->ctx->log, err)
                         : aoei_checkpoint_find(checkpoint, o->output, err);
    if (!code)
        code = check_output(t, *checkpoint, err);
    if (code || !o->resume) {
        aoei_free(*checkpoint);
        *checkpoint = NULL;
    }
    return code;
}

/* Opens the output directory in rank 0. All ranks receive the path of the checkpoint. */
static int share_output(aoei_trainer *t, char **checkpoint, aoe_error *err) {
    uint64_t length = 0;
    int code = aoei_trainer_writes(t) ? open_output(t, checkpoint, err) : AOE_OK;
    code = aoei_comm_agree(&t->comm, code, err);
    if (code || aoei_comm_ranks(&t->comm) == 1)
        return code;
    length = *checkpoint ? strlen(*checkpoint) + 1 : 0;
    code = aoei_comm_broadcast(&t->comm, &length, sizeof length, err);
    if (code || !length)
        return code;
    if (!aoei_trainer_writes(t))
        *checkpoint = aoei_malloc_array((size_t)length, 1);
    code = aoei_comm_agree(&t->comm, *checkpoint ? AOE_OK : aoei_fail_nomem(err, (size_t)length), err);
    if (!code && *checkpoint)
        code = aoei_comm_broadcast(&t->comm, *checkpoint, (size_t)length, err);
    return code;
}

/* Does the long work of the task. If it writes files that later runs read, the other ranks wait until rank 0 has
 * written them. */
static int prepare_task(aoei_trainer *t, aoe_error *err) {
    const int waits = t->task->writes_cache && !aoei_trainer_writes(t);
    const double timeout = t->comm.timeout;
    int code = waits ? AOE_OK : t->task->prepare(t->task, t, err);
    aoei_comm_phase(&t->comm, "the teacher", 0);
    t->comm.timeout = 0; /* the work can take long */
    code = aoei_comm_agree(&t->comm, code, err);
    if (!code && t->task->writes_cache) {
        code = waits ? t->task->prepare(t->task, t, err) : AOE_OK;
        code = aoei_comm_agree(&t->comm, code, err);
    }
    t->comm.timeout = timeout;
    return code;
}

static void plan_steps(aoei_trainer *t) {
    const aoe_training_args *o = t->o;
    t->steps_per_epoch = t->task->steps_per_epoch;
    t->total_steps = o->max_minutes > 0 ? 1 : o->max_steps ? o->max_steps : o->epochs * t->steps_per_epoch;
    t->warmup_steps = o->warmup < 1 ? (size_t)(o->warmup * (double)t->total_steps) : (size_t)o->warmup;
    if (t->warmup_steps > t->total_steps)
        aoei_log_write(
            &t->ctx->log, AOE_LOG_WARNING,
            "options.warmup of %zu steps is longer than the run of %zu steps: the learning rate never reaches its "
            "maximum; use a fraction below 1",
            t->warmup_steps, t->total_steps);
}

/* Adds the adapters to the record r. New adapters are described by the options of this run, not by the checkpoint. In
 * this way, changed options are detected when a run resumes. */
static int describe_lora(const aoei_trainer *t, json_t *r, aoe_error *err) {
    const aoe_lora *requested = t->task->lora;
    aoei_lora l = t->base->config.lora;
    aoei_buffer targets = {0};
    const int code = l.r && requested->r ? aoei_lora_resolve(&l, requested, &t->base->config, err) : AOE_OK;
    if (code)
        return code;
    int bad = l.r ? aoei_peft_append_targets(&targets, &l, &t->base->config) : 0;
    bad = bad || json_object_set_new(r, "lora_r", l.r ? json_integer((json_int_t)l.r) : json_null());
    bad = bad || json_object_set_new(r, "lora_alpha", l.r ? json_real(l.alpha) : json_null());
    bad = bad || json_object_set_new(r, "lora_dropout", l.r ? json_real(l.dropout) : json_null());
    bad = bad || json_object_set_new(r, "lora_targets", l.r ? json_string(targets.data) : json_null());
    bad = bad || json_object_set_new(r, "load_8bit", l.r ? json_boolean(requested->load_8bit) : json_null());
    aoei_buffer_free(&targets);
    return bad ? aoei_fail_nomem(err, 0) : AOE_OK;
}

/* Creates t->settings, a record of all options that affect the result. The number of threads, the checkpoint interval
 * and logging do not affect it. Every key is always present; the value of an unused option is null. When a run resumes,
 * the first difference is reported. Therefore, an option comes before options whose values depend on it. */
static int describe(aoei_trainer *t, aoe_error *err) {
    const aoe_training_args *o = t->o;
    const aoei_settings *s = &t->base->settings;
    json_decref(t->settings);
    json_t *r = t->settings = json_object();
    int bad = !r;
    char *name = aoei_hub_model_name(o->model);
    bad |= !name || json_object_set_new(r, "base_model", aoei_name_json(name));
    aoei_free(name);
    bad |= json_object_set_new(r, "pooling", json_string(aoe_pooling_name(s->pooling)));
    bad |= json_object_set_new(r, "prompt", json_string(s->prompt));
    bad |= json_object_set_new(r, "max_length", json_integer((json_int_t)s->max_length));
    bad |= json_object_set_new(r, "normalize", json_boolean(s->normalize));
    bad |= json_object_set_new(r, "bidirectional_from",
                               s->bidirectional ? json_integer((json_int_t)s->bidirectional_from) : json_null());
    bad = bad || aoei_option_group_record(r, &aoei_train_groups[AOEI_GROUP_SCHEDULE], o, NULL, 0);
    if (!(o->max_minutes > 0))
        bad |= json_object_set_new(r, "max_minutes", json_null());
    bad |= json_object_set_new(r, "hidden_dropout", json_real(t->hidden_dropout));
    bad |= json_object_set_new(r, "attention_dropout", json_real(t->attention_dropout));
    bad |= json_object_set_new(r, "seed", json_integer((json_int_t)o->seed));
    bad |= json_object_set_new(r, "shards", o->shards > 1 ? json_integer((json_int_t)o->shards) : json_null());
    bad |= json_object_set_new(r, "dtype", json_string(t->base->type == AOEI_BF16 ? "bf16" : "f32"));
    bad = bad || t->task->describe(t->task, r);
    bad |= json_object_set_new(r, "aoe_version", json_string(AOE_VERSION));
    return bad ? aoei_fail_nomem(err, 0) : describe_lora(t, r, err);
}

/* Allocates the memory for parameters and activations. If the run evaluates, also allocates the memory for the best
 * weights and the embedder. */
static int lay_out(aoei_trainer *t, aoe_error *err) {
    int code = t->task->lay_out(t->task, t, err);
    if (code)
        return code;
    t->params = t->task->params;
    if (aoei_shards_are_several(&t->shards))
        code = aoei_partitioned_step_create(&t->update, &t->shards, t->params, t->task->tree, err);
    if (code)
        return code;
    if (!t->params->count)
        return aoei_fail(
            err, AOE_EARG,
            "%s: the model has no weights to train: it consists of word embeddings, and \"update_embeddings\" in "
            "config.json is false; set it to true to train them",
            t->o->model);
    aoei_params_load(t->ctx, t->params, t->base->weights);
    aoei_model_release_weights(t->base);
    code = aoei_model_view(&t->view[0], t->base, t->params->values, err);
    if (code || !t->task->evaluate)
        return code;
    t->best = aoei_malloc_array(t->params->count, sizeof *t->best);
    if (!t->best)
        return aoei_fail_nomem(err, t->params->count * sizeof *t->best);
    if (!t->task->embeds)
        return AOE_OK;
    const aoe_embedder_options e = {
        .struct_size = sizeof(aoe_embedder_options), .batch_tokens = t->o->batch_tokens, .threads = AOE_AUTO};
    for (size_t i = 0; i < t->task->candidates && !code; i++) {
        if (i)
            code = aoei_model_view(&t->view[i], t->base, aoei_params_values(t->params, i), err);
        if (!code)
            code = aoe_embedder_create(&t->embedder[i], t->view[i], &e, err);
    }
    return code;
}

/* Checks that the checkpoint contains adapters if the run trains adapters, and that it contains none otherwise. saved:
 * 1 if the start model is an adapter directory. */
static int check_checkpoint(const aoei_trainer *t, const char *checkpoint, int saved, aoe_error *err) {
    const int adapters = aoei_is_adapter_dir(checkpoint), requested = t->task->lora && (saved || t->task->lora->r);
    if (adapters == requested)
        return AOE_OK;
    return aoei_fail(
        err, AOE_EARG,
        "%s: the run %s adapters (options.lora.r); resume with unchanged options, or start again with options.force",
        checkpoint, adapters ? "trains" : "does not train");
}

/* If the run trains adapters, checks that saving the result would not replace their base model: the base model
 * directory must be neither the output directory nor inside it. base: base model directory. */
static int check_base_is_kept(const aoei_trainer *t, const char *base, aoe_error *err) {
    if (!t->base->config.lora.r || !aoei_path_within(base, t->o->output))
        return AOE_OK;
    return aoei_fail(err, AOE_EARG, "%s: training would replace %s, which the adapters need; choose another output",
                     t->o->output, base);
}

/* Opens the checkpoint if the run resumes, or the start model otherwise. Adapters in a checkpoint are opened together
 * with the base model of this run. */
static int open_base(aoei_trainer *t, const char *checkpoint, aoe_error *err) {
    const aoe_training_args *o = t->o;
    const int saved = aoei_is_adapter_dir(o->model);
    aoe_model_options options = o->model_options;
    aoei_open_mode p = {.mlm = t->task->mlm_head,
                        .head = t->task->head,
                        .seed = o->seed,
                        .lora = t->task->lora,
                        .words = t->task->words};
    options.cross_encoder = t->task->cross_encoder;
    p.head.replace &= !checkpoint;
    aoe_lora checkpoint_lora;
    char *base = NULL;
    aoei_model_dir dir = {checkpoint, NULL};
    int code = checkpoint ? check_checkpoint(t, checkpoint, saved, err) : AOE_OK;
    if (!code && checkpoint && aoei_is_adapter_dir(checkpoint)) {
        if (saved && !(dir.cache = aoei_file_cache_create()))
            code = aoei_fail_nomem(err, 0);
        else if (saved)
            code = aoei_peft_base(&base, dir, options.base, err);
        options.base = base ? base : o->model;
        aoe_lora_defaults(&checkpoint_lora); /* rank, alpha and targets are read from the checkpoint; describe_lora
                                                compares them with the options */
        checkpoint_lora.dropout = p.lora->dropout;
        p.lora = &checkpoint_lora;
    }
    p.eight_bit = t->task->lora && t->task->lora->load_8bit;
    if (!code)
        code = aoei_model_open_for(&t->base, t->ctx, checkpoint ? checkpoint : o->model, &options, &p, err);
    if (!code && t->task->pooling != AOE_POOLING_AUTO && options.pooling == t->task->pooling)
        t->base->settings.pooling_from = "method";
    if (!code)
        code = check_base_is_kept(t, t->base->files.base_dir ? t->base->files.base_dir : t->base->files.dir, err);
    aoei_file_cache_destroy(dir.cache);
    aoei_free(base);
    return code;
}

/* Logs a warning if sentence-transformers does not support the pooling or a module of the model that will be saved. */
static void log_limitation(aoei_trainer *t) {
    char text[512];
    const aoei_settings *s = &t->base->settings;
    const char *limitation = aoei_settings_unsupported(s) ? aoei_settings_limits(s, text, sizeof text) : NULL;
    t->limits_logged = limitation && t->task->embeds;
    if (t->limits_logged)
        aoei_log_write(&t->ctx->log, AOE_LOG_WARNING, "%s", limitation);
}

/* Loads the data. Sets the dropout probabilities of the run. */
static int load_task(aoei_trainer *t, aoe_error *err) {
    const aoe_training_args *o = t->o;
    const int code = t->task->load(t->task, t, err); /* adds the layers of the method */
    if (code)
        return code;
    aoei_encoder_config *c = &t->base->config;
    for (size_t i = 0; i < c->modules.n && c->modules.classes && !aoei_is_auto(o->dropout); i++)
        c->modules.list[i].dropout = o->dropout;
    t->hidden_dropout = aoei_is_auto(o->dropout) ? c->hidden_dropout : o->dropout;
    t->attention_dropout = aoei_is_auto(o->dropout) ? c->attention_dropout : o->dropout;
    return AOE_OK;
}

/* Checks that the disk has space for the first checkpoint, which contains the trained weights and the moments of the
 * optimizer, in float32. Without this check, a full disk would be noticed only after the first steps. */
static int check_space(const aoei_trainer *t, aoe_error *err) {
    const uint64_t copies = 1 + (uint64_t)aoei_optimizer_moments(aoei_optimizer_of(t->o->optimizer));
    return aoei_check_free_space(t->o->output, copies * t->params->count * sizeof(float), "the first checkpoint",
                                 "free space, or choose another directory for options.output", err);
}

int aoei_trainer_check(aoei_trainer *t, aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err) {
    *t = (aoei_trainer){.ctx = ctx, .o = o, .task = task};
    int code = aoei_training_args_check(o, err);
    if (!code)
        code = open_base(t, NULL, err);
    if (!code)
        code = load_task(t, err);
    if (code)
        aoei_trainer_destroy(t);
    return code;
}

/* Opens the model and the data, and describes the run. */
static int load(aoei_trainer *t, const char *checkpoint, aoe_error *err) {
    int code = open_base(t, checkpoint, err);
    if (code)
        return code;
    t->resumed = checkpoint != NULL;
    aoei_model_log_description(t->base);
    code = load_task(t, err);
    if (code)
        return code;
    log_limitation(t);
    plan_steps(t);
    code = describe(t, err);
    return !code && t->task->prepare && checkpoint ? aoei_checkpoint_check(t, checkpoint, err) : code;
}

/* Allocates the memory of the run, and restores the checkpoint. */
static int allocate(aoei_trainer *t, const char *checkpoint, aoe_error *err) {
    int code = lay_out(t, err);
    if (!code && aoei_trainer_writes(t))
        code = check_space(t, err);
    if (!code && t->o->resume && !checkpoint)
        aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%s: no checkpoint yet, starting from the beginning", t->o->output);
    if (!code && checkpoint)
        code = aoei_checkpoint_read(t, checkpoint, err);
    return code;
}

int aoei_trainer_create(aoei_trainer *t, aoe_context *ctx, const aoe_training_args *o, aoei_task *task,
                        aoe_error *err) {
    memset(t, 0, sizeof *t);
    t->ctx = ctx;
    t->o = o;
    t->task = task;
    char *checkpoint = NULL;
    int code = aoei_training_args_check(o, err);
    if (!code)
        code = aoei_comm_init(&t->comm, o->comm, o->comm_timeout, err);
    if (!code && !aoei_trainer_writes(t)) {
        t->quiet = *o;
        t->quiet.event = NULL;
        t->o = &t->quiet;
    }
    if (!code) {
        t->shards = aoei_shards_of(o->shards, &t->comm);
        code = aoei_agree_on_machine(t, err);
    }
    if (!code)
        code = share_output(t, &checkpoint, err);
    if (!code) {
        code = load(t, checkpoint, err);
        code = aoei_comm_agree(&t->comm, code, err);
    }
    if (!code)
        code = aoei_agree_on_settings(t, err);
    if (!code)
        code = aoei_agree_on_model(t, err);
    if (!code && t->task->prepare) {
        code = prepare_task(t, err);
        if (!code)
            code = aoei_comm_agree(&t->comm, describe(t, err), err);
        if (!code)
            code = aoei_agree_on_settings(t, err);
    }
    if (!code)
        code = aoei_comm_agree(&t->comm, allocate(t, checkpoint, err), err);
    if (!code)
        code = aoei_agree_on_weights(t, "the weights at the start", err);
    aoei_free(checkpoint);
    if (code)
        code = aoei_comm_result(&t->comm, code, err);
    if (code)
        aoei_trainer_destroy(t);
    return code;
}

void aoei_trainer_destroy(aoei_trainer *t) {
    aoei_train_log_close(t->log);
    aoei_output_dir_close(&t->output);
    for (size_t e = 0; e < AOEI_MAX_ENCODERS; e++) {
        aoe_embedder_destroy(t->embedder[e]);
        aoe_model_close(t->view[e]);
    }
    aoe_model_close(t->base);
    aoei_partitioned_step_destroy(&t->update);
    aoei_comm_free(&t->comm);
    aoei_free(t->best);
    json_decref(t->settings);
    memset(t, 0, sizeof *t);
}
