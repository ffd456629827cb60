/* SPDX-License-Identifier: MIT
 * Reads the log of a training run. A last line without a line end is skipped, because a running or stopped run has not
 * written it completely.
 */
#include "cli/plot/run_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plot/plot.h"

size_t cli_run_log_part(const cli_run_log *log, const char *name) {
    size_t i = 0;
    while (i < log->parts && strcmp(log->part[i], name) != 0)
        i++;
    return i;
}

/* Returns 1 if a key of a step event is one of the known keys that are not losses. */
static int is_other(const char *key) {
    static const char *const others[] = {
        "step",    "steps",        "epoch",    "accuracy", "lr", "grad_norm", "tokens_per_second", "pairs_per_second",
        "seconds", "seconds_left", "examples", "left_out"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(key, others[i]) == 0)
            return 1;
    return 0;
}

/* Adds the losses of a step to the log. o: the step event. */
static void add_step(cli_run_log *log, double number, json_t *o) {
    const char *key;
    json_t *v;
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->step = cli_realloc(log->step, log->capacity * sizeof *log->step);
    }
    cli_log_step *step = &log->step[log->n++];
    const double examples = json_number_value(json_object_get(o, "examples"));
    *step = (cli_log_step){.number = number, .examples = examples > 0 ? examples : 1};
    for (size_t i = 0; i < CLI_LOG_PARTS; i++)
        step->value[i] = NAN;
    json_object_foreach(o, key, v) {
        if (!json_is_number(v) || is_other(key))
            continue;
        const size_t i = cli_run_log_part(log, key);
        if (i == CLI_LOG_PARTS)
            continue;
        if (i == log->parts)
            log->part[log->parts++] = cli_strdup(key);
        step->value[i] = json_number_value(v);
    }
    const double epoch = json_number_value(json_object_get(o, "epoch"));
    if (epoch > 0)
        log->epoch_steps = number / epoch;
    log->pretraining |= json_object_get(o, "accuracy") != NULL;
    log->batch = fmax(log->batch, step->examples);
    log->last = number;
}

/* Adds the score of an evaluation to the log. step: step at which the evaluation took place. */
static void add_eval(cli_run_log *log, double step, double score) {
    log->eval = cli_realloc(log->eval, (log->evals + 1) * sizeof *log->eval);
    log->eval[log->evals++] = (cli_log_eval){step, score};
}

typedef struct reader {
    cli_run_log *log;
    const char *path;
} reader;

/* Parses a line and adds its event to the log. */
static int take_line(void *user, char *line, size_t len, size_t number) {
    const reader *r = user;
    cli_run_log *log = r->log;
    if (line[len - 1] != '\n')
        return 0;
    json_t *o = json_loadb(line, len, 0, NULL);
    const char *event = json_string_value(json_object_get(o, "event")),
               *metric = json_string_value(json_object_get(o, "metric"));
    const json_t *step = json_object_get(o, "step"), *score = json_object_get(o, "score");
    if (!score && (score = json_object_get(o, "dev_spearman"))) /* train.jsonl of earlier versions of aoe grid and
                                                                   compare */
        metric = "spearman";
    if (metric)
        snprintf(log->metric, sizeof log->metric, "%s", metric);
    const int bad = !event || !json_is_number(step);
    if (!bad && strcmp(event, "step") == 0)
        add_step(log, json_number_value(step), o);
    else if (!bad && strcmp(event, "eval") == 0 && json_is_number(score))
        add_eval(log, json_number_value(step), json_number_value(score));
    json_decref(o);
    return bad ? cli_fail(
                     "%s:%zu: not an event of a training run; give the output directory of aoe train or aoe pretrain",
                     r->path, number)
               : 0;
}

int cli_run_log_read(cli_run_log *log, const char *path) {
    reader r = {log, path};
    *log = (cli_run_log){.epoch_steps = NAN};
    log->part[log->parts++] = cli_strdup("loss");
    if (cli_plot_read_lines(path, "give the output directory of aoe train or aoe pretrain", take_line, &r))
        return 1;
    return log->n + log->evals ? 0 : cli_fail("%s: no steps and no evaluations found; train first", path);
}

void cli_run_log_free(cli_run_log *log) {
    for (size_t i = 0; i < log->parts; i++)
        free(log->part[i]);
    free(log->step);
    free(log->eval);
    memset(log, 0, sizeof *log);
}

double cli_run_log_mean(const cli_run_log *log, size_t i, size_t part, double window) {
    double sum = 0, examples = 0, weight = 0;
    const double begin = log->step[i].number - window;
    for (size_t k = i + 1; k-- > 0 && (log->step[k].number > begin || examples < log->batch);) {
        const cli_log_step *step = &log->step[k];
        examples += step->examples;
        if (isfinite(step->value[part])) {
            sum += step->examples * step->value[part];
            weight += step->examples;
        }
    }
    return weight > 0 ? sum / weight : NAN;
}
