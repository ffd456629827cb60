/* SPDX-License-Identifier: MIT
 * Prints the events of a training run.
 */
#include "cli/train/training_run.h"

#include <math.h>
#include <string.h>

#include "cli/common/interrupt.h"

static void start(cli_training *t, const aoe_train_event *e) {
    cli_progress_end(&t->progress);
    t->describe(t->own, e);
    if (e->step)
        cli_note("resuming after step %zu", e->step);
    cli_progress_begin(&t->progress, t->doing, "steps", e->step);
}

/* Replaces the losses of a step by their exponential moving averages over the examples of the run. A step with the
 * largest number of examples has the weight 0.1. */
static aoe_objective_result average_losses(cli_training *t, const aoe_train_event *e) {
    aoe_objective_result loss = *e->loss;
    double *const term[CLI_TRAINING_LOSSES] = {
        &loss.total,          &loss.cosine,  &loss.ibn,    &loss.angle,     &loss.contrastive, &loss.regression,
        &loss.classification, &loss.teacher, &loss.layers, &loss.detection, &loss.vectors,     &loss.similarities};
    t->batch = e->examples > t->batch ? e->examples : t->batch;
    const double keep = pow(0.9, t->batch ? (double)e->examples / (double)t->batch : 1);
    t->weight = keep * t->weight + (1 - keep);
    for (size_t i = 0; i < CLI_TRAINING_LOSSES; i++) {
        t->average[i] = keep * t->average[i] + (1 - keep) * *term[i];
        *term[i] = t->weight > 0 ? t->average[i] / t->weight : *term[i];
    }
    return loss;
}

static void show_step(cli_training *t, const aoe_train_event *e) {
    char rate[64], terms[256];
    aoe_train_event shown = *e;
    const aoe_objective_result loss = average_losses(t, e);
    shown.loss = &loss;
    const int n = snprintf(terms, sizeof terms, "loss %.3f  lr %.1e", loss.total, e->lr);
    t->format_step(&shown, terms + n, sizeof terms - (size_t)n);
    t->rate = t->rate > 0 ? 0.9 * t->rate + 0.1 * e->tokens_per_second : e->tokens_per_second;
    snprintf(rate, sizeof rate, "%.0f tokens/s", t->rate);
    cli_progress_update(&t->progress, e->step, e->steps, rate, e->seconds_left, terms);
}

/* Appends the fields of the JSON object `more` to o, and releases `more`. */
static void append_fields(json_t *o, json_t *more) {
    json_object_update(o, more);
    json_decref(more);
}

static void print_evaluation(cli_training *t, const aoe_train_event *e) {
    if (t->json) {
        json_t *o = json_pack("{s:s,s:I,s:I,s:f}", "event", "eval", "step", (json_int_t)e->step, "steps",
                              (json_int_t)e->steps, "epoch", e->epoch);
        append_fields(o, t->metrics(t->own, e));
        append_fields(o, json_pack("{s:I,s:f}", "best_step", (json_int_t)e->best_step, "seconds", e->seconds));
        cli_print_json(o);
        return;
    }
    cli_progress_end(&t->progress);
    t->progress.active = !cli_is_quiet();
    char metrics[128], seconds[32];
    t->format_metrics(t->own, e, metrics, sizeof metrics);
    cli_format_seconds(seconds, e->seconds);
    if (t->evaluations++ == 0)
        printf("%8s  %7s  %s  %8s\n", "step", "epoch", t->columns, "time");
    printf("%8zu  %7.2f  %s  %8s%s\n", e->step, e->epoch, metrics, seconds,
           !e->step                  ? "  start"
           : e->best_step == e->step ? "  best"
                                     : "");
    cli_flush_stdout();
}

static void print_json_result(const cli_training *t, const aoe_train_event *e) {
    const int has_best = isfinite(e->best_score);
    char start[64], trained[64];
    json_t *o = json_pack("{s:s,s:I,s:o}", "event", "done", "steps", (json_int_t)e->step, "best_step",
                          has_best ? json_integer((json_int_t)e->best_step) : json_null());
    json_object_set_new(o, t->key, cli_json_real(t->json_score(e->best_score)));
    if (!isnan(e->start_score)) {
        snprintf(start, sizeof start, "start_%s", t->key);
        snprintf(trained, sizeof trained, "trained_%s", t->key);
        json_object_set_new(o, start, cli_json_real(t->json_score(e->start_score)));
        json_object_set_new(o, trained, cli_json_real(t->json_score(e->trained_score)));
    }
    append_fields(o,
                  json_pack("{s:f,s:o}", "seconds", e->seconds, "output", cli_json_text(t->output, strlen(t->output))));
    cli_print_json(o);
}

/* Prints what the processes of a distributed run have exchanged in a step, on average. */
static void note_traffic(const aoe_train_traffic *t) {
    const double steps = t->steps ? (double)t->steps : 1;
    cli_note("%zu ranks, per step: computation %.4f s; a rank sent vectors %.6f MB in %.4f s, gradients %.6f MB in "
             "%.4f s, weights %.6f MB in %.4f s, other %.6f MB in %.4f s",
             t->ranks, t->computation_seconds / steps, (double)t->vectors / steps / 1e6, t->vectors_seconds / steps,
             (double)t->gradients / steps / 1e6, t->gradients_seconds / steps, (double)t->weights / steps / 1e6,
             t->weights_seconds / steps, (double)(t->norm + t->agreement) / steps / 1e6,
             (t->norm_seconds + t->agreement_seconds) / steps);
}

/* Prints the final line: the score of the saved model, and the score of the start model. If no step is better than the
 * start model, a warning contains both scores, because the start model is saved. */
static void print_result(cli_training *t, const aoe_train_event *e) {
    const int has_best = isfinite(e->best_score), saves_start = has_best && !e->best_step;
    cli_progress_end(&t->progress);
    char best[32], start[32], trained[32] = "undefined", seconds[32];
    if (e->traffic)
        note_traffic(e->traffic);
    t->format_score(best, e->best_score);
    t->format_score(start, e->start_score);
    if (isfinite(e->trained_score))
        t->format_score(trained, e->trained_score);
    if (saves_start)
        cli_warn(
            "no evaluated step is better than the start model: %s %s at the start, at best %s (step %zu); the output "
            "directory contains the start model",
            t->metric, start, trained, e->trained_step);
    if (t->json) {
        print_json_result(t, e);
        return;
    }
    cli_format_seconds(seconds, e->seconds);
    printf("done: %zu step%s in %s; ", e->step, cli_plural(e->step), seconds);
    if (saves_start)
        printf("%s %s for the start model, which no step improves (best step %zu: %s); the start model is in %s\n",
               t->metric, best, e->trained_step, trained, t->output);
    else if (has_best && isfinite(e->start_score))
        printf("%s %s at step %zu, %s for the start model; the model is in %s\n", t->metric, best, e->best_step, start,
               t->output);
    else if (has_best)
        printf("%s %s at step %zu; the model is in %s\n", t->metric, best, e->best_step, t->output);
    else
        printf("the model is in %s\n", t->output);
}

/* Shows the progress of a teacher, which embeds the training texts before the first step. */
static void show_teacher(cli_training *t, const aoe_train_event *e) {
    if (e->texts <= t->embedded || !t->embedded) { /* another teacher */
        cli_progress_end(&t->progress);
        cli_progress_begin(&t->progress, "teacher embeddings", "texts", 0);
    }
    t->embedded = e->texts;
    cli_progress_update(&t->progress, e->texts, e->all_texts, NULL, e->seconds_left, NULL);
}

static int on_event(void *user, const aoe_train_event *e) {
    cli_training *t = user;
    t->last = *e;
    t->last.path = NULL;
    t->last.traffic = NULL;
    switch (e->kind) {
    case AOE_TRAIN_START:
        start(t, e);
        break;
    case AOE_TRAIN_STEP:
        show_step(t, e);
        break;
    case AOE_TRAIN_EVAL:
        print_evaluation(t, e);
        break;
    case AOE_TRAIN_CHECKPOINT:
        break;
    case AOE_TRAIN_EMBED:
        show_teacher(t, e);
        break;
    case AOE_TRAIN_DONE:
        print_result(t, e);
        return 0;
    }
    return cli_interrupted() != 0;
}

int cli_training_run(cli_training *t, aoe_training_args *args, const cli_general *g) {
    aoe_context *ctx = NULL;
    aoe_error err;
    if (cli_open_context(&ctx, g))
        return 1;
    t->json = g->json;
    t->output = args->output;
    args->event = on_event;
    args->event_user = t;
    cli_watch_training_interrupts();
    int code = t->run(t->own, ctx, &err);
    t->agreed = code != AOE_ECOMM;
    cli_progress_end(&t->progress);
    if (code == AOE_ECANCELLED && cli_interrupted() && t->last.kind == AOE_TRAIN_EMBED) {
        cli_message("aoe: stopped before the first step; run the same command again%s",
                    t->keeps_vectors ? ", which continues with the embeddings in --teacher-cache"
                                     : " (--teacher-cache DIR keeps the teacher embeddings)");
        code = 128 + cli_interrupted();
    } else if (code == AOE_ECANCELLED && cli_interrupted()) {
        cli_message("aoe: stopped after step %zu of %zu; run the same command with --resume to continue", t->last.step,
                    t->last.steps);
        code = 128 + cli_interrupted();
    } else if (code) {
        code = cli_fail("%s", err.message);
    }
    aoe_context_destroy(ctx);
    return code;
}
