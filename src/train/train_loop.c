/* SPDX-License-Identifier: MIT
 * Implements the training loop. The order of the examples depends only on the seed and the epoch. The dropout masks
 * depend only on the seed and the step. Therefore, the steps of a resumed run are bit-identical to the steps of an
 * uninterrupted run.
 */
#include "train/train_loop.h"

#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "nn/optimizer.h"
#include "train/agreement.h"
#include "train/checkpoint.h"
#include "train/schedule.h"
#include "train/setup.h"
#include "model/save.h"
#include "modeldir/model_writer.h"

#include <math.h>
#include <string.h>

/* What a rank has exchanged in its steps. */
typedef struct rank_traffic {
    aoei_traffic of[AOEI_TRAFFIC_KINDS];
    double step_seconds;
} rank_traffic;

/* State of the progress reports. The times affect the trained model only if the run has a time limit. */
typedef struct timer {
    double start;           /* time in seconds when this process started training */
    double last;            /* time in seconds of the last step event */
    double earlier_seconds; /* training time in seconds of earlier processes of this run; used only with a time limit */
    uint64_t first_step;    /* number of steps completed before this process started */
    int cancelled;          /* 1: the event callback requested to stop */
    int stop;               /* 1: all ranks know that the event callback requested to stop */
    double step_seconds;    /* time of all steps in seconds, without evaluations and checkpoints */
    rank_traffic *traffic;  /* [ranks] memory for gather_traffic; owned */
    aoe_objective_result loss; /* loss of the last step or evaluation, to which its event points */
} timer;

static const aoe_objective_result no_loss = {.struct_size = sizeof no_loss};

static aoe_train_event new_event(const aoei_trainer *t, const timer *m, aoe_train_event_kind kind) {
    aoe_train_event e;
    memset(&e, 0, sizeof e);
    const aoei_progress *p = &t->progress;
    const double elapsed = aoei_now() - m->start;
    const uint64_t done = p->step - m->first_step;
    e.struct_size = sizeof e;
    e.kind = kind;
    e.loss = &no_loss;
    e.step = p->step;
    e.steps = t->total_steps;
    e.epoch = (double)p->step / (double)t->steps_per_epoch;
    e.seconds = elapsed;
    e.seconds_left = done ? elapsed / (double)done * (double)(t->total_steps - p->step) : (double)NAN;
    e.score = (double)NAN;
    e.best_score = p->has_best ? p->best_score : (double)NAN;
    e.best_step = p->has_best ? p->best_step : p->step;
    e.start_score = p->has_start ? p->start_score : (double)NAN;
    e.trained_score = p->has_trained ? p->trained_score : (double)NAN;
    e.trained_step = p->has_trained ? p->trained_step : p->step;
    e.pairs = t->task->examples;
    e.unused_rows = t->task->unused;
    e.ibn_threshold = t->task->ibn_threshold;
    e.accuracy = (double)NAN;
    return e;
}

int aoei_is_logged_step(const aoei_trainer *t, uint64_t step) {
    return step == 1 || step % (t->total_steps / 1000 + 1) == 0;
}

/* Writes an event to the log and passes it to the event callback. The log contains neither checkpoint events nor the
 * start event of a resumed run. Therefore, the log of a resumed run equals the log of an uninterrupted run. In a
 * distributed run, only rank 0 reports events. */
static int report_event(aoei_trainer *t, timer *m, const aoe_train_event *e, aoe_error *err) {
    if (!aoei_trainer_writes(t))
        return AOE_OK;
    const int is_resume = e->kind == AOE_TRAIN_START && e->step > 0;
    const int is_omitted = e->kind == AOE_TRAIN_STEP && !aoei_is_logged_step(t, e->step);
    if (e->kind != AOE_TRAIN_CHECKPOINT && !is_resume && !is_omitted) {
        const int code = aoei_train_log_write(t->log, e, err);
        if (code)
            return code;
    }
    if (t->o->event && t->o->event(t->o->event_user, e))
        m->cancelled = 1;
    return AOE_OK;
}

static void update_seconds(aoei_trainer *t, const timer *m) {
    t->progress.seconds = m->earlier_seconds + aoei_now() - m->start;
}

/* Sets t->total_steps for a run with a time limit: estimates it from the current speed. If the time limit is reached,
 * the step just completed is the last step. */
static void estimate_steps(aoei_trainer *t, const timer *m) {
    const uint64_t step = t->progress.step;
    const double elapsed_here = t->progress.seconds - m->earlier_seconds,
                 left = 60 * t->o->max_minutes - t->progress.seconds;
    const double more_steps = left * (double)(step - m->first_step) / elapsed_here;
    t->total_steps = step + (left <= 0                ? 0
                             : !(more_steps > 1)      ? 1
                             : more_steps < INT32_MAX ? (size_t)more_steps
                                                      : INT32_MAX);
}

/* With a time limit, the times of rank 0 determine the number of steps and the learning rate of all ranks. */
static int share_time(aoei_trainer *t, aoe_error *err) {
    struct {
        double seconds;
        uint64_t steps;
    } time = {t->progress.seconds, t->total_steps};
    const int code = aoei_comm_broadcast(&t->comm, &time, sizeof time, err);
    t->progress.seconds = time.seconds;
    t->total_steps = (size_t)time.steps;
    return code;
}

/* All ranks stop if the event callback of rank 0 requested it. */
static int agree_on_stop(aoei_trainer *t, timer *m, aoe_error *err) {
    unsigned char stop = (unsigned char)m->cancelled;
    const int code = aoei_comm_broadcast(&t->comm, &stop, sizeof stop, err);
    m->stop = stop;
    return code;
}

/* Updates the parameters. *norm receives the norm of the gradient. */
static int update_weights(aoei_trainer *t, const aoei_optimizer *optimizer, double *norm, aoe_error *err) {
    if (aoei_shards_are_several(&t->shards))
        return aoei_partitioned_step_update(&t->update, t->ctx, optimizer, t->o->max_grad_norm, norm, err);
    *norm = aoei_params_update(t->ctx, t->params, optimizer, t->o->max_grad_norm);
    return AOE_OK;
}

enum { CHECK_EVERY = 100 /* number of steps between comparisons of the weights of all ranks */ };

static int run_step(aoei_trainer *t, timer *m, aoe_train_event *e, aoe_error *err) {
    const aoe_training_args *o = t->o;
    const uint64_t step = t->progress.step;
    aoei_encoder_dropout drop = {.hidden = t->hidden_dropout, .attention = t->attention_dropout};
    aoei_dropout_key(drop.key, o->seed, step);
    int with_dropout = drop.hidden > 0 || drop.attention > 0 || t->base->config.lora.dropout > 0;
    for (size_t i = 0; i < t->base->config.modules.n; i++)
        with_dropout |=
            t->base->config.modules.list[i].kind == AOEI_MODULE_DROPOUT && t->base->config.modules.list[i].dropout > 0;
    aoei_task_result r = {.accuracy = (double)NAN};
    aoei_comm_phase(&t->comm, "the vectors", step + 1);
    aoei_comm_count(&t->comm, AOEI_TRAFFIC_VECTORS);
    int code = t->task->gradient(t->task, t, step, with_dropout ? &drop : NULL, &r, err);
    if (code) {
        aoei_error_prefix(err, "step %llu", (unsigned long long)(step + 1));
        return code;
    }
    const aoei_optimizer optimizer = {.kind = aoei_optimizer_of(o->optimizer),
                                      .lr = aoei_learning_rate(t, step),
                                      .beta1 = 0.9,
                                      .beta2 = o->optimizer == AOE_OPTIMIZER_RMSPROP ? 0.9 : 0.999,
                                      .eps = o->optimizer_eps,
                                      .weight_decay = o->weight_decay,
                                      .no_bias_correction = o->no_bias_correction,
                                      .decay_all = o->decay_all,
                                      .step = step + 1};
    double norm = 0;
    code = update_weights(t, &optimizer, &norm, err);
    aoei_comm_count(&t->comm, AOEI_TRAFFIC_OTHER);
    if (code)
        return code;
    if (!isfinite(norm) || !isfinite(r.loss.total))
        return aoei_fail(err, AOE_ENUMERIC,
                         "step %llu: the loss or its gradient is not finite; lower options.lr and train again",
                         (unsigned long long)(step + 1));
    t->progress.step++;
    update_seconds(t, m);
    if (o->max_minutes > 0) {
        estimate_steps(t, m);
        code = share_time(t, err);
    }
    if (!code && t->progress.step % CHECK_EVERY == 0)
        code = aoei_agree_on_weights(t, "the weights", err);
    if (code)
        return code;
    *e = new_event(t, m, AOE_TRAIN_STEP);
    const double now = aoei_now(), seconds = now - m->last;
    m->loss = r.loss;
    m->loss.struct_size = sizeof m->loss;
    e->loss = &m->loss;
    e->accuracy = r.accuracy;
    e->examples = r.examples;
    e->lr = optimizer.lr;
    e->grad_norm = norm;
    e->tokens_per_second = seconds > 0 ? (double)r.tokens / seconds : 0;
    e->pairs_per_second = seconds > 0 ? (double)r.examples / seconds : 0;
    m->last = now;
    return AOE_OK;
}

/* Returns 1 if the number of the step just completed is a multiple of `every`, or if it is the last step. If `every` is
 * 0, the steps per epoch are used instead. */
static int is_due(const aoei_trainer *t, size_t every) {
    const uint64_t step = t->progress.step;
    return step == t->total_steps || step % (every ? every : t->steps_per_epoch) == 0;
}

/* Fails if a weight is infinite or NaN. Such weights must be neither evaluated nor saved. */
static int check_weights(const aoei_trainer *t, aoe_error *err) {
    if (aoei_tensor_finite(t->ctx, t->params->value))
        return AOE_OK;
    return aoei_fail(err, AOE_ENUMERIC, "step %llu: the weights are no longer finite; lower options.lr and train again",
                     (unsigned long long)t->progress.step);
}

/* Returns 1 if score a is better than score b. A number is better than NaN. */
static int is_better(double a, double b) {
    return a > b || (isnan(b) && !isnan(a));
}

/* Evaluates the encoder, and the second encoder if there is one. *score receives the better score, and *second is set
 * to 1 if it is the score of the second encoder. The better encoder is evaluated last, so that the caller's dev set
 * describes it. */
static int score_encoders(aoei_trainer *t, double *score, int *second, aoei_task_result *r, aoe_error *err) {
    aoei_task *task = t->task;
    double other = (double)NAN;
    *second = 0;
    int code = t->embedder[1] ? task->evaluate(task, t, t->embedder[1], &other, r, err) : AOE_OK;
    if (!code)
        code = task->evaluate(task, t, t->embedder[0], score, r, err);
    if (code || !is_better(other, *score))
        return code;
    *second = 1;
    return task->evaluate(task, t, t->embedder[1], score, r, err);
}

/* Copies the current weights to t->best. second: 1: the halves of the two encoders are exchanged. */
static void keep_weights(aoei_trainer *t, int second) {
    const size_t count = t->params->count, half = count / t->params->encoders;
    for (size_t e = 0; e < t->params->encoders; e++)
        aoei_tensor_read(t->ctx, t->best + (second ? 1 - e : e) * half,
                         aoei_tensor_slice(t->params->value, e * half, 1, half));
}

/* Records the score of an evaluation, and keeps the current weights if the score is the best so far. The score of the
 * start model is only a score to beat: patience and options.lr_divide depend on the evaluations after it, because the
 * score often falls in the first steps. A score that is NaN never replaces a number; for the start model, it is no
 * score to beat. */
static void record_score(aoei_trainer *t, double score, int second) {
    aoei_progress *p = &t->progress;
    if (!p->step) {
        p->has_start = 1;
        p->start_score = score;
    } else if (!p->has_trained || is_better(score, p->trained_score)) {
        p->has_trained = 1;
        p->trained_score = score;
        p->trained_step = p->step;
        p->bad_evals = 0;
    } else {
        p->bad_evals++;
        p->divisions++;
    }
    if (p->has_best ? is_better(score, p->best_score) : p->step || !isnan(score)) {
        p->has_best = 1;
        p->best_score = score;
        p->best_step = p->step;
        keep_weights(t, second);
    }
}

static int evaluate(aoei_trainer *t, timer *m, aoe_error *err) {
    double score = (double)NAN;
    int second;
    aoei_task_result r = {.accuracy = (double)NAN};
    aoei_comm_phase(&t->comm, "the evaluation", t->progress.step);
    int code = score_encoders(t, &score, &second, &r, err);
    if (!code)
        code = aoei_comm_same_hash(&t->comm, "the scores of the evaluation",
                                   aoei_hash(AOEI_HASH_START, &score, sizeof score), err);
    if (code)
        return code;
    record_score(t, score, second);
    /* the evaluation of the start model takes none of the training time */
    m->last = aoei_now();
    if (!t->progress.step)
        m->start = m->last;
    aoe_train_event e = new_event(t, m, AOE_TRAIN_EVAL);
    e.score = score;
    m->loss = r.loss;
    m->loss.struct_size = sizeof m->loss;
    e.loss = &m->loss;
    e.accuracy = r.accuracy;
    return report_event(t, m, &e, err);
}

static int checkpoint(aoei_trainer *t, timer *m, aoe_error *err) {
    char *path;
    update_seconds(t, m);
    aoei_comm_phase(&t->comm, "the checkpoint", t->progress.step);
    int code = aoei_checkpoint_write(t, &path, err);
    if (code)
        return code;
    aoe_train_event e = new_event(t, m, AOE_TRAIN_CHECKPOINT);
    e.path = path;
    code = report_event(t, m, &e, err);
    aoei_free(path);
    m->last = aoei_now();
    return code;
}

static int out_of_patience(const aoei_trainer *t) {
    return t->o->patience && t->progress.bad_evals >= t->o->patience;
}

static int run_steps(aoei_trainer *t, timer *m, aoe_error *err) {
    while (t->progress.step < t->total_steps && !out_of_patience(t) && !aoei_schedule_is_finished(t)) {
        aoe_train_event e = {0};
        int saved = 0;
        const double begin = aoei_now();
        int code = run_step(t, m, &e, err);
        if (!code)
            code = report_event(t, m, &e, err);
        aoei_comm_count(&t->comm, AOEI_TRAFFIC_AGREEMENT);
        if (!code)
            code = agree_on_stop(t, m, err);
        aoei_comm_count(&t->comm, AOEI_TRAFFIC_OTHER);
        m->step_seconds += aoei_now() - begin;
        const int save = is_due(t, t->o->save_every), score = t->task->evaluate && is_due(t, t->o->eval_every);
        if (!code && (save || score || m->stop))
            code = check_weights(t, err);
        if (!code && score)
            code = evaluate(t, m, err);
        if (!code && (save || out_of_patience(t) || aoei_schedule_is_finished(t))) {
            code = checkpoint(t, m, err);
            saved = 1;
        }
        if (!code && (score || saved))
            code = agree_on_stop(t, m, err);
        if (code)
            return code;
        if (m->stop && t->progress.step < t->total_steps) {
            if (!saved)
                code = checkpoint(t, m, err);
            if (code)
                return code;
            code = aoei_fail(err, AOE_ECANCELLED, "stopped after step %llu of %zu; continue with options.resume",
                             (unsigned long long)t->progress.step, t->total_steps);
            return aoei_comm_agree(&t->comm, code, err);
        }
    }
    return AOE_OK;
}

/* Returns the training record: a JSON object with the options and the results, which is stored in aoe.json. Returns
 * NULL if out of memory. */
static json_t *training_record(const aoei_trainer *t) {
    const aoei_progress *p = &t->progress;
    json_t *r = aoei_json_copy(t->settings);
    int bad = !r;
    bad |= json_object_set_new(r, "steps", json_integer((json_int_t)p->step));
    if (p->has_best) {
        bad |= json_object_set_new(r, "best_step", json_integer((json_int_t)p->best_step));
        bad |= json_object_set_new(r, "dev_score", isfinite(p->best_score) ? json_real(p->best_score) : json_null());
    }
    if (p->has_start)
        bad |= json_object_set_new(r, "start_dev_score",
                                   isfinite(p->start_score) ? json_real(p->start_score) : json_null());
    if (!bad)
        return r;
    json_decref(r);
    return NULL;
}

/* Saves the trained model. */
static int save_result(aoei_trainer *t, aoe_error *err) {
    json_t *record = training_record(t);
    if (!record)
        return aoei_fail_nomem(err, 0);
    aoei_model_contents contents;
    aoei_model_weight_reader rows;
    aoei_model_contents_of(&contents, &rows, t->view[0], record, AOE_STORAGE_F32);
    contents.only_adapters = t->view[0]->config.lora.r > 0;
    contents.limits_logged = t->limits_logged;
    const int code = aoei_contents_save(&contents, t->o->output, &t->ctx->log, err);
    json_decref(record);
    return code;
}

static void merge_kind(uint64_t *sent, double *seconds, const aoei_traffic *of, int first) {
    *sent = first || of->sent > *sent ? of->sent : *sent;
    *seconds = first || of->seconds < *seconds ? of->seconds : *seconds;
}

/* Sets *all to the largest numbers of bytes and the shortest times among the ranks. */
static void merge_traffic(aoe_train_traffic *all, const rank_traffic *of, size_t ranks) {
    for (size_t r = 0; r < ranks; r++) {
        const aoei_traffic *k = of[r].of;
        double computation = of[r].step_seconds;
        for (int i = AOEI_TRAFFIC_OTHER + 1; i < AOEI_TRAFFIC_KINDS; i++)
            computation -= k[i].seconds;
        all->computation_seconds = computation > all->computation_seconds ? computation : all->computation_seconds;
        merge_kind(&all->vectors, &all->vectors_seconds, &k[AOEI_TRAFFIC_VECTORS], !r);
        merge_kind(&all->gradients, &all->gradients_seconds, &k[AOEI_TRAFFIC_GRADIENTS], !r);
        merge_kind(&all->norm, &all->norm_seconds, &k[AOEI_TRAFFIC_NORM], !r);
        merge_kind(&all->weights, &all->weights_seconds, &k[AOEI_TRAFFIC_WEIGHTS], !r);
        merge_kind(&all->agreement, &all->agreement_seconds, &k[AOEI_TRAFFIC_AGREEMENT], !r);
    }
}

/* Gathers what all ranks have exchanged. */
static int gather_traffic(aoei_trainer *t, timer *m, aoe_train_traffic *all, aoe_error *err) {
    const size_t ranks = (size_t)aoei_comm_ranks(&t->comm);
    *all = (aoe_train_traffic){
        .struct_size = sizeof *all, .ranks = ranks, .steps = (size_t)(t->progress.step - m->first_step)};
    rank_traffic *own = &m->traffic[aoei_comm_rank(&t->comm)];
    memcpy(own->of, t->comm.traffic, sizeof own->of);
    own->step_seconds = m->step_seconds;
    const int code = aoei_comm_gather_equal(&t->comm, m->traffic, sizeof *m->traffic, err);
    if (!code)
        merge_traffic(all, m->traffic, ranks);
    return code;
}

static int finish(aoei_trainer *t, timer *m, aoe_error *err) {
    const int several = m->traffic && aoei_comm_ranks(&t->comm) > 1;
    aoe_train_traffic traffic;
    if (t->progress.has_best)
        aoei_tensor_write(t->ctx, t->params->value, t->best);
    int code = aoei_comm_agree(&t->comm, aoei_trainer_writes(t) ? save_result(t, err) : AOE_OK, err);
    if (!code && several)
        code = gather_traffic(t, m, &traffic, err);
    if (code)
        return code;
    aoe_train_event e = new_event(t, m, AOE_TRAIN_DONE);
    e.score = e.best_score;
    e.traffic = several ? &traffic : NULL;
    return report_event(t, m, &e, err);
}

/* Creates the checkpoint directory and removes old checkpoints. If the run resumes, the newest options.keep_checkpoints
 * checkpoints remain. Otherwise, all checkpoints of earlier runs are removed. */
static int prepare_checkpoints(const aoei_trainer *t, aoe_error *err) {
    char *dir = aoei_checkpoints_dir(t->o->output);
    if (!dir)
        return aoei_fail_nomem(err, 0);
    int code = aoei_make_dir(dir, err);
    if (!code)
        code = aoei_checkpoints_prune(dir, t->o->resume ? t->o->keep_checkpoints : 0, err);
    aoei_free(dir);
    return code;
}

static int run(aoei_trainer *t, aoe_error *err) {
    const size_t ranks = (size_t)aoei_comm_ranks(&t->comm);
    timer m = {.first_step = t->progress.step,
               .earlier_seconds = t->progress.seconds,
               .traffic = aoei_calloc(ranks, sizeof *m.traffic)};
    int code = m.traffic ? AOE_OK : aoei_fail_nomem(err, ranks * sizeof *m.traffic);
    if (!code)
        code = aoei_trainer_writes(t) ? prepare_checkpoints(t, err) : AOE_OK;
    if (!code && aoei_trainer_writes(t))
        code = aoei_train_log_open(&t->log, t->o->output, t->o->resume, t->progress.step, t->task->metric, err);
    code = aoei_comm_agree(&t->comm, code, err);
    m.start = m.last = aoei_now();
    if (!code) {
        aoe_train_event e = new_event(t, &m, AOE_TRAIN_START);
        code = report_event(t, &m, &e, err);
    }
    if (!code && t->task->evaluate && !t->progress.step)
        code = evaluate(t, &m, err);
    if (!code)
        code = run_steps(t, &m, err);
    if (!code)
        code = finish(t, &m, err);
    aoei_free(m.traffic);
    return code;
}

int aoei_train_run(aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err) {
    aoei_trainer t;
    int code = aoei_trainer_create(&t, ctx, o, task, err);
    if (code)
        return code;
    code = run(&t, err);
    if (code)
        code = aoei_comm_result(&t.comm, code, err);
    aoei_trainer_destroy(&t);
    return code;
}
