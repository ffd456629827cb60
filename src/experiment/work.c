/* SPDX-License-Identifier: MIT
 * Trains and evaluates the model of a trial. This code runs in a child process.
 */
#include "experiment/work.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/atomic_write.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"

/* State of aoei_trial_work. */
typedef struct work {
    const aoe_experiment_options *o; /* options; borrowed */
    const aoei_trial *t;             /* trial that is run; borrowed */
    aoei_child *child;               /* connection to the parent; borrowed */
    aoe_context *ctx;                /* context of the child (threads and log); owned */
    aoe_dev_set *dev;                /* dev set, or NULL; owned */
    double *score;                   /* [aoei_trial_scores(o)] scores; owned */
    double dev_score;                /* best score on the dev set; NaN if there is no dev set */
    int start_is_best; /* 1: no step had a higher score on the dev set than the start model, which was saved */
    size_t file;       /* index of the evaluation file that is being processed */
    int write_code;    /* error code of writing scores-N.tsv; 0 if there was no error */
    aoe_error *error;  /* receives the error; argument of aoei_trial_work; borrowed */
} work;

static void on_log(void *user, aoe_log_level level, const char *message) {
    char line[1100];
    (void)user;
    snprintf(line, sizeof line, "%s%s", level == AOE_LOG_WARNING ? "warning: " : "", message);
    aoei_child_log(line);
}

/* ---- training */

static int on_event(void *user, const aoe_train_event *e) {
    work *w = user;
    if (e->kind == AOE_TRAIN_STEP && e->steps)
        aoei_child_progress(w->child, (double)e->step / (double)e->steps);
    if (e->kind == AOE_TRAIN_DONE) {
        w->dev_score = e->best_score;
        w->start_is_best = isfinite(e->best_score) && !e->best_step;
        return 0;
    }
    return aoei_child_stopped();
}

/* Returns 1 if the directory output/checkpoints contains a checkpoint from which an interrupted training run can be
 * resumed. */
static int has_checkpoint(const char *output) {
    char *dir = aoei_path_join(output, "checkpoints"), **names;
    size_t n;
    int found = 0;
    if (dir && !aoei_list_dir(&names, &n, dir, NULL)) {
        for (size_t i = 0; i < n; i++)
            found |= strncmp(names[i], "step-", 5) == 0;
        aoei_list_free(names, n);
    }
    aoei_free(dir);
    return found;
}

/* Returns the name of the score on the dev set (aoe_dev_set_evaluate). */
static const char *dev_metric(const aoe_train_options *t) {
    const int classes = t->method == AOE_METHOD_CROSS_ENCODER && t->classes != AOE_AUTO && t->classes > 1;
    return classes ? "accuracy" : "spearman";
}

/* Copies the training log to the directory of the trial, because the model directory may be removed. */
static int keep_log(const work *w, const char *output, aoe_error *err) {
    char *from = aoei_path_join(output, "train-log.jsonl"), *to = aoei_trial_path(w->o, w->t, "train-log.jsonl"),
         *data = NULL;
    size_t size = 0;
    int code = from && to ? aoei_read_file(&data, &size, from, 0, err) : aoei_fail_nomem(err, 0);
    if (!code)
        code = aoei_write_file(to, data, size, err);
    aoei_free(from);
    aoei_free(to);
    aoei_free(data);
    return code;
}

static int train(work *w, const char *output, aoe_error *err) {
    aoe_train_options t = w->t->configuration->train;
    const aoe_evaluation_file *dev = w->o->dev;
    int code = dev ? aoe_dev_set_load(&w->dev, w->ctx, dev->path, &dev->table, err) : 0;
    if (code)
        return code;
    const int resume = has_checkpoint(output);
    if (!resume && aoei_is_dir(output) && (code = aoei_remove_tree(output, err))) /* files of a run that was interrupted
                                                                                     before its first checkpoint */
        return code;
    t.args.output = output;
    t.args.seed = w->t->seed;
    t.args.resume = resume;
    t.args.force = 0; /* the directory is empty, or the run resumes */
    t.args.event = on_event;
    t.args.event_user = w;
    t.evaluate = dev ? aoe_dev_set_evaluate : NULL;
    t.evaluate_user = w->dev;
    t.dev_name = dev ? dev->path : NULL;
    t.dev_fingerprint = aoe_dev_set_fingerprint(w->dev);
    t.dev_metric = dev ? dev_metric(&t) : NULL;
    code = aoe_train(w->ctx, &t, err);
    return code ? code : keep_log(w, output, err);
}

/* ---- evaluation */

/* Callback that receives the results of an evaluation. For the result of a whole file or folder, it stores the score
 * and writes scores-N.tsv. */
static void on_result(void *user, const aoe_sts_result *r) {
    work *w = user;
    if ((r->row != AOE_STS_FILE && r->row != AOE_STS_FOLDER) || w->write_code)
        return;
    w->score[w->file] = aoe_spearman(r->cosine, r->gold, r->pairs);
    w->write_code = aoei_trial_write_pairs(w->o, w->t, w->file, r->cosine, r->gold, r->pairs, w->error);
}

/* Evaluates the trained model. For an untrained configuration, evaluates the start model with the options of the
 * configuration. */
static int evaluate_files(work *w, const char *output, aoe_error *err) {
    const aoe_configuration *c = w->t->configuration;
    aoe_embedder_options options;
    aoe_sts_options sts;
    aoe_model_options stored; /* options for a trained model: only the data type is set, because the model directory
                                 contains the other settings */
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_model_options_defaults(&stored);
    stored.dtype = c->train.args.model_options.dtype;
    aoe_embedder_options_defaults(&options);
    aoe_sts_options_defaults(&sts);
    options.batch_tokens = c->train.args.batch_tokens;
    w->error = err;
    int code = c->untrained ? aoe_model_open(&m, w->ctx, c->train.args.model, &c->train.args.model_options, err)
                            : aoe_model_open(&m, w->ctx, output, &stored, err);
    if (!code)
        code = aoe_embedder_create(&e, m, &options, err);
    for (w->file = 0; !code && w->file < w->o->n_files; w->file++) {
        const aoe_evaluation_file *f = &w->o->files[w->file];
        sts.table = f->table;
        code = aoe_eval_sts(e, &f->path, 1, &sts, on_result, w, err);
        if (!code)
            code = w->write_code;
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return code;
}

/* ---- training and evaluation */

static int run(work *w, const char *output, size_t threads, aoe_error *err) {
    const double start = aoei_now();
    aoe_context_options options;
    aoe_context_options_defaults(&options);
    options.threads = threads;
    options.log = on_log;
    int code = aoe_context_create(&w->ctx, &options, err);
    if (!code && !w->t->configuration->untrained)
        code = train(w, output, err);
    if (!code && w->o->n_files) {
        aoei_child_stop_at_once(); /* the model is saved, and the following evaluation has no state to save */
        code = evaluate_files(w, output, err);
    } else if (!code) {
        w->score[0] = w->dev_score;
    }
    return code ? code : aoei_trial_write_record(w->o, w->t, w->score, w->start_is_best, aoei_now() - start, err);
}

int aoei_trial_work(const aoe_experiment_options *o, const aoei_trial *t, size_t threads, aoei_child *child,
                    aoe_error *err) {
    const size_t scores = aoei_trial_scores(o);
    work w = {.o = o, .t = t, .child = child, .dev_score = NAN};
    w.score = aoei_malloc_array(scores, sizeof *w.score);
    char *output = aoei_trial_path(o, t, "model");
    int code = w.score && output ? 0 : aoei_fail_nomem(err, scores * sizeof *w.score);
    for (size_t i = 0; i < scores && !code; i++)
        w.score[i] = NAN;
    if (!code)
        code = run(&w, output, threads, err);
    aoe_dev_set_free(w.dev);
    aoe_context_destroy(w.ctx);
    aoei_free(w.score);
    aoei_free(output);
    return code;
}
