/* SPDX-License-Identifier: MIT
 * Implements `aoe plot curve`: plots the losses (as moving averages), the dev scores and the perplexity of training
 * runs over the steps. For a single run, one panel shows all losses. For several runs, each loss has its own panel with
 * one line per run.
 */
#include "base/path.h"
#include "cli/common/dispatch.h"
#include "cli/plot/plot.h"
#include "cli/plot/run_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = CLI_LINE_STYLES };

typedef struct options {
    cli_plot_options plot;
    size_t smooth;  /* number of steps per moving average; 0: chosen automatically */
    int characters; /* 1: also print a plot made of characters on stdout */
} options;

typedef struct run {
    cli_run_log log;
    char *label;   /* name in the legend, borrowed */
    double window; /* number of steps per moving average */
    /* for each loss, the index of its column in the data block, counted from 1; 0: the loss is not drawn */
    size_t part_at[CLI_LOG_PARTS];
    /* losses: index of the data block of losses; scores: index of the data block of scores; (size_t)-1: no such
     * block */
    size_t losses, scores;
    double best_step, best; /* best_step: step of the best evaluation; best: its score or perplexity */
    double start;           /* score or perplexity at the first evaluation; at step 0, of the start model */
} run;

typedef struct job {
    const options *o;
    run run[MAX_RUNS]; /* [n] training runs */
    size_t n;
    char **label;          /* [n] names in the legend, owned */
    size_t panels, curves; /* number of panels and curves that were written */
    cli_picture picture;
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option curve_table[] = {
    {.name = "smooth",
     .kind = AOEI_OPTION_SIZE,
     AT(smooth),
     .min = 1,
     .help = "plot the moving average of each loss over N steps; 1 disables smoothing. By default, N is the number of "
             "steps per epoch or, in pretraining and in runs shorter than 2.5 epochs, 1/25 of all steps. Several runs "
             "have the same N: the largest of their defaults, but at most a quarter of the steps of the shortest run",
     .fallback = "from the length of the runs"},
    {.name = "characters",
     .kind = AOEI_OPTION_FLAG,
     .excludes = "json",
     AT(characters),
     .help = "also print a text plot on stdout, which shows the perplexity of pretraining runs and the"
             " loss of other runs"},
};

/* ---- data */

/* Returns the name of a loss in the legend of the plot. key: name of the loss in the log. */
static const char *part_name(const char *key) {
    return strcmp(key, "loss") == 0 ? "total" : strcmp(key, "ibn") == 0 ? "in-batch negatives" : key;
}

/* Returns the description of the dev scores of a run, for an axis. */
static const char *metric_name(const cli_run_log *log) {
    return strcmp(log->metric, "spearman") == 0   ? "Spearman correlation on the dev set x 100"
           : strcmp(log->metric, "accuracy") == 0 ? "accuracy on the dev set x 100"
                                                  : "dev score x 100";
}

/* Returns the description of the dev scores that all runs have in common. */
static const char *common_metric(const job *j) {
    const char *name = NULL;
    for (size_t i = 0; i < j->n; i++) {
        const cli_run_log *log = &j->run[i].log;
        if (log->pretraining || !log->evals)
            continue;
        if (name && strcmp(name, metric_name(log)) != 0)
            return "dev score x 100";
        name = metric_name(log);
    }
    return name ? name : "dev score x 100";
}

/* Returns 1 if any value of the loss differs from 0. */
static int is_used(const cli_run_log *log, size_t part) {
    for (size_t i = 0; i < log->n; i++) {
        const double v = log->step[i].value[part];
        if (isfinite(v) && v != 0)
            return 1;
    }
    return 0;
}

/* Returns the number of steps per moving average for a single run, which is described in the help of --smooth. */
static double default_window(const run *r) {
    const double steps = r->log.last;
    return fmax(
        steps >= 2.5 * r->log.epoch_steps && !r->log.pretraining ? round(r->log.epoch_steps) : floor(steps / 25), 1);
}

/* Sets the number of steps per moving average. It is equal for all runs, so that their lines can be compared: the
 * largest of the default windows, but at most a quarter of the steps of the shortest run. smooth: value of --smooth; 0:
 * not given. */
static void choose_windows(job *j, size_t smooth) {
    double window = 1, shortest = INFINITY;
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        window = fmax(window, default_window(r));
        if (r->log.n)
            shortest = fmin(shortest, r->log.last);
    }
    if (j->n > 1)
        window = fmax(1, fmin(window, floor(shortest / 4)));
    for (size_t i = 0; i < j->n; i++)
        j->run[i].window = smooth ? (double)smooth : window;
}

/* Writes the moving averages of the losses of a run. The first step that is written is the first step with a full
 * window. If the run is shorter than the window, only the last step is written. */
static void write_losses(job *j, run *r) {
    const cli_run_log *log = &r->log;
    const size_t total = cli_run_log_part(log, "loss");
    char names[400] = "step";
    size_t columns = 1;
    for (size_t part = 0; part < log->parts; part++) {
        if ((r->log.pretraining && part != total) || !is_used(log, part))
            continue;
        r->part_at[part] = ++columns;
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, ", %s", part_name(log->part[part]));
    }
    if (columns == 1)
        return;
    r->losses = cli_picture_block(&j->picture, "%s, losses, means over %g steps: %s", r->label, r->window, names);
    for (size_t i = 0; i < log->n; i++) {
        if (log->step[i].number < r->window && i + 1 < log->n)
            continue;
        fprintf(j->picture.dat, "%.10g", log->step[i].number);
        for (size_t part = 0; part < log->parts; part++)
            if (r->part_at[part])
                fprintf(j->picture.dat, " %.6g", cli_run_log_mean(log, i, part, r->window));
        putc('\n', j->picture.dat);
    }
}

/* Writes the dev scores of a run, or the perplexities of a pretraining run, and finds the best value. */
static void write_scores(job *j, run *r) {
    const cli_run_log *log = &r->log;
    if (!log->evals)
        return;
    r->scores = cli_picture_block(&j->picture, "%s, evaluations: step, %s", r->label,
                                  log->pretraining ? "perplexity of held-out texts" : metric_name(log));
    r->best = log->pretraining ? INFINITY : -INFINITY;
    for (size_t i = 0; i < log->evals; i++) {
        const double value = log->pretraining ? exp(-log->eval[i].score) : 100 * log->eval[i].score;
        if (log->pretraining ? value < r->best : value > r->best) {
            r->best = value;
            r->best_step = log->eval[i].step;
        }
        if (!i)
            r->start = value;
        fprintf(j->picture.dat, "%.10g %.6g\n", log->eval[i].step, value);
    }
}

/* ---- the parameters of the script */

/* Begins a panel. kind: loss, score or perplexity; last: last step on the horizontal axis. */
static void begin_panel(job *j, const char *kind, double last, const char *label) {
    fprintf(j->picture.gp, "panel%zu = '%s %.10g'\n", ++j->panels, kind, last);
    cli_picture_text(&j->picture, label, "ylabel%zu", j->panels);
}

/* Adds a curve to the last panel. kind, number: see share/plot/curve.gp; block: index of the data block; style: index
 * of the line style; name: name in the legend. */
static void add_curve(job *j, const char *kind, size_t block, double number, size_t style, const char *name) {
    fprintf(j->picture.gp, "curve%zu = '%zu %s %zu %.10g %zu'\n", ++j->curves, j->panels, kind, block, number, style);
    cli_picture_text(&j->picture, name, "name%zu", j->curves);
}

/* Returns the last step of all pretraining runs, or of all other runs, at least 1. */
static double last_step(const job *j, int pretraining) {
    double last = 1;
    for (size_t i = 0; i < j->n; i++) {
        const cli_run_log *log = &j->run[i].log;
        if (log->pretraining != pretraining)
            continue;
        last = fmax(last, fmax(log->last, log->evals ? log->eval[log->evals - 1].step : 0));
    }
    return last;
}

/* Adds the panel with all losses of a single run. */
static void one_run_losses(job *j) {
    const run *r = &j->run[0];
    size_t style = 0;
    for (size_t part = 0; part < r->log.parts; part++) {
        if (!r->part_at[part] || r->log.pretraining)
            continue;
        char label[64];
        snprintf(label, sizeof label, r->window > 1 ? "loss, mean over %g steps" : "loss", r->window);
        if (!style)
            begin_panel(j, "loss", last_step(j, 0), label);
        add_curve(j, "loss", r->losses, (double)r->part_at[part], style++ % CLI_LINE_STYLES + 1,
                  part_name(r->log.part[part]));
    }
}

/* Returns the column of the loss `key` in the data of a run, or 0 if the loss is not drawn for this run. */
static size_t column_of(const run *r, const char *key) {
    const size_t part = cli_run_log_part(&r->log, key);
    return !r->log.pretraining && part < r->log.parts ? r->part_at[part] : 0;
}

/* Adds the panel of the loss `key` with one curve per run that has this loss, unless an earlier run than run `first`
 * has it. */
static void all_runs_loss(job *j, const char *key, size_t first) {
    char label[128];
    const double window = j->run[first].window;
    for (size_t i = 0; i < first; i++)
        if (column_of(&j->run[i], key))
            return;
    if (!column_of(&j->run[first], key))
        return;
    snprintf(label, sizeof label, window > 1 ? "loss: %.60s, mean over %g steps" : "loss: %.60s", part_name(key),
             window);
    begin_panel(j, "loss", last_step(j, 0), label);
    for (size_t i = first; i < j->n; i++) {
        const size_t column = column_of(&j->run[i], key);
        if (column)
            add_curve(j, "loss", j->run[i].losses, (double)column, i + 1, j->run[i].label);
    }
}

/* Adds the scores of the runs that are pretraining runs, or of those that are not, and marks the best score of each run
 * and the score of its start model. */
static void add_scores(job *j, int pretraining) {
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        char best[64] = "", start[64] = "";
        if (r->scores == (size_t)-1 || r->log.pretraining != pretraining)
            continue;
        if (j->n == 1) {
            snprintf(best, sizeof best, "best: %.2f, step %.10g", r->best, r->best_step);
            snprintf(start, sizeof start, "start model: %.2f", r->start);
        }
        add_curve(j, "score", r->scores, r->log.evals > 40 ? 0.4 : 0.8, i + 1,
                  j->n > 1      ? r->label
                  : pretraining ? "held out"
                                : "dev score");
        add_curve(j, "best", r->scores, r->best_step, 0, best);
        if (r->log.eval[0].step <= 0)
            add_curve(j, "start", r->scores, 0, 0, start);
    }
}

/* Returns 1 if at least one run has a curve in the panel of the scores or perplexities. pretraining: 1 for pretraining
 * runs, 0 for other training runs. */
static int has_scores(const job *j, int pretraining) {
    for (size_t i = 0; i < j->n; i++)
        if (j->run[i].log.pretraining == pretraining &&
            (j->run[i].scores != (size_t)-1 || (pretraining && j->run[i].losses != (size_t)-1)))
            return 1;
    return 0;
}

/* Adds the panel with the perplexities of pretraining runs. */
static void add_perplexities(job *j) {
    begin_panel(j, "perplexity", last_step(j, 1), "perplexity of masked words");
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        char name[64] = "";
        if (!r->log.pretraining || r->losses == (size_t)-1)
            continue;
        if (!i)
            snprintf(name, sizeof name, "in training, mean over %g steps", r->window);
        add_curve(j, "training", r->losses, 0, 0, name);
    }
    add_scores(j, 1);
}

static void write_parameters(job *j) {
    FILE *gp = j->picture.gp;
    fprintf(gp, "runs = %zu\n", j->n);
    for (size_t i = 0; i < j->n; i++)
        cli_picture_text(&j->picture, j->run[i].label, "label%zu", i + 1);
    if (j->n == 1)
        one_run_losses(j);
    for (size_t i = 0; j->n > 1 && i < j->n; i++) {
        const cli_run_log *log = &j->run[i].log;
        for (size_t part = 0; part < log->parts; part++)
            all_runs_loss(j, log->part[part], i);
    }
    if (has_scores(j, 0)) {
        begin_panel(j, "score", last_step(j, 0), common_metric(j));
        add_scores(j, 0);
    }
    if (has_scores(j, 1))
        add_perplexities(j);
    fprintf(gp, "panels = %zu\ncurves = %zu\n", j->panels, j->curves);
}

static void report(const job *j) {
    json_t *list = json_array();
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        json_array_append_new(list, json_pack("{s:o,s:I,s:I,s:o,s:f}", "run", cli_json_text(r->label, strlen(r->label)),
                                              "steps", (json_int_t)r->log.last, "evaluations", (json_int_t)r->log.evals,
                                              "best", cli_json_real(r->log.evals ? r->best : NAN), "smoothed_over",
                                              r->window));
    }
    cli_picture_report(&j->picture, j->o->plot.general.json, json_pack("{s:o}", "runs", list));
}

/* Returns the path of the log of a run: the given file, or in the given directory train-log.jsonl,
 * model/train-log.jsonl (a run of aoe grid or aoe compare that is not finished) or train.jsonl (such a run of an
 * earlier version). The caller frees the path with free(). */
static char *find_log(const char *given) {
    static const char *const names[] = {"train-log.jsonl", "model/train-log.jsonl", "train.jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = cli_plot_input(given, names[i]);
        if (aoei_exists(path))
            return path;
        free(path);
    }
    return cli_plot_input(given, names[0]);
}

static int read_logs(job *j, const char *const *dir) {
    int failed = 0;
    for (size_t i = 0; !failed && i < j->n; i++) {
        char *path = find_log(dir[i]);
        failed = cli_run_log_read(&j->run[i].log, path);
        j->run[i].label = j->label[i];
        j->run[i].losses = j->run[i].scores = (size_t)-1;
        free(path);
    }
    return failed;
}

static void job_free(job *j) {
    for (size_t i = 0; i < j->n; i++)
        cli_run_log_free(&j->run[i].log);
    cli_picture_labels_free(j->label, j->n);
    cli_picture_close(&j->picture);
    free(j);
}

static int draw(const cli_args *args, const void *user) {
    job *j = cli_calloc(1, sizeof *j);
    j->o = user;
    j->n = args->n;
    j->label = cli_picture_labels(args->operand, args->n);
    int failed = cli_picture_open(&j->picture, j->o->plot.output, j->o->plot.title, "curve",
                                  "training runs: losses, dev scores, perplexity") ||
                 read_logs(j, args->operand);
    if (!failed) {
        choose_windows(j, j->o->smooth);
        for (size_t i = 0; i < j->n; i++) {
            write_losses(j, &j->run[i]);
            write_scores(j, &j->run[i]);
        }
        write_parameters(j);
        failed = cli_picture_draw(&j->picture, j->o->characters);
    }
    if (!failed)
        report(j);
    job_free(j);
    return failed;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_plot_defaults(&o.plot);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("curves", curve_table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot curve",
        .operands = "DIR... -o NAME",
        .about = "Plots the losses and dev scores of training runs, or the perplexity of pretraining runs, over the\n"
                 "training steps. Each DIR is the output directory of aoe train or aoe pretrain, or the directory\n"
                 "runs/NAME of a run of aoe grid or aoe compare, and contains train-log.jsonl. If one run\n"
                 "is given, one panel shows all its losses. If several runs are given, each loss has its own panel\n"
                 "with one line per run. Dev scores and perplexity are shown in separate panels.\n",
        .examples = "  aoe plot curve model -o curve\n"
                    "  aoe plot curve run-a run-b --smooth 50 -o runs --title 'two learning rates'\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = MAX_RUNS,
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_curve_command = {
    .name = "curve",
    .summary = "losses, dev scores and perplexity of training runs",
    .run = run_command,
};
