/* SPDX-License-Identifier: MIT
 * aoe train: progress and interruption of a training run. The options are in train_options.c. Evaluations and the
 * final result go to stdout, messages to stderr.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/train/training_args.h"
#include "cli/train/train_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef cli_train_config options;

typedef struct run {
    const options *o;
    aoe_dev_set *dev; /* owned; NULL without --dev */
    cli_progress progress;
    aoe_train_event last; /* newest event; its path is not valid */
    size_t evaluations;   /* number of evaluations printed */
    double rate;          /* tokens per second, exponential moving average over steps */
} run;

static void score_text(char out[32], double score) {
    if (isfinite(score))
        snprintf(out, 32, "%.2f", 100 * score);
    else
        snprintf(out, 32, "undefined");
}

static void print_start(run *r, const aoe_train_event *e) {
    const aoe_train_options *t = &r->o->t;
    char threshold[80] = "";
    if ((t->method != AOE_METHOD_ANGLE || t->objective.w_ibn > 0) && t->method != AOE_METHOD_COSENT &&
        isfinite(e->ibn_threshold))
        snprintf(threshold, sizeof threshold, "; %slabels >= %.10g are positive",
                 t->method == AOE_METHOD_ANGLE ? "in-batch negatives: " : "", e->ibn_threshold);
    char length[48];
    if (t->args.max_minutes > 0)
        snprintf(length, sizeof length, "%g minutes of steps", t->args.max_minutes);
    else
        snprintf(length, sizeof length, "%zu step%s", e->steps, cli_plural(e->steps));
    char files[48] = "";
    if (t->n_data > 1)
        snprintf(files, sizeof files, " from %zu files", t->n_data);
    cli_note("%zu examples per epoch%s, %s of up to %zu%s", e->pairs, files, length, t->batch_size * t->accumulate, threshold);
    if (e->step)
        cli_note("resuming after step %zu", e->step);
    cli_progress_begin(&r->progress, "training", "steps", e->step);
}

static void show_step(run *r, const aoe_train_event *e) {
    const struct {
        const char *name;
        double value;
    } losses[] = {
        {"cosine", e->loss.cosine},
        {"ibn", e->loss.ibn},
        {"angle", e->loss.angle},
        {"contrastive", e->loss.contrastive},
        {"classification", e->loss.classification},
        {"regression", e->loss.regression},
        {"teacher", e->loss.teacher},
    };
    char rate[64], terms[256];
    int at = snprintf(terms, sizeof terms, "loss %.3f  lr %.1e", e->loss.total, e->lr);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].value > 0)
            at += snprintf(terms + at, sizeof terms - (size_t)at, "  %s %.3f", losses[i].name, losses[i].value);
    r->rate = r->rate > 0 ? 0.9 * r->rate + 0.1 * e->tokens_per_second : e->tokens_per_second;
    snprintf(rate, sizeof rate, "%.0f tokens/s", r->rate);
    cli_progress_update(&r->progress, e->step, e->steps, rate, e->seconds_left, terms);
}

static void print_eval(run *r, const aoe_train_event *e) {
    if (r->o->general.json) {
        cli_print_json(json_pack("{s:s,s:I,s:I,s:f,s:o,s:o,s:o,s:I,s:f}", "event", "eval", "step", (json_int_t)e->step, "steps",
                                 (json_int_t)e->steps, "epoch", e->epoch, "dev_spearman", cli_json_real(e->score),
                                 "dev_pearson", cli_json_real(aoe_dev_set_pearson(r->dev)), "best_dev_spearman",
                                 cli_json_real(e->best_score), "best_step", (json_int_t)e->best_step, "seconds", e->seconds));
        return;
    }
    cli_progress_end(&r->progress);
    r->progress.active = !cli_is_quiet();
    char score[32], pearson[32], seconds[32];
    score_text(score, e->score);
    score_text(pearson, aoe_dev_set_pearson(r->dev));
    cli_format_seconds(seconds, e->seconds);
    if (r->evaluations++ == 0)
        printf("%8s  %7s  %9s  %9s  %8s\n", "step", "epoch", "spearman", "pearson", "time");
    printf("%8zu  %7.2f  %9s  %9s  %8s%s\n", e->step, e->epoch, score, pearson, seconds,
           e->best_step == e->step ? "  best" : "");
    cli_flush_stdout();
}

static void print_done(run *r, const aoe_train_event *e) {
    const char *output = r->o->t.args.output;
    cli_progress_end(&r->progress);
    if (r->o->general.json) {
        json_t *o =
            json_pack("{s:s,s:I,s:o,s:o,s:f,s:o}", "event", "done", "steps", (json_int_t)e->step, "best_step",
                      r->dev ? json_integer((json_int_t)e->best_step) : json_null(), "dev_spearman",
                      cli_json_real(e->best_score), "seconds", e->seconds, "output", cli_json_text(output, strlen(output)));
        cli_print_json(o);
        return;
    }
    char score[32], seconds[32];
    score_text(score, e->best_score);
    cli_format_seconds(seconds, e->seconds);
    if (r->dev)
        printf("done: %zu step%s in %s; dev Spearman %s at step %zu; the model is in %s\n", e->step, cli_plural(e->step),
               seconds, score, e->best_step, output);
    else
        printf("done: %zu step%s in %s; the model is in %s\n", e->step, cli_plural(e->step), seconds, output);
}

static int on_event(void *user, const aoe_train_event *e) {
    run *r = user;
    r->last = *e;
    r->last.path = NULL;
    switch (e->kind) {
    case AOE_TRAIN_START:
        print_start(r, e);
        break;
    case AOE_TRAIN_STEP:
        show_step(r, e);
        break;
    case AOE_TRAIN_EVAL:
        print_eval(r, e);
        break;
    case AOE_TRAIN_CHECKPOINT:
        break;
    case AOE_TRAIN_DONE:
        print_done(r, e);
        return 0;
    }
    return cli_interrupted() != 0;
}

static int run_train(run *r, options *o) {
    aoe_context *ctx = NULL;
    aoe_error err;
    int code = cli_train_config_resolve(o) || cli_open_context(&ctx, &o->general);
    if (!code && o->dev && aoe_dev_set_load(&r->dev, ctx, o->dev, &o->dev_table, &err))
        code = cli_fail("%s", err.message);
    if (!code) {
        o->t.args.event = on_event;
        o->t.args.event_user = r;
        o->t.evaluate = o->dev ? aoe_dev_set_evaluate : NULL;
        o->t.evaluate_user = r->dev;
        o->t.dev_name = o->dev;
        o->t.dev_fingerprint = aoe_dev_set_fingerprint(r->dev);
        cli_watch_interrupts();
        code = aoe_train(ctx, &o->t, &err);
        cli_progress_end(&r->progress);
        if (code)
            code = code == AOE_ECANCELLED && cli_interrupted() ? cli_report_interrupt(&r->last) : cli_fail("%s", err.message);
    }
    aoe_context_destroy(ctx);
    return code;
}

static int run_command(int argc, char **argv) {
    cli_train_config o;
    int code = cli_train_config_parse(&o, argc, argv);
    if (code == CLI_GO)
        code = cli_train_config_check(&o);
    if (code == CLI_GO) {
        run r = {.o = &o};
        cli_set_quiet(o.general.quiet);
        code = run_train(&r, &o);
        aoe_dev_set_free(r.dev);
    }
    cli_train_config_free(&o);
    return code;
}

const cli_command cli_train_command = {
    .name = "train",
    .summary = "fine-tune a model on pairs or triplets of texts",
    .run = run_command,
};
