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

enum {
    MAX_RUNS = CLI_LINE_STYLES,
    MAX_PANELS = CLI_LOG_PARTS + 2 /* one panel per loss, one for dev scores, one for perplexity */
};

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
    double start;           /* score or perplexity at the first evaluation; at step 0, that of the start model */
} run;

typedef struct job {
    const options *o;
    run run[MAX_RUNS]; /* [n] training runs */
    size_t n;
    char **label; /* [n] names in the legend, owned */
    cli_picture picture;
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option curve_table[] = {
    {.name = "smooth",
     .kind = AOEI_OPTION_SIZE,
     AT(smooth),
     .min = 1,
     .help = "plot the moving average of each loss over N steps; 1 disables smoothing",
     .fallback = "the steps of one epoch; 1/25 of all steps for pretraining and for runs shorter than 2.5 epochs; "
                 "several runs: "
                 "the largest of these numbers, but at most a quarter of the steps of the shortest run"},
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

/* Returns the description of the dev scores of all runs: that of each run, if they are equal. */
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
        const double v = log->value[i * CLI_LOG_PARTS + part];
        if (isfinite(v) && v != 0)
            return 1;
    }
    return 0;
}

/* Returns the number of steps per moving average for a single run, which is described in the help of --smooth. */
static double default_window(const run *r) {
    const double steps = r->log.n ? r->log.step[r->log.n - 1] : 0;
    return fmax(
        steps >= 2.5 * r->log.epoch_steps && !r->log.pretraining ? round(r->log.epoch_steps) : floor(steps / 25), 1);
}

/* Sets the number of steps per moving average of all runs, which is equal so that their lines can be compared: the
 * largest of the default windows, but at most a quarter of the steps of the shortest run. smooth: value of --smooth; 0:
 * not given. */
static void choose_windows(job *j, size_t smooth) {
    double window = 1, shortest = INFINITY;
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        window = fmax(window, default_window(r));
        if (r->log.n)
            shortest = fmin(shortest, r->log.step[r->log.n - 1]);
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
        if (log->step[i] < r->window && i + 1 < log->n)
            continue;
        fprintf(j->picture.dat, "%.10g", log->step[i]);
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
        const double value = log->pretraining ? exp(-log->score[i]) : 100 * log->score[i];
        if (log->pretraining ? value < r->best : value > r->best) {
            r->best = value;
            r->best_step = log->eval_step[i];
        }
        if (!i)
            r->start = value;
        fprintf(j->picture.dat, "%.10g %.6g\n", log->eval_step[i], value);
    }
}

/* ---- the script: one plot command per panel */

/* Begins a line in the plot command of a panel. *lines: number of lines that the panel already has; the function
 * increases it by 1. For the first line, the function also writes the start of the plot command. */
static void begin_line(FILE *gp, int *lines) {
    fputs((*lines)++ ? ", \\\n    " : "plot ", gp);
}

/* Adds the line for a loss of a run to the plot command. part: index of the loss; style: gnuplot line style; title:
 * text in the legend. */
static void loss_line(const job *j, const run *r, size_t part, size_t style, const char *title, int *lines) {
    FILE *gp = j->picture.gp;
    begin_line(gp, lines);
    fprintf(gp, "data index %zu using 1:%zu with lines ls %zu title ", r->losses, r->part_at[part], style);
    cli_gp_string(gp, title);
}

/* Writes the panel with all losses of a single run. */
static void one_run_losses(const job *j) {
    FILE *gp = j->picture.gp;
    const run *r = &j->run[0];
    char label[64];
    int lines = 0;
    snprintf(label, sizeof label, r->window > 1 ? "loss, mean over %g steps" : "loss", r->window);
    fputs("set ylabel ", gp);
    cli_gp_string(gp, label);
    putc('\n', gp);
    for (size_t part = 0; part < r->log.parts; part++)
        if (r->part_at[part])
            loss_line(j, r, part, (size_t)lines % CLI_LINE_STYLES + 1, part_name(r->log.part[part]), &lines);
    putc('\n', gp);
}

/* Writes the panel of the loss `key`, with one line per run that has this loss. If no run has the loss, or if
 * count_only is 1, writes nothing. Returns the number of lines. */
static int all_runs_loss(const job *j, const char *key, int count_only) {
    FILE *gp = j->picture.gp;
    int lines = 0;
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        const size_t part = cli_run_log_part(&r->log, key);
        if (r->log.pretraining || part == r->log.parts || !r->part_at[part])
            continue;
        if (count_only) {
            lines++;
            continue;
        }
        if (!lines) {
            char label[128];
            snprintf(label, sizeof label, r->window > 1 ? "loss: %.60s, mean over %g steps" : "loss: %.60s",
                     part_name(key), r->window);
            fputs("set ylabel ", gp);
            cli_gp_string(gp, label);
            putc('\n', gp);
        }
        loss_line(j, r, part, i + 1, r->label, &lines);
    }
    if (lines && !count_only)
        putc('\n', gp);
    return lines;
}

/* Writes the lines with the scores of runs, and marks the best score of each run. pretraining: 1 for pretraining runs,
 * 0 for other training runs. */
static void score_lines(const job *j, int pretraining, int *lines) {
    FILE *gp = j->picture.gp;
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        if (r->scores == (size_t)-1 || r->log.pretraining != pretraining)
            continue;
        begin_line(gp, lines);
        fprintf(gp, "data index %zu using 1:2 with linespoints ls %zu ps %s title ", r->scores, i + 1,
                r->log.evals > 40 ? "0.4" : "0.8");
        cli_gp_string(gp, j->n > 1 ? r->label : pretraining ? "held out" : "dev score");
        begin_line(gp, lines);
        fprintf(gp,
                "data index %zu using ($1 == %.10g ? $1 : NaN):2 with points pt 6 ps 1.6 lw 1.5 lc rgb 'black' title ",
                r->scores, r->best_step);
        char label[64];
        snprintf(label, sizeof label, "best: %.2f, step %.10g", r->best, r->best_step);
        cli_gp_string(gp, j->n > 1 ? "" : label);
        if (!(r->log.eval_step[0] <= 0))
            continue;
        begin_line(gp, lines);
        fprintf(gp, "data index %zu using ($1 == 0 ? $1 : NaN):2 with points pt 7 ps 1.2 lc rgb 'black' title ",
                r->scores);
        snprintf(label, sizeof label, "start model: %.2f", r->start);
        cli_gp_string(gp, j->n > 1 ? "" : label);
    }
}

/* Returns 1 if at least one run has a line in the panel of the scores or perplexities. pretraining: 1 for pretraining
 * runs, 0 for other training runs. */
static int has_scores(const job *j, int pretraining) {
    for (size_t i = 0; i < j->n; i++)
        if (j->run[i].log.pretraining == pretraining &&
            (j->run[i].scores != (size_t)-1 || (pretraining && j->run[i].losses != (size_t)-1)))
            return 1;
    return 0;
}

/* Writes the panel with the perplexities of pretraining runs. */
static void perplexity_panel(const job *j) {
    FILE *gp = j->picture.gp;
    int lines = 0;
    fputs("set ylabel 'perplexity of masked words'\nset logscale y\nset autoscale yfix\nset offsets 0, 0, graph 0.05, "
          "graph 0.05\nset ytics (1, 2, 3, 5, 7",
          gp);
    for (int power = 1; power <= 6; power++)
        fprintf(gp, ", 1e%d, 2e%d, 3e%d, 5e%d, 7e%d", power, power, power, power, power);
    fputs(")\n", gp);
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        if (!r->log.pretraining || r->losses == (size_t)-1)
            continue;
        begin_line(gp, &lines);
        fprintf(gp, "data index %zu using 1:(exp($2)) with lines lc rgb '#999999' lw 1 title ", r->losses);
        char label[64];
        snprintf(label, sizeof label, "in training, mean over %g steps", r->window);
        cli_gp_string(gp, i ? "" : label);
    }
    score_lines(j, 1, &lines);
    putc('\n', gp);
}

/* Stores the names of the distinct losses of all training runs in `key`. Returns their number. */
static size_t list_parts(const job *j, const char *key[CLI_LOG_PARTS]) {
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++) {
        const cli_run_log *log = &j->run[i].log;
        for (size_t part = 0; part < log->parts; part++) {
            size_t k = 0;
            while (k < n && strcmp(key[k], log->part[part]) != 0)
                k++;
            if (k == n && n < CLI_LOG_PARTS && all_runs_loss(j, log->part[part], 1))
                key[n++] = log->part[part];
        }
    }
    return n;
}

/* Writes the commands for the plot made of characters. gnuplot executes them if the variable `characters` is
 * defined. */
static void write_characters(const job *j) {
    fputs("\nif (exists('characters')) {\nset terminal dumb 96 20\nunset key\nplot ", j->picture.gp);
    for (size_t i = 0, lines = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        if (r->losses == (size_t)-1)
            continue;
        fprintf(j->picture.gp, "%sdata index %zu using 1:%s with lines", lines++ ? ", " : "", r->losses,
                r->log.pretraining ? "(exp($2))" : "2");
    }
    fputs("\n}\n", j->picture.gp);
}

/* Returns the largest step of all runs, at least 1. pretraining: 1 for pretraining runs, 0 for other training runs. */
static double last_step(const job *j, int pretraining) {
    double last = 1;
    for (size_t i = 0; i < j->n; i++) {
        const cli_run_log *log = &j->run[i].log;
        if (log->pretraining != pretraining)
            continue;
        last = fmax(last, fmax(log->n ? log->step[log->n - 1] : 0, log->evals ? log->eval_step[log->evals - 1] : 0));
    }
    return last;
}

typedef struct layout {
    size_t columns, rows; /* columns: number of columns of panels; rows: number of rows of panels */
    int width, height;    /* size of the plot in pixels */
    int band;             /* height in pixels of the title and the common legend above the panels */
    size_t used;          /* number of panels that were written */
} layout;

/* Chooses the number of columns and rows, and the size of the plot. panels: number of panels; legend: 1 if there is a
 * common legend. */
static layout make_layout(const job *j, size_t panels, int legend) {
    layout l = {.columns = panels == 1 ? 1 : panels == 2 || panels == 4 ? 2 : 3};
    l.rows = (panels + l.columns - 1) / l.columns;
    l.band = (*j->o->plot.title ? 28 : 0) + (legend ? 32 : 0);
    l.width = l.columns == 1 ? 800 : l.columns == 2 ? 960 : 1200;
    l.height = l.band + (panels == 1 ? 460 : 370) * (int)l.rows;
    return l;
}

/* Sets the margins of the next panel. above: height in pixels of the space above the panel, for its legend. */
static void place_panel(const job *j, layout *l, int above) {
    enum { LEFT = 75, RIGHT = 20, BOTTOM = 60 };
    const double width = l->width, height = l->height, cell_width = width / (double)l->columns,
                 cell_height = (height - l->band) / (double)l->rows;
    const size_t row = l->used / l->columns, column = l->used % l->columns;
    const double x = cell_width * (double)column, y = l->band + cell_height * (double)row;
    fprintf(j->picture.gp,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset tmargin at screen %.4f\n"
            "set bmargin at screen %.4f\n",
            (x + LEFT) / width, (x + cell_width - RIGHT) / width, 1 - (y + above) / height,
            1 - (y + cell_height - BOTTOM) / height);
    l->used++;
}

/* Writes a common legend for all panels. It is the legend of an empty plot that covers the whole image. */
static void write_legend(const job *j, const layout *l) {
    FILE *gp = j->picture.gp;
    fprintf(
        gp,
        "set lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\nset bmargin at screen 0\n"
        "unset border\nunset tics\nset key at screen 0.5, screen %.4f center center horizontal Left reverse samplen 4 "
        "width 2\nplot [0:1] [0:1]",
        1 - (l->band - 16.0) / l->height);
    for (size_t i = 0; i < j->n; i++) {
        fprintf(gp, "%s NaN with linespoints ls %zu title ", i ? "," : "", i + 1);
        cli_gp_string(gp, j->run[i].label);
    }
    fputs("\nset border\nset tics\nunset key\n", gp);
}

/* Writes the panels of the losses, of the dev scores and of the perplexities. key: [parts] names of the losses. */
static void write_panels(const job *j, layout *l, const char *const *key, size_t parts) {
    FILE *gp = j->picture.gp;
    const int above = j->n > 1 ? 16 : 18 + 18 * (((int)parts + 1) / 2 > 2 ? ((int)parts + 1) / 2 : 2);
    fprintf(gp, "set xrange [0:%.10g]\n", 1.02 * last_step(j, 0));
    if (j->n == 1 && parts) {
        place_panel(j, l, above);
        one_run_losses(j);
    }
    for (size_t k = 0; j->n > 1 && k < parts; k++) {
        place_panel(j, l, above);
        all_runs_loss(j, key[k], 0);
    }
    if (has_scores(j, 0)) {
        int lines = 0;
        place_panel(j, l, above);
        fprintf(gp, "set ylabel '%s'\nset offsets 0, 0, graph 0.06, graph 0.06\n", common_metric(j));
        score_lines(j, 0, &lines);
        putc('\n', gp);
    }
    if (has_scores(j, 1)) {
        place_panel(j, l, above);
        fprintf(gp, "set xrange [0:%.10g]\n", 1.02 * last_step(j, 1));
        perplexity_panel(j);
    }
}

static void write_script(job *j) {
    FILE *gp = j->picture.gp;
    const char *key[CLI_LOG_PARTS];
    const size_t parts = list_parts(j, key), losses = j->n > 1 ? parts : parts > 0;
    layout l = make_layout(j, losses + (size_t)has_scores(j, 0) + (size_t)has_scores(j, 1), j->n > 1);
    fputs("title = ", gp);
    cli_gp_string(gp, j->o->plot.title);
    putc('\n', gp);
    if (j->o->characters)
        write_characters(j);
    cli_picture_begin(&j->picture, l.width, l.height);
    cli_gp_line_styles(gp);
    fputs("set multiplot title title\n", gp);
    if (j->n > 1)
        write_legend(j, &l);
    else
        fputs("set key at graph 0.5, graph 1.02 center bottom horizontal Left reverse maxcols 2 samplen 3 width -3\n",
              gp);
    fputs("set xlabel 'step'\n", gp);
    write_panels(j, &l, key, parts);
    fputs("unset multiplot\n", gp);
    cli_picture_end(&j->picture);
}

static void report(const job *j) {
    json_t *list = json_array();
    for (size_t i = 0; i < j->n; i++) {
        const run *r = &j->run[i];
        json_array_append_new(list, json_pack("{s:o,s:I,s:I,s:o,s:f}", "run", cli_json_text(r->label, strlen(r->label)),
                                              "steps", (json_int_t)(r->log.n ? r->log.step[r->log.n - 1] : 0),
                                              "evaluations", (json_int_t)r->log.evals, "best",
                                              cli_json_real(r->log.evals ? r->best : NAN), "smoothed_over", r->window));
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

static int draw(job *j, const char *const *dir) {
    if (cli_picture_open(&j->picture, j->o->plot.output, "training runs: losses, dev scores, perplexity"))
        return 1;
    for (size_t i = 0; i < j->n; i++) {
        char *path = find_log(dir[i]);
        const int failed = cli_run_log_read(&j->run[i].log, path);
        free(path);
        if (failed)
            return 1;
    }
    for (size_t i = 0; i < j->n; i++) {
        run *r = &j->run[i];
        r->label = j->label[i];
        r->losses = r->scores = (size_t)-1;
    }
    choose_windows(j, j->o->smooth);
    for (size_t i = 0; i < j->n; i++) {
        write_losses(j, &j->run[i]);
        write_scores(j, &j->run[i]);
    }
    write_script(j);
    if (cli_picture_draw(&j->picture, j->o->characters))
        return 1;
    report(j);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_plot_defaults(&o.plot);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("curves", curve_table, &o),
        {"general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general},
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
    cli_args args;
    int code = cli_plot_parse(&args, &syntax, &o.plot, argc, argv);
    if (code == CLI_GO) {
        job *j = cli_calloc(1, sizeof *j);
        j->o = &o;
        j->n = args.n;
        j->label = cli_picture_labels(args.operand, args.n);
        code = draw(j, args.operand);
        for (size_t i = 0; i < j->n; i++)
            cli_run_log_free(&j->run[i].log);
        cli_picture_labels_free(j->label, j->n);
        cli_picture_close(&j->picture);
        free(j);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_plot_curve_command = {
    .name = "curve",
    .summary = "losses, dev scores and perplexity of training runs",
    .run = run_command,
};
