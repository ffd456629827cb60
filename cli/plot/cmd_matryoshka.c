/* SPDX-License-Identifier: MIT
 * Implements `aoe plot matryoshka`: plots the quality of truncated models over the number of components or of layers.
 * The values are read from the output of `aoe eval` with --dims or --layers (size_results.h). The plot has one line per
 * file and number of layers, or per file and number of components if the layers are on the horizontal axis.
 */
#include "cli/common/dispatch.h"
#include "cli/common/words.h"
#include "cli/plot/plot.h"
#include "cli/plot/size_results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_LINES = CLI_LINE_STYLES, MAX_TICS = 16 };

/* The quantity on the horizontal axis. */
typedef enum x_axis { X_AUTO, X_DIMS, X_LAYERS } x_axis;

typedef struct options {
    cli_plot_options plot;
    int x;                    /* an x_axis */
    const char *metric, *row; /* name of the metric and of the input; NULL: chosen automatically */
} options;

/* A point of a line. */
typedef struct point {
    size_t x;     /* number of components or of layers */
    double score; /* metric, multiplied by 100 */
} point;

/* A line of the plot. */
typedef struct line {
    char *label;  /* name in the legend, owned */
    size_t file;  /* index of the file */
    size_t other; /* the quantity that is not on the horizontal axis: number of layers or of components */
    point *point; /* [n] points in ascending order of x, owned */
    size_t n;
} line;

typedef struct job {
    const options *o;
    const cli_args *args;   /* operands: the files */
    cli_size_results *file; /* [args->n] results of the files, owned */
    char **label;           /* [args->n] labels of the files, owned */
    int x;                  /* X_DIMS or X_LAYERS */
    line line[MAX_LINES];   /* [n] lines of the plot */
    size_t n;
    cli_picture picture;
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option data_table[] = {
    {.name = "x",
     .kind = AOEI_OPTION_CHOICE,
     AT(x),
     .choices = AOEI_CHOICES("auto", "dims", "layers"),
     .noun = "axis",
     .help = "horizontal axis: dims (number of components), layers (number of layers), or auto: layers if all results "
             "have the same number of components, otherwise dims"},
    {.name = "metric",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(metric),
     .help = "metric on the vertical axis: a key of the JSON output, such as spearman, wmean.spearman or recall@5, or "
             "a column of the CSV output, such as STS-B",
     .fallback = "spearman, all.spearman, average, ndcg or accuracy, the first of these that the results have"},
    {.name = "row",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(row),
     .help =
         "plot the results with this name: an input of aoe eval or a total over the inputs; for CSV, the first column "
         "contains the names",
     .fallback = "the only name, or the total: all, average or mean"},
};

static const char *unit_of(int x, size_t n) {
    return x == X_DIMS ? (n == 1 ? "component" : "components") : (n == 1 ? "layer" : "layers");
}

/* ---- lines */

static int read_files(job *j) {
    const size_t n = j->args->n;
    j->file = cli_calloc(n, sizeof *j->file);
    j->label = cli_picture_labels((const char *const *)j->args->operand, n);
    for (size_t i = 0; i < n; i++) {
        if (cli_size_results_read(&j->file[i], j->args->operand[i], j->o->row, j->o->metric))
            return 1;
        if (strcasecmp(j->file[i].metric, j->file[0].metric) != 0)
            return cli_fail(
                "%s: the metric is '%s', but the metric of %s is '%s'; choose a metric of both with --metric",
                j->args->operand[i], j->file[i].metric, j->args->operand[0], j->file[0].metric);
    }
    return 0;
}

/* Sets j->x if the option is auto. */
static void choose_axis(job *j) {
    size_t several_layers = 0, several_dims = 0;
    for (size_t i = 0; i < j->args->n; i++)
        for (size_t k = 0; k < j->file[i].n; k++) {
            several_layers |= j->file[i].result[k].layers != j->file[0].result[0].layers;
            several_dims |= j->file[i].result[k].dims != j->file[0].result[0].dims;
        }
    j->x = j->o->x != X_AUTO ? j->o->x : several_layers && !several_dims ? X_LAYERS : X_DIMS;
}

/* Adds a point to a line, after all points with a smaller x. */
static void add_point(line *l, size_t x, double score) {
    size_t i = l->n;
    l->point = cli_realloc(l->point, (l->n + 1) * sizeof *l->point);
    for (; i && l->point[i - 1].x > x; i--)
        l->point[i] = l->point[i - 1];
    l->point[i] = (point){x, score};
    l->n++;
}

/* A comparison function for qsort. Sorts lines by their file, then by the other quantity in descending order. */
static int compare_lines(const void *a, const void *b) {
    const line *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->other < y->other) - (x->other > y->other);
}

/* Divides the results of the files into lines. */
static int make_lines(job *j) {
    for (size_t i = 0; i < j->args->n; i++) {
        for (size_t k = 0; k < j->file[i].n; k++) {
            const cli_size_result *r = &j->file[i].result[k];
            const size_t other = j->x == X_DIMS ? r->layers : r->dims;
            size_t at = 0;
            while (at < j->n && (j->line[at].file != i || j->line[at].other != other))
                at++;
            if (at == MAX_LINES)
                return cli_fail(
                    "%s:%zu: the plot would have more than %d lines, one for each file and number of %s; give fewer "
                    "files or sizes",
                    j->args->operand[i], r->line, MAX_LINES, unit_of(j->x == X_DIMS ? X_LAYERS : X_DIMS, 2));
            if (at == j->n)
                j->line[j->n++] = (line){.file = i, .other = other};
            add_point(&j->line[at], j->x == X_DIMS ? r->dims : r->layers, r->value);
        }
    }
    qsort(j->line, j->n, sizeof *j->line, compare_lines);
    return 0;
}

/* Names the lines by the file, if there are several, and by the other quantity, if it has several values. */
static void label_lines(job *j) {
    int several = 0;
    for (size_t i = 1; i < j->n; i++)
        several |= j->line[i].other != j->line[0].other;
    for (size_t i = 0; i < j->n; i++) {
        line *l = &j->line[i];
        const char *unit = unit_of(j->x == X_DIMS ? X_LAYERS : X_DIMS, l->other);
        if (several && j->args->n > 1)
            l->label = cli_format("%s, %zu %s", j->label[l->file], l->other, unit);
        else if (several)
            l->label = cli_format("%zu %s", l->other, unit);
        else
            l->label = cli_strdup(j->label[l->file]);
    }
}

/* ---- the plot */

static void write_data(job *j) {
    for (size_t i = 0; i < j->n; i++) {
        const line *l = &j->line[i];
        cli_picture_block(&j->picture, "%s, results of %s: %s, %s x 100", l->label, j->file[l->file].row,
                          unit_of(j->x, 2), j->file[0].metric);
        for (size_t k = 0; k < l->n; k++)
            fprintf(j->picture.dat, "%zu %.6g\n", l->point[k].x, l->point[k].score);
    }
}

/* Writes the values of x of all lines as a list, which is empty if there are more than MAX_TICS. */
static void write_tics(const job *j) {
    size_t tic[MAX_TICS + 1], n = 0;
    for (size_t i = 0; i < j->n; i++)
        for (size_t k = 0; k < j->line[i].n && n <= MAX_TICS; k++) {
            size_t at = 0;
            while (at < n && tic[at] != j->line[i].point[k].x)
                at++;
            tic[at] = j->line[i].point[k].x;
            n += at == n;
        }
    fputs("tics = '", j->picture.gp);
    for (size_t i = 0; n <= MAX_TICS && i < n; i++)
        fprintf(j->picture.gp, "%s%zu", i ? " " : "", tic[i]);
    fputs("'\n", j->picture.gp);
}

static void write_parameters(job *j) {
    cli_picture *p = &j->picture;
    char *xlabel = cli_format("number of %s", unit_of(j->x, 2)), *ylabel = cli_format("%s x 100", j->file[0].metric);
    cli_picture_text(p, xlabel, "xlabel");
    cli_picture_text(p, ylabel, "ylabel");
    fprintf(p->gp, "lines = %zu\nx = '%s'\n", j->n, j->x == X_DIMS ? "dims" : "layers");
    write_tics(j);
    for (size_t i = 0; i < j->n; i++)
        cli_picture_text(p, j->line[i].label, "label%zu", i + 1);
    free(xlabel);
    free(ylabel);
}

static json_t *lines_json(const job *j) {
    json_t *lines = json_array();
    for (size_t i = 0; i < j->n; i++) {
        const line *l = &j->line[i];
        json_t *x = json_array(), *scores = json_array();
        for (size_t k = 0; k < l->n; k++) {
            json_array_append_new(x, json_integer((json_int_t)l->point[k].x));
            json_array_append_new(scores, cli_json_real(round(1e8 * l->point[k].score) / 1e10));
        }
        json_array_append_new(lines, json_pack("{s:o,s:I,s:o,s:o}", "label", cli_json_text(l->label, strlen(l->label)),
                                               j->x == X_DIMS ? "layers" : "dims", (json_int_t)l->other,
                                               j->x == X_DIMS ? "dims" : "layers", x, "scores", scores));
    }
    return lines;
}

static void report(const job *j) {
    const char *metric = j->file[0].metric;
    for (size_t i = 0; i < j->n && !j->o->plot.general.json; i++) {
        const line *l = &j->line[i];
        const point *first = &l->point[0], *last = &l->point[l->n - 1];
        printf("%s: %s %.2f with %zu %s", l->label, metric, last->score, last->x, unit_of(j->x, last->x));
        if (l->n > 1)
            printf(", %.2f with %zu", first->score, first->x);
        putchar('\n');
    }
    cli_picture_report(&j->picture, j->o->plot.general.json,
                       json_pack("{s:o,s:s,s:o}", "metric", cli_json_text(metric, strlen(metric)), "x",
                                 j->x == X_DIMS ? "dims" : "layers", "lines", lines_json(j)));
}

static void job_free(job *j) {
    for (size_t i = 0; i < j->n; i++) {
        free(j->line[i].label);
        free(j->line[i].point);
    }
    for (size_t i = 0; j->file && i < j->args->n; i++)
        cli_size_results_free(&j->file[i]);
    free(j->file);
    cli_picture_labels_free(j->label, j->args->n);
    cli_picture_close(&j->picture);
}

static int draw(const cli_args *args, const void *user) {
    job j = {.o = user, .args = args};
    int failed = cli_picture_open(&j.picture, j.o->plot.output, j.o->plot.title, "matryoshka",
                                  "quality of models of several sizes") ||
                 read_files(&j);
    if (!failed) {
        choose_axis(&j);
        failed = make_lines(&j);
    }
    if (!failed) {
        label_lines(&j);
        write_data(&j);
        write_parameters(&j);
        failed = cli_picture_draw(&j.picture, 0);
    }
    if (!failed)
        report(&j);
    job_free(&j);
    return failed;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_plot_defaults(&o.plot);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("data", data_table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot matryoshka",
        .operands = "FILE... -o NAME",
        .about =
            "Plots the quality of a model over the number of components to which its embeddings are truncated,\n"
            "with one line for each number of layers and each FILE. A FILE contains the output of aoe eval sts,\n"
            "suite, pairs, retrieval or triplets with --dims or --layers, and with --json or --format csv. The\n"
            "plot shows one metric, multiplied by 100. Several FILEs compare models, for example a model that was\n"
            "trained with aoe train --matryoshka and a model that was trained without this option.\n",
        .examples = "  aoe eval sts -m model --dims 256,128,64,32 --json test.tsv >model.jsonl\n"
                    "  aoe plot matryoshka model.jsonl -o sizes\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_matryoshka_command = {
    .name = "matryoshka",
    .summary = "quality over the number of components and of layers of a model",
    .run = run_command,
};
