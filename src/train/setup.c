/* SPDX-License-Identifier: MIT
 * Setting a training run up: every input is looked at before anything is
 * written. The order is the order in which a mistake is cheapest to report:
 * options, output directory, model, data, labels, memory.
 */
#include "train/trainer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = INT32_MAX }; /* of epochs and steps alike: products of the two fit */
#define MAX_MINUTES 1e6

void aoei_course_defaults(aoe_train_course *o) {
    memset(o, 0, sizeof *o);
    aoe_model_options_defaults(&o->model_options);
    o->epochs = 1;
    o->batch_tokens = 4096;
    o->lr = 5e-5;
    o->warmup = 0.1;
    o->weight_decay = 0.01;
    o->max_grad_norm = 1.0;
    o->dropout = -1;
    o->seed = 42;
    o->keep_checkpoints = 1;
}

static int check_options(const aoe_train_course *o, aoe_error *err) {
    if (!o->epochs && !o->max_steps && !(o->max_minutes > 0))
        return aoei_fail(err, AOE_EARG, "--epochs 0 trains nothing; give at least 1");
    if (!o->keep_checkpoints)
        return aoei_fail(err, AOE_EARG, "the number of kept checkpoints must be at least 1");
    if (!(o->lr >= 0 && isfinite(o->lr)) || !(o->weight_decay >= 0 && isfinite(o->weight_decay)))
        return aoei_fail(err, AOE_EARG, "--lr and --weight-decay must be finite and not negative");
    if (o->lr * o->weight_decay >= 1)
        return aoei_fail(err, AOE_EARG, "--lr %g with --weight-decay %g takes all of every weight in a step; lower one of them",
                         o->lr, o->weight_decay);
    if (!(o->max_minutes >= 0 && o->max_minutes <= MAX_MINUTES))
        return aoei_fail(err, AOE_EARG, "--max-minutes must be 0 to %g", MAX_MINUTES);
    if (o->max_minutes > 0 && (o->max_steps || o->warmup >= 1))
        return aoei_fail(err, AOE_EARG, "--max-minutes goes by the clock: leave --max-steps out, and --warmup a share below 1");
    if (!(o->warmup >= 0 && o->warmup <= MAX_STEPS) || !(o->max_grad_norm >= 0 && isfinite(o->max_grad_norm)))
        return aoei_fail(err, AOE_EARG, "--warmup and --max-grad-norm must be finite and not negative");
    if (o->epochs > MAX_STEPS || o->max_steps > MAX_STEPS)
        return aoei_fail(err, AOE_EARG, "--epochs and --max-steps must be at most %d", MAX_STEPS);
    if (!(o->dropout < 1))
        return aoei_fail(err, AOE_EARG, "--dropout must be below 1");
    if (!o->batch_tokens)
        return aoei_fail(err, AOE_EARG, "--batch-tokens must be at least 1");
    return AOE_OK;
}

/* The output directory can be written and holds nothing that would be lost without the caller's word. *checkpoint: what to
 * resume from (aoei_free), or NULL. */
static int find_checkpoint(const aoei_trainer *t, char **checkpoint, aoe_error *err) {
    const aoe_train_course *o = t->o;
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

static void plan_steps(aoei_trainer *t) {
    const aoe_train_course *o = t->o;
    t->steps_per_epoch = t->task->steps_per_epoch;
    t->total_steps = o->max_minutes > 0 ? 1 : o->max_steps ? o->max_steps : o->epochs * t->steps_per_epoch;
    t->warmup_steps = o->warmup < 1 ? (size_t)(o->warmup * (double)t->total_steps) : (size_t)o->warmup;
}

json_t *aoei_name_json(const char *name) {
    json_t *v = NULL;
    char *copy = name ? aoei_strdup(name) : NULL;
    if (copy)
        v = json_stringn(copy, aoei_one_line(copy, strlen(copy)));
    aoei_free(copy);
    return name ? v : json_null();
}

/* What decides the result. Thread count, checkpoint rhythm and messages do not. What changes other values comes before them:
 * the first difference is the one that a resumed run is told. */
static int describe(aoei_trainer *t, aoe_error *err) {
    const aoe_train_course *o = t->o;
    const aoei_settings *s = &t->base->settings;
    aoei_json_init();
    json_t *r = t->settings = json_object();
    int bad = !r;
    bad |= json_object_set_new(r, "base_model", aoei_name_json(o->model));
    bad |= json_object_set_new(r, "pooling", json_string(aoe_pooling_name(s->pooling)));
    bad |= json_object_set_new(r, "prompt", json_string(s->prompt));
    bad |= json_object_set_new(r, "max_length", json_integer((json_int_t)s->max_length));
    bad |= json_object_set_new(r, "normalize", json_boolean(s->normalize));
    if (s->bidirectional)
        bad |= json_object_set_new(r, "bidirectional_from", json_integer((json_int_t)s->bidirectional_from));
    bad |= json_object_set_new(r, "epochs", json_integer((json_int_t)o->epochs));
    bad |= json_object_set_new(r, "max_steps", json_integer((json_int_t)o->max_steps));
    if (o->max_minutes > 0)
        bad |= json_object_set_new(r, "max_minutes", json_real(o->max_minutes));
    bad |= json_object_set_new(r, "lr", json_real(o->lr));
    bad |= json_object_set_new(r, "warmup", json_real(o->warmup));
    bad |= json_object_set_new(r, "weight_decay", json_real(o->weight_decay));
    bad |= json_object_set_new(r, "max_grad_norm", json_real(o->max_grad_norm));
    bad |= json_object_set_new(r, "hidden_dropout", json_real(t->hidden_dropout));
    bad |= json_object_set_new(r, "attention_dropout", json_real(t->attention_dropout));
    bad |= json_object_set_new(r, "seed", json_integer((json_int_t)o->seed));
    bad |= json_object_set_new(r, "eval_every", json_integer((json_int_t)o->eval_every));
    bad |= json_object_set_new(r, "patience", json_integer((json_int_t)o->patience));
    bad |= json_object_set_new(r, "dtype", json_string(t->base->type == AOEI_BF16 ? "bf16" : "f32"));
    bad = bad || t->task->describe(t->task, r);
    bad |= json_object_set_new(r, "aoe_version", json_string(AOE_VERSION));
    return bad ? aoei_fail_nomem(err, 0) : AOE_OK;
}

/* Memory of the run: parameters, activations, the best weights. */
static int lay_out(aoei_trainer *t, aoe_error *err) {
    int code = t->task->lay_out(t->task, t, err);
    if (code)
        return code;
    t->params = t->task->params;
    aoei_params_load(t->ctx, t->params, t->base->weights);
    aoei_model_release_weights(t->base);
    code = aoei_model_view(&t->view, t->base, t->params->values, err);
    if (code || !t->task->evaluate)
        return code;
    t->best = aoei_malloc_array(t->params->count, sizeof *t->best);
    if (!t->best)
        return aoei_fail_nomem(err, t->params->count * sizeof *t->best);
    if (!t->task->embeds)
        return AOE_OK;
    const aoe_embedder_options e = {.batch_tokens = t->o->batch_tokens};
    return aoe_embedder_create(&t->embedder, t->view, &e, err);
}

static int open_base(aoei_trainer *t, const char *dir, aoe_error *err) {
    const aoe_model_options *o = &t->o->model_options;
    return t->task->mlm_head ? aoei_model_open_mlm(&t->base, t->ctx, dir, o, t->o->seed, err)
                             : aoei_model_open_plain(&t->base, t->ctx, dir, o, err);
}

int aoei_trainer_create(aoei_trainer *t, aoe_context *ctx, const aoe_train_course *o, aoei_task *task, aoe_error *err) {
    memset(t, 0, sizeof *t);
    t->ctx = ctx;
    t->o = o;
    t->task = task;
    char *checkpoint = NULL;
    int code = check_options(o, err);
    if (!code)
        code = find_checkpoint(t, &checkpoint, err);
    if (!code)
        code = open_base(t, checkpoint ? checkpoint : o->model, err);
    if (!code)
        code = task->load(task, t, err);
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
    aoe_model_close(t->base);
    aoei_free(t->best);
    json_decref(t->settings);
    memset(t, 0, sizeof *t);
}
