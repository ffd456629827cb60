/* SPDX-License-Identifier: MIT
 * Implements `aoe plot bench`: plots the figures that `make bench-peers` writes to figures.json. The plot has one panel
 * for each input (a model and its texts) and one bar for each engine (a library and a data type). The file contains an
 * object with the array "results", whose elements are objects {"input":text,"engine":text,"threads":N,METRIC:x,...}.
 */
#include "cli/common/dispatch.h"
#include "cli/common/words.h"
#include "cli/plot/plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PANELS = 12, MAX_BARS = 40 };

typedef struct options {
    cli_plot_options plot;
    const char *metric; /* key of the plotted numbers */
    size_t threads;     /* 0: the largest number of threads */
} options;

/* A bar: an engine and its value. */
typedef struct bar {
    const char *engine; /* name of the engine, borrowed from the file */
    double value;       /* value of the metric */
} bar;

/* A panel: the bars of one input, in the order of the file. */
typedef struct panel {
    const char *input; /* description of the input, borrowed from the file */
    bar bar[MAX_BARS]; /* [n] bars */
    size_t n;
} panel;

typedef struct job {
    const options *o;
    const char *path;
    json_t *file; /* contents of the file, owned */
    size_t threads;
    panel panel[MAX_PANELS]; /* [n] panels in the order of the file */
    size_t n;
    cli_picture picture;
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option data_table[] = {
    {.name = "metric",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(metric),
     .help = "number to plot: tokens_per_second, texts_per_second, cosine_min, cosine_mean, peak_mb, p50_ms, p99_ms, "
             "first_vector_ms, step_ms, pairs_per_second, gflops or of_peak"},
    {.name = "thread-count",
     .kind = AOEI_OPTION_SIZE,
     AT(threads),
     .min = 1,
     .max = 1024,
     .help = "plot the results with this number of threads",
     .fallback = "the largest number of threads that has results"},
};

static const char advice[] = "give the file figures.json of make bench-peers";

/* ---- reading */

/* Returns the number of threads of a result that has the metric, or 0 if the result does not have the metric. */
static size_t threads_of(const job *j, const json_t *result) {
    const json_int_t threads = json_integer_value(json_object_get(result, "threads"));
    return json_is_number(json_object_get(result, j->o->metric)) && threads > 0 ? (size_t)threads : 0;
}

/* Writes the names of the numbers in all results to list[size], for a message. */
static void list_metrics(const json_t *results, char *list, size_t size) {
    json_t *names = json_object(), *result, *value;
    const char *key;
    size_t i;
    list[0] = 0;
    json_array_foreach(results, i, result) json_object_foreach(result, key, value) {
        if (!json_is_number(value) || strcmp(key, "threads") == 0 || json_object_get(names, key))
            continue;
        const size_t at = strlen(list);
        snprintf(list + at, size - at, "%s%s", at ? ", " : "", key);
        json_object_set_new(names, key, json_true());
    }
    json_decref(names);
}

/* Adds the value of a result to the panel of its input. */
static int add_result(job *j, const json_t *result, size_t number) {
    const char *input = json_string_value(json_object_get(result, "input"));
    const char *engine = json_string_value(json_object_get(result, "engine"));
    if (!input || !engine)
        return cli_fail("%s: result %zu has no input or no engine; %s", j->path, number + 1, advice);
    size_t at = 0;
    while (at < j->n && strcmp(j->panel[at].input, input) != 0)
        at++;
    if (at == MAX_PANELS)
        return cli_fail("%s: the plot would have more than %d inputs; choose another --metric", j->path, MAX_PANELS);
    panel *p = &j->panel[at];
    if (at == j->n)
        *p = (panel){.input = input}, j->n++;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->bar[i].engine, engine) == 0)
            return cli_fail("%s: result %zu: the input '%s' already has a value of '%s'; %s", j->path, number + 1,
                            input, engine, advice);
    if (p->n == MAX_BARS)
        return cli_fail("%s: the input '%s' has more than %d engines; %s", j->path, input, MAX_BARS, advice);
    p->bar[p->n++] = (bar){engine, json_number_value(json_object_get(result, j->o->metric))};
    return 0;
}

/* Reads the results that have the metric and the number of threads. */
static int read_results(job *j) {
    json_error_t error;
    json_t *result;
    size_t i;
    j->file = json_load_file(j->path, 0, &error);
    const json_t *results = json_object_get(j->file, "results");
    if (!j->file && error.line < 0)
        return cli_fail("%s: cannot open: %s; %s", j->path, strerror(errno), advice);
    if (!j->file)
        return cli_fail("%s:%d: invalid JSON: %s; %s", j->path, error.line, error.text, advice);
    if (!json_is_array(results))
        return cli_fail("%s: the file has no array 'results'; %s", j->path, advice);
    j->threads = j->o->threads;
    json_array_foreach(results, i, result) {
        const size_t threads = threads_of(j, result);
        if (!j->o->threads && threads > j->threads)
            j->threads = threads;
    }
    json_array_foreach(results, i, result) if (threads_of(j, result) && threads_of(j, result) == j->threads &&
                                               add_result(j, result, i)) return 1;
    if (j->n)
        return 0;
    if (j->threads)
        return cli_fail("%s: no result has the number '%s' and %zu thread%s; choose another number with --thread-count",
                        j->path, j->o->metric, j->threads, cli_plural(j->threads));
    char list[512];
    list_metrics(results, list, sizeof list);
    if (!*list)
        return cli_fail("%s: the file has no results; run make bench-peers", j->path);
    return cli_fail("%s: no result has the number '%s'; choose one of %s with --metric", j->path, j->o->metric, list);
}

/* ---- the plot */

/* Returns 1 for the engines of this project, whose bars have another color. */
static int is_own(const char *engine) {
    return strncmp(engine, "aoe", 3) == 0 && (!engine[3] || engine[3] == ' ');
}

/* Returns a name of the metric for people: without underscores. The caller frees the text with free(). */
static char *metric_text(const job *j) {
    char *text = cli_strdup(j->o->metric);
    for (char *s = text; *s; s++)
        if (*s == '_')
            *s = ' ';
    return text;
}

static void write_data(job *j) {
    for (size_t k = 0; k < j->n; k++) {
        const panel *p = &j->panel[k];
        cli_picture_block(&j->picture, "%s: row from below, %s, 1 if the engine is aoe, engine", p->input,
                          j->o->metric);
        for (size_t i = 0; i < p->n; i++) {
            fprintf(j->picture.dat, "%zu %.6g %d \"", p->n - 1 - i, p->bar[i].value, is_own(p->bar[i].engine));
            cli_gp_comment(j->picture.dat, p->bar[i].engine);
            fputs("\"\n", j->picture.dat);
        }
    }
}

static void write_parameters(job *j) {
    cli_picture *p = &j->picture;
    char *metric = metric_text(j), *label = cli_format("%s, %zu thread%s", metric, j->threads, cli_plural(j->threads));
    cli_picture_text(p, label, "metric");
    fputs("rows = '", p->gp);
    for (size_t k = 0; k < j->n; k++)
        fprintf(p->gp, "%s%zu", k ? " " : "", j->panel[k].n);
    fputs("'\n", p->gp);
    for (size_t k = 0, engine = 0; k < j->n; k++) {
        cli_picture_text(p, j->panel[k].input, "input%zu", k + 1);
        for (size_t i = 0; i < j->panel[k].n; i++)
            cli_picture_text(p, j->panel[k].bar[i].engine, "engine%zu", ++engine);
    }
    free(metric);
    free(label);
}

static json_t *panels_json(const job *j) {
    json_t *panels = json_array();
    for (size_t k = 0; k < j->n; k++) {
        const panel *p = &j->panel[k];
        json_t *engines = json_array(), *values = json_array();
        for (size_t i = 0; i < p->n; i++) {
            json_array_append_new(engines, cli_json_text(p->bar[i].engine, strlen(p->bar[i].engine)));
            json_array_append_new(values, cli_json_real(p->bar[i].value));
        }
        json_array_append_new(panels, json_pack("{s:o,s:o,s:o}", "input", cli_json_text(p->input, strlen(p->input)),
                                                "engines", engines, "values", values));
    }
    return panels;
}

static void report(const job *j) {
    char *metric = metric_text(j);
    for (size_t k = 0; k < j->n && !j->o->plot.general.json; k++) {
        const panel *p = &j->panel[k];
        const bar *low = p->bar, *high = p->bar;
        for (size_t i = 1; i < p->n; i++) {
            low = p->bar[i].value < low->value ? &p->bar[i] : low;
            high = p->bar[i].value > high->value ? &p->bar[i] : high;
        }
        printf("%s: %s from %.4g (%s) to %.4g (%s)\n", p->input, metric, low->value, low->engine, high->value,
               high->engine);
    }
    free(metric);
    cli_picture_report(&j->picture, j->o->plot.general.json,
                       json_pack("{s:o,s:I,s:o}", "metric", cli_json_text(j->o->metric, strlen(j->o->metric)),
                                 "threads", (json_int_t)j->threads, "panels", panels_json(j)));
}

static int draw(const cli_args *args, const void *user) {
    job j = {.o = user, .path = args->operand[0]};
    int failed =
        cli_picture_open(&j.picture, j.o->plot.output, j.o->plot.title, "bench", "figures of make bench-peers") ||
        read_results(&j);
    if (!failed) {
        write_data(&j);
        write_parameters(&j);
        failed = cli_picture_draw(&j.picture, 0);
    }
    if (!failed)
        report(&j);
    json_decref(j.file);
    cli_picture_close(&j.picture);
    return failed;
}

static int run_command(int argc, char **argv) {
    options o = {.metric = "tokens_per_second"};
    cli_plot_defaults(&o.plot);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("data", data_table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot bench",
        .operands = "FILE -o NAME",
        .about = "Plots the comparison of aoe with other libraries. FILE is the file figures.json that\n"
                 "`make bench-peers` writes. The plot has one panel for each input, that is, a model and its texts,\n"
                 "and one bar for each library and data type.\n",
        .examples = "  aoe plot bench build/peers/figures.json -o bench\n"
                    "  aoe plot bench build/peers/figures.json --metric p50_ms --thread-count 1 -o latency\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_bench_command = {
    .name = "bench",
    .summary = "speed of aoe and of other libraries",
    .run = run_command,
};
