/* SPDX-License-Identifier: MIT
 * Implements `aoe plot grid`: plots a heat map of the results of `aoe grid`. Two of the searched options are the axes.
 * Each cell shows the mean score over all seeds and over all values of the other options. A frame marks the best cell.
 * The results are read from DIR/results.jsonl, which contains one object
 * {"point":{option:value,...},"seed":N,"score":x,"seconds":s} per line.
 * A cell also shows the standard deviation. Cells whose scores are not significantly lower than those of the best cell
 * have a dashed frame.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_plot_options plot;
    const char *x, *y; /* names of the options on the axes; NULL: the two options that have several values */
} options;

/* An axis of the plot: the values of an option, in the order in which they are drawn. */
typedef struct axis {
    const char *option; /* name of the option, borrowed */
    char **value;       /* [n] values as text, owned */
    size_t n;
} axis;

/* A cell of the heat map: the scores of all results with one value on the x axis and one value on the y axis. */
typedef struct cell {
    size_t *result;         /* [n] indices of these results, owned */
    size_t n;               /* number of results */
    aoe_t_test_result test; /* mean and standard deviation of the scores */
    int is_close; /* 1: the scores are not significantly lower than those of the best cell; not set for the best cell */
} cell;

typedef struct job {
    const options *o;
    char *path;       /* path of the file with the results, owned */
    json_t **result;  /* [n] results that have a score, owned */
    size_t n, failed; /* n: number of results with a score; failed: number of results without a score */
    axis x, y;        /* x: horizontal axis; y: vertical axis */
    cell *cell;       /* [y.n, x.n] cells, owned */
    size_t best;      /* index of the best cell */
    /* factor by which printed scores are multiplied: 100 if the absolute values of all scores are at most 1, otherwise
     * 1 */
    double factor;
    cli_picture picture;
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option grid_table[] = {
    {.name = "x",
     .kind = AOEI_OPTION_TEXT,
     .value = "OPTION",
     AT(x),
     .help = "option of aoe train on the horizontal axis, for example w-angle",
     .fallback = "the first option with several values"},
    {.name = "y",
     .kind = AOEI_OPTION_TEXT,
     .value = "OPTION",
     AT(y),
     .help = "option of aoe train on the vertical axis",
     .fallback = "the second option with several values"},
};

/* ---- reading */

/* Parses a line of the file and adds its result. A result without a score is only counted. A last line without a line
 * end is skipped, because a running program is still writing it. */
static int take_line(void *user, char *line, size_t len, size_t number) {
    job *j = user;
    if (line[len - 1] != '\n')
        return 0;
    json_t *o = json_loadb(line, len, 0, NULL);
    const json_t *score = json_object_get(o, "score");
    int failed = 0;
    if (!json_is_object(json_object_get(o, "point"))) {
        failed =
            cli_fail("%s:%zu: not a result of a grid search; give the output directory of aoe grid", j->path, number);
    } else if (!json_is_number(score)) {
        j->failed++;
    } else {
        j->result = cli_realloc(j->result, (j->n + 1) * sizeof *j->result);
        j->result[j->n++] = json_incref(o);
    }
    json_decref(o);
    return failed;
}

static int read_results(job *j) {
    if (cli_plot_read_lines(j->path, "give the output directory of aoe grid with at least one finished run", take_line,
                            j))
        return 1;
    if (j->n == 0)
        return cli_fail("%s: no scores found; run the grid search first", j->path);
    if (j->failed)
        cli_warn("skipped %zu result%s without a score", j->failed, cli_plural(j->failed));
    return 0;
}

/* ---- axes */

/* Returns the value of an option in a result, as text for a tick label. Returns NULL if the result does not contain the
 * option. The caller frees the text with free(). */
static char *value_text(const json_t *result, const char *option) {
    const json_t *value = json_object_get(json_object_get(result, "point"), option);
    return value ? cli_json_value_text(value) : NULL;
}

/* Returns the index of a value on an axis, or a->n if the axis does not have this value. */
static size_t find_value(const axis *a, const char *value) {
    size_t i = 0;
    while (i < a->n && strcmp(a->value[i], value) != 0)
        i++;
    return i;
}

/* If the whole text is a number, sets *x and returns 1. Otherwise returns 0. */
static int is_number(const char *text, double *x) {
    char *end;
    *x = strtod(text, &end);
    return end != text && !*end;
}

static int compare_numbers(const void *a, const void *b) {
    const double x = strtod(*(char *const *)a, NULL), y = strtod(*(char *const *)b, NULL);
    return (x > y) - (x < y);
}

/* Sets the values of an axis to the distinct values of an option. Numbers are sorted in ascending order; other values
 * are in the order of the results. Returns 0, or 1 if a result does not contain the option. */
static int fill_axis(const job *j, axis *a, const char *option) {
    double ignored;
    int numbers = 1;
    a->option = option;
    for (size_t i = 0; i < j->n; i++) {
        char *value = value_text(j->result[i], option);
        if (!value)
            return 1;
        if (find_value(a, value) < a->n) {
            free(value);
            continue;
        }
        a->value = cli_realloc(a->value, (a->n + 1) * sizeof *a->value);
        a->value[a->n++] = value;
        numbers &= is_number(value, &ignored);
    }
    if (numbers && a->n)
        qsort(a->value, a->n, sizeof *a->value, compare_numbers);
    return 0;
}

static void axis_free(axis *a) {
    for (size_t i = 0; i < a->n; i++)
        free(a->value[i]);
    free(a->value);
    *a = (axis){0};
}

/* Writes the names of the options of the first result to out[size], for a message. */
static void list_options(const job *j, char *out, size_t size) {
    const char *key;
    json_t *v;
    out[0] = 0;
    json_object_foreach(json_object_get(j->result[0], "point"), key, v) {
        const size_t at = strlen(out);
        snprintf(out + at, size - at, "%s%s", at ? ", " : "", key);
    }
}

/* Reports that a result does not contain the option of an axis. */
static int fail_option(const job *j, const char *option) {
    char list[512];
    list_options(j, list, sizeof list);
    return cli_fail("%s: option '%s' is not part of every configuration; the searched options are %s", j->path, option,
                    *list ? list : "none");
}

/* Sets option[] to the names of the two options that have several values. Called if --x and --y were not given. */
static int choose_options(const job *j, const char *option[2]) {
    const char *key;
    json_t *v;
    size_t varying = 0;
    json_object_foreach(json_object_get(j->result[0], "point"), key, v) {
        axis a = {0};
        const int missing = fill_axis(j, &a, key);
        if (!missing && a.n > 1 && varying++ < 2)
            option[varying - 1] = key;
        axis_free(&a);
    }
    if (varying == 2)
        return 0;
    char list[512];
    list_options(j, list, sizeof list);
    return cli_fail("%s: a heat map shows two options, but %zu of the options have several values; choose with --x "
                    "and --y from %s",
                    j->path, varying, *list ? list : "none");
}

/* ---- cells */

static double score_of(const job *j, size_t i) {
    return json_number_value(json_object_get(j->result[i], "score"));
}

/* Returns 1 if two results have equal seeds and equal values of all options that are not on the axes. */
static int is_pair(const job *j, size_t a, size_t b) {
    json_t *x = json_copy(json_object_get(j->result[a], "point")),
           *y = json_copy(json_object_get(j->result[b], "point"));
    const char *const axes[] = {j->x.option, j->y.option};
    for (size_t i = 0; i < 2; i++) {
        json_object_del(x, axes[i]);
        json_object_del(y, axes[i]);
    }
    const int equal =
        json_equal(x, y) && json_equal(json_object_get(j->result[a], "seed"), json_object_get(j->result[b], "seed"));
    json_decref(x);
    json_decref(y);
    return equal;
}

/* Returns the p-value of the t test between a cell and the best cell, paired by seed and options, or NaN if there are
 * fewer than two pairs. */
static double p_of(const job *j, const cell *best, const cell *c) {
    double *x = cli_calloc(best->n, sizeof *x), *y = cli_calloc(best->n, sizeof *y);
    size_t n = 0;
    aoe_t_test_result test;
    for (size_t i = 0; i < best->n; i++)
        for (size_t k = 0; k < c->n; k++)
            if (is_pair(j, best->result[i], c->result[k])) {
                x[n] = score_of(j, best->result[i]);
                y[n++] = score_of(j, c->result[k]);
                break;
            }
    aoe_t_test(x, y, n, &test);
    free(x);
    free(y);
    return test.p;
}

/* Finds the cells whose scores are not significantly lower than those of the best cell: the p-value, corrected for the
 * number of cells that are compared with the best cell, is at least 0.05, or there is no p-value. Returns 0, or 1 after
 * reporting an error. */
static int find_close_cells(job *j) {
    const size_t cells = j->x.n * j->y.n;
    double *p = cli_calloc(cells, sizeof *p);
    aoe_error err;
    for (size_t i = 0; i < cells; i++)
        p[i] = i != j->best && j->cell[i].n ? p_of(j, &j->cell[j->best], &j->cell[i]) : NAN;
    const int code = aoe_holm(p, cells, p, &err) ? cli_fail("%s", err.message) : 0;
    for (size_t i = 0; i < cells; i++)
        j->cell[i].is_close = i != j->best && j->cell[i].n && !(p[i] < 0.05);
    free(p);
    return code;
}

/* Computes the statistics of a cell. */
static void test_cell(const job *j, cell *c) {
    double *score = cli_calloc(c->n + 1, sizeof *score);
    for (size_t k = 0; k < c->n; k++)
        score[k] = score_of(j, c->result[k]);
    aoe_t_test(score, NULL, c->n, &c->test);
    free(score);
}

/* Collects the results of each cell, computes their statistics, and finds the cell with the highest mean. */
static void fill_cells(job *j) {
    double largest = 0;
    const size_t cells = j->x.n * j->y.n;
    j->cell = cli_calloc(cells, sizeof *j->cell);
    for (size_t i = 0; i < j->n; i++) {
        char *x = value_text(j->result[i], j->x.option), *y = value_text(j->result[i], j->y.option);
        cell *c = &j->cell[find_value(&j->y, y) * j->x.n + find_value(&j->x, x)];
        c->result = cli_realloc(c->result, (c->n + 1) * sizeof *c->result);
        c->result[c->n++] = i;
        largest = fmax(largest, fabs(score_of(j, i)));
        free(x);
        free(y);
    }
    j->factor = largest <= 1 ? 100 : 1;
    j->best = cells;
    for (size_t i = 0; i < cells; i++) {
        test_cell(j, &j->cell[i]);
        if (j->cell[i].n && (j->best == cells || j->cell[i].test.mean > j->cell[j->best].test.mean))
            j->best = i;
    }
}

/* Returns the mean score of cell i multiplied by j->factor. */
static double mean_of(const job *j, size_t i) {
    return j->factor * j->cell[i].test.mean;
}

/* Writes the mean score of cell i, and the standard deviation with its sign, "" for a single result. */
static void cell_texts(const job *j, size_t i, char mean[32], char spread[64]) {
    char sd[32];
    cli_format_score(mean, mean_of(j, i));
    cli_format_score(sd, j->factor * j->cell[i].test.sd);
    snprintf(spread, 64, "%s%s", j->cell[i].n > 1 ? "± " : "", j->cell[i].n > 1 ? sd : "");
}

/* ---- the plot */

static void write_data(job *j) {
    cli_picture_block(&j->picture,
                      "column, row, mean score%s, number of results, printed mean, standard deviation, %s, %s",
                      j->factor > 1 ? " x 100" : "", j->x.option, j->y.option);
    for (size_t i = 0; i < j->x.n * j->y.n; i++) {
        if (!j->cell[i].n)
            continue;
        char text[32], spread[64];
        cell_texts(j, i, text, spread);
        fprintf(j->picture.dat, "%zu %zu %.6g %zu \"%s\" \"%s\" \"", i % j->x.n, i / j->x.n, mean_of(j, i),
                j->cell[i].n, text, spread);
        cli_gp_comment(j->picture.dat, j->x.value[i % j->x.n]);
        fputs("\" \"", j->picture.dat);
        cli_gp_comment(j->picture.dat, j->y.value[i / j->x.n]);
        fputs("\"\n", j->picture.dat);
    }
}

/* Writes a description of the best cell to text[size]. */
static void best_text(const job *j, char *text, size_t size) {
    char mean[32], spread[64];
    const size_t n = j->cell[j->best].n;
    cell_texts(j, j->best, mean, spread);
    snprintf(text, size, "best: %s%s%s (%zu run%s%s) at %s %s, %s %s", mean, *spread ? " " : "", spread, n,
             cli_plural(n), n > 1 ? "" : ", spread unknown", j->x.option, j->x.value[j->best % j->x.n], j->y.option,
             j->y.value[j->best / j->x.n]);
}

/* Returns the number of cells with a dashed frame. */
static size_t close_cells(const job *j) {
    size_t n = 0;
    for (size_t i = 0; i < j->x.n * j->y.n; i++)
        n += (size_t)j->cell[i].is_close;
    return n;
}

static void write_parameters(job *j) {
    cli_picture *p = &j->picture;
    char best[512];
    best_text(j, best, sizeof best);
    cli_picture_text(p, best, "best");
    fprintf(p->gp, "best_cell = %zu\nclose = '", j->best);
    for (size_t i = 0; i < j->x.n * j->y.n; i++)
        if (j->cell[i].is_close)
            fprintf(p->gp, "%zu ", i);
    fprintf(p->gp, "'\ncolumns = %zu\nrows = %zu\n", j->x.n, j->y.n);
    cli_picture_text(p, j->x.option, "xlabel");
    cli_picture_text(p, j->y.option, "ylabel");
    cli_picture_text(p, j->factor > 1 ? "score x 100, mean" : "score, mean", "cblabel");
    for (size_t i = 0; i < j->x.n; i++)
        cli_picture_text(p, j->x.value[i], "x%zu", i + 1);
    for (size_t i = 0; i < j->y.n; i++)
        cli_picture_text(p, j->y.value[i], "y%zu", i + 1);
}

static void report(const job *j) {
    if (!j->o->plot.general.json) {
        char best[512];
        best_text(j, best, sizeof best);
        printf("%s\n", best);
        if (close_cells(j))
            printf("%zu other cell%s not significantly lower (paired t test, Holm's correction, p >= 0.05)\n",
                   close_cells(j), close_cells(j) == 1 ? " is" : "s are");
    }
    const char *x = j->x.value[j->best % j->x.n], *y = j->y.value[j->best / j->x.n];
    cli_picture_report(&j->picture, j->o->plot.general.json,
                       json_pack("{s:o,s:o,s:o,s:o,s:f,s:I}", "x", cli_json_text(j->x.option, strlen(j->x.option)), "y",
                                 cli_json_text(j->y.option, strlen(j->y.option)), "best_x", cli_json_text(x, strlen(x)),
                                 "best_y", cli_json_text(y, strlen(y)), "best", j->cell[j->best].test.mean, "results",
                                 (json_int_t)j->n));
}

/* Sets the axes to the options of --x and --y, or to the two options that have several values. */
static int fill_axes(job *j) {
    const char *option[2] = {j->o->x, j->o->y};
    if (!option[0] && choose_options(j, option))
        return 1;
    if (fill_axis(j, &j->x, option[0]))
        return fail_option(j, option[0]);
    return fill_axis(j, &j->y, option[1]) ? fail_option(j, option[1]) : 0;
}

static void job_free(job *j) {
    for (size_t i = 0; i < j->n; i++)
        json_decref(j->result[i]);
    free(j->result);
    for (size_t i = 0; j->cell && i < j->x.n * j->y.n; i++)
        free(j->cell[i].result);
    free(j->cell);
    axis_free(&j->x);
    axis_free(&j->y);
    free(j->path);
    cli_picture_close(&j->picture);
}

static int draw(const cli_args *args, const void *user) {
    job j = {.o = user};
    if (!j.o->x != !j.o->y)
        return cli_usage("plot grid", "--x and --y must be given together");
    if (j.o->x && j.o->y && strcmp(j.o->x, j.o->y) == 0)
        return cli_usage("plot grid", "--x and --y must be different options");
    j.path = cli_plot_input(args->operand[0], "results.jsonl");
    int failed = cli_picture_open(&j.picture, j.o->plot.output, j.o->plot.title, "grid",
                                  "mean scores of a grid search over two of its options") ||
                 read_results(&j) || fill_axes(&j);
    if (!failed) {
        fill_cells(&j);
        failed = j.cell[j.best].n > 1 && find_close_cells(&j);
    }
    if (!failed) {
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
        CLI_GROUP("axes", grid_table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot grid",
        .operands = "DIR -o NAME",
        .about =
            "Draws a heat map of the scores of a grid search. DIR is the output directory of aoe grid and\n"
            "contains results.jsonl. The columns of the heat map are the values of one option (--x), and the rows\n"
            "are the values of another option (--y). Each cell shows the mean score of all runs with these two\n"
            "values, and their standard deviation. The best cell is framed. A dashed frame means that the scores\n"
            "of a cell are not significantly lower than those of the best cell (paired t test; p >= 0.05 after\n"
            "Holm's correction for the number of cells that are compared with the best cell).\n",
        .examples = "  aoe plot grid search --x w-angle --y w-ibn -o heat\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_grid_command = {
    .name = "grid",
    .summary = "heat map of the scores of a grid search",
    .run = run_command,
};
