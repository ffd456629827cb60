/* SPDX-License-Identifier: MIT
 * Implements `aoe plot lengths`: draws the distribution of the text lengths in each file as a violin plot, as in figure
 * 3 of the AnglE paper. The axis of the lengths is logarithmic. A length is the number of tokens without truncation,
 * including special tokens. Only the tokenizer of the model is opened.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_tokenizer.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/plot/plot.h"
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 161, /* number of points at which a density is computed */
    /* maximum number of lengths from which a density is estimated; a larger file is represented by SAMPLE evenly spaced
     * elements of its sorted lengths */
    SAMPLE = 20000,
    MAX_FILES = 24
};

typedef struct options {
    cli_plot_options plot;
    const char *model;       /* directory of the model or tokenizer; NULL: the default model */
    aoe_table_options table; /* options for reading the files */
    size_t max_length;       /* length in tokens at which a horizontal line is drawn; 0: no line */
} options;

/* The lengths of the texts of one file. */
typedef struct violin {
    double *length;         /* [n] lengths in tokens, owned; in ascending order after the file has been read */
    size_t n, capacity;     /* n: number of lengths; capacity: number of lengths for which memory is allocated */
    double sum;             /* sum of the lengths */
    double quantile[5];     /* quantiles 0, 1/4, 1/2, 3/4 and 1 */
    size_t longer;          /* number of texts longer than max_length */
    double at[POINTS];      /* points (logarithms of lengths) at which the density is computed */
    double density[POINTS]; /* density at the points `at` */
} violin;

typedef struct job {
    const options *o;
    const char *const *path; /* [n] input files, borrowed */
    size_t n;
    aoe_tokenizer *tokenizer; /* tokenizer of the model, owned */
    aoe_encode_options encode;
    aoe_ids ids;     /* token ids of the current text, owned */
    violin *violin;  /* [n] one violin per file, owned */
    violin *reading; /* element of `violin` for the file that is being read */
    char **label;    /* [n] names of the files, owned */
    cli_picture picture;
    cli_progress progress;
    size_t texts; /* number of texts that were read */
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option length_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     AT(model),
     .help = "directory of a model or of a tokenizer",
     .fallback = CLI_DEFAULT_MODEL},
    AOEI_ROW_COLUMNS(AT(table.columns), "NAME,...", "text columns",
                     "all text columns with a name listed in docs/data.md, such as sentence1"),
    {.name = "max-length",
     .kind = AOEI_OPTION_SIZE,
     AT(max_length),
     .min = 1,
     .help = "draw a line at N tokens and report how many texts have more than N tokens",
     .fallback = "none"},
};

/* ---- lengths */

/* Callback of aoe_texts_read. Stores the number of tokens in a text. */
static int take_text(void *user, aoe_text text, aoe_error *err) {
    job *j = user;
    violin *v = j->reading;
    const int code = aoe_tokenizer_encode(j->tokenizer, text, &j->encode, &j->ids, err);
    if (code)
        return code;
    if (v->n == v->capacity) {
        v->capacity = v->capacity ? 2 * v->capacity : 1024;
        v->length = cli_realloc(v->length, v->capacity * sizeof *v->length);
    }
    v->length[v->n++] = (double)j->ids.n;
    v->sum += (double)j->ids.n;
    cli_progress_update(&j->progress, ++j->texts, 0, NULL, -1, NULL);
    return 0;
}

/* Reads file i, sorts the lengths of its texts, and computes their quantiles. */
static int read_file(job *j, size_t i) {
    aoe_error err;
    violin *v = j->reading = &j->violin[i];
    if (aoe_texts_read(j->path[i], &j->o->table, take_text, j, &err))
        return cli_fail("%s", err.message);
    if (v->n == 0)
        return cli_fail("%s: file contains no texts", j->path[i]);
    qsort(v->length, v->n, sizeof *v->length, aoei_compare_doubles);
    for (int q = 0; q < 5; q++)
        v->quantile[q] = aoe_quantile(v->length, v->n, q / 4.0);
    for (size_t k = v->n; j->o->max_length && k > 0 && v->length[k - 1] > (double)j->o->max_length; k--)
        v->longer++;
    return 0;
}

/* ---- densities */

/* Stores the logarithms of at most SAMPLE lengths in `sample`, for the density estimate, and returns their number. On a
 * logarithmic axis, small integers are far apart, so the density would have gaps. To avoid the gaps, texts with the
 * same length l are distributed evenly over [l - 1/2, l + 1/2] before the logarithm is computed. */
static size_t take_sample(const violin *v, double *sample) {
    const size_t m = v->n < SAMPLE ? v->n : SAMPLE;
    size_t first = 0, end;
    for (size_t i = 0; i < m; i++)
        sample[i] = v->length[(size_t)(((double)i + 0.5) * (double)v->n / (double)m)];
    for (; first < m; first = end) {
        /* a length of 0 is replaced by 0.75, because it has no logarithm */
        const double length = sample[first] > 0.5 ? sample[first] : 0.75;
        for (end = first + 1; end < m && sample[end] == sample[first]; end++)
            ;
        for (size_t i = first; i < end; i++)
            /* minus the distance of the text from the lower end of the interval, which has the length 1 */
            sample[i] = -((double)(i - first) + 0.5) / (double)(end - first);
        for (size_t i = first; i < end; i++)
            sample[i] = log(length - 0.5 - sample[i]);
    }
    return m;
}

/* Estimates the density of the log lengths in a file. */
static int estimate(violin *v) {
    double *sample = cli_realloc(NULL, (v->n < SAMPLE ? v->n : SAMPLE) * sizeof *sample);
    aoe_error err;
    const size_t m = take_sample(v, sample);
    double width = aoe_bandwidth(sample, m);
    if (!(width > 0))
        width = 0.05; /* if all lengths are equal, this width makes the curve a narrow peak */
    const double low = log(fmax(v->quantile[0] - 0.5, 0.25)), high = log(v->quantile[4] + 0.5);
    for (int k = 0; k < POINTS; k++)
        v->at[k] = low + (high - low) * k / (POINTS - 1);
    const int failed = aoe_density(sample, m, width, -INFINITY, INFINITY, v->at, POINTS, v->density, &err);
    free(sample);
    return failed ? cli_fail("%s", err.message) : 0;
}

/* ---- the plot */

static void write_data(job *j) {
    for (size_t i = 0; i < j->n; i++) {
        const violin *v = &j->violin[i];
        cli_picture_block(&j->picture, "%s: tokens, their natural logarithm, its density", j->label[i]);
        for (int k = 0; k < POINTS; k++)
            fprintf(j->picture.dat, "%.6g %.6g %.6g\n", exp(v->at[k]), v->at[k], v->density[k]);
    }
    cli_picture_block(&j->picture,
                      "position on the x axis, number of texts, mean, minimum, lower quartile, median, upper quartile, "
                      "maximum, number of texts with more than %zu tokens; one line per file",
                      j->o->max_length);
    for (size_t i = 0; i < j->n; i++) {
        const violin *v = &j->violin[i];
        const double *q = v->quantile;
        fprintf(j->picture.dat, "%zu %zu %.6g %g %g %g %g %g %zu\n", i + 1, v->n, v->sum / (double)v->n, q[0], q[1],
                q[2], q[3], q[4], v->longer);
    }
}

static void write_parameters(job *j) {
    cli_picture *p = &j->picture;
    fprintf(p->gp, "files = %zu\nlimit = %zu\n", j->n, j->o->max_length);
    for (size_t i = 0; i < j->n; i++) {
        const violin *v = &j->violin[i];
        cli_picture_text(p, j->label[i], "label%zu", i + 1);
        fprintf(p->gp, "under%zu = 'n = %zu'\n", i + 1, v->n);
        if (j->o->max_length)
            fprintf(p->gp, "above%zu = '%.2f%% > %zu'\n", i + 1, 100 * (double)v->longer / (double)v->n,
                    j->o->max_length);
    }
}

static void report(const job *j) {
    json_t *list = json_array();
    for (size_t i = 0; i < j->n; i++) {
        const violin *v = &j->violin[i];
        json_t *o = json_pack("{s:o,s:I,s:f,s:f,s:f}", "file", cli_json_text(j->path[i], strlen(j->path[i])), "texts",
                              (json_int_t)v->n, "mean", v->sum / (double)v->n, "median", v->quantile[2], "longest",
                              v->quantile[4]);
        if (j->o->max_length)
            json_object_set_new(o, "longer", json_integer((json_int_t)v->longer));
        json_array_append_new(list, o);
    }
    cli_picture_report(&j->picture, j->o->plot.general.json, json_pack("{s:o}", "files", list));
}

static void job_free(job *j) {
    for (size_t i = 0; i < j->n; i++)
        free(j->violin[i].length);
    free(j->violin);
    cli_picture_labels_free(j->label, j->n);
    aoe_ids_free(&j->ids);
    aoe_tokenizer_close(j->tokenizer);
    cli_picture_close(&j->picture);
}

/* Reads all files and computes the densities of their lengths. */
static int read_files(job *j, const char *dir) {
    aoe_error err;
    if (aoe_tokenizer_open(&j->tokenizer, dir, &err) || aoe_encode_options_of(&j->encode, dir, &err))
        return cli_fail("%s", err.message);
    int failed = 0;
    cli_progress_begin(&j->progress, "reading", "texts", 0);
    for (size_t i = 0; !failed && i < j->n; i++)
        failed = read_file(j, i);
    cli_progress_end(&j->progress);
    for (size_t i = 0; !failed && i < j->n; i++)
        failed = estimate(&j->violin[i]);
    return failed;
}

static int draw(const cli_args *args, const void *user) {
    job j = {.o = user, .encode = {.struct_size = sizeof(aoe_encode_options)}, .path = args->operand, .n = args->n};
    char *dir = cli_find_model(j.o->model);
    if (!dir)
        return 1;
    j.violin = cli_calloc(j.n, sizeof *j.violin);
    j.label = cli_picture_labels(j.path, j.n);
    int failed = cli_picture_open(&j.picture, j.o->plot.output, j.o->plot.title, "lengths",
                                  "densities of the logarithms of texts' lengths in tokens") ||
                 read_files(&j, dir);
    free(dir);
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
    aoe_table_options_defaults(&o.table);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("texts", length_table, &o),
        CLI_TEXT_INPUT_GROUP(&o.table),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot lengths",
        .operands = "FILE... -o NAME",
        .about =
            "Draws a violin plot of the text lengths of each FILE, measured in tokens, with median and quartiles,\n"
            "on a logarithmic axis. A FILE is a table (.tsv, .csv, .jsonl or .json) or contains one text per line\n"
            "(.txt), and may be compressed (.gz or .zst). Special tokens are counted, and texts are not\n"
            "truncated.\n",
        .examples = "  aoe plot lengths examples/train.tsv examples/test.tsv -o lengths\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = MAX_FILES,
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_lengths_command = {
    .name = "lengths",
    .summary = "distribution of text lengths in tokens",
    .run = run_command,
};
