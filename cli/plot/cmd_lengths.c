/* SPDX-License-Identifier: MIT
 * Implements `aoe plot lengths`: draws the distribution of the text lengths in each file as a violin plot, as in figure
 * 3 of the AnglE paper. The axis of the lengths is logarithmic. A length is the number of tokens without truncation,
 * including special tokens. Only the tokenizer of the model is opened.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/plot/plot.h"

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
    size_t block;           /* index of the data block */
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
    size_t summary;  /* index of the data block that contains the quantiles */
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
    CLI_OPTION_COLUMNS(AT(table.columns), "NAME,...", "text columns",
                       "all text columns with a name listed in docs/data.md, such as sentence1"),
    {.name = "max-length",
     .kind = AOEI_OPTION_SIZE,
     AT(max_length),
     .min = 1,
     .help = "draw a line at N tokens and report how many texts have more than N tokens",
     .fallback = "none"},
};

/* ---- lengths */

/* Callback of aoe_texts_read. Stores the number of tokens of a text. */
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

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Reads file i, sorts the lengths of its texts, and computes their quantiles. */
static int read_file(job *j, size_t i) {
    aoe_error err;
    violin *v = j->reading = &j->violin[i];
    if (aoe_texts_read(j->path[i], &j->o->table, take_text, j, &err))
        return cli_fail("%s", err.message);
    if (v->n == 0)
        return cli_fail("%s: file contains no texts", j->path[i]);
    qsort(v->length, v->n, sizeof *v->length, compare);
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

/* Estimates the density of the logarithms of the lengths of a file. */
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
        violin *v = &j->violin[i];
        v->block = cli_picture_block(&j->picture, "%s: tokens, their natural logarithm, its density", j->label[i]);
        for (int k = 0; k < POINTS; k++)
            fprintf(j->picture.dat, "%.6g %.6g %.6g\n", exp(v->at[k]), v->at[k], v->density[k]);
    }
    j->summary = cli_picture_block(
        &j->picture,
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

/* Writes the labels of the axes: the names of the files on the x axis, and powers of two on the y axis. */
static void write_tics(const job *j) {
    FILE *gp = j->picture.gp;
    double low = 1e9, high = 1;
    for (size_t i = 0; i < j->n; i++) {
        low = fmin(low, j->violin[i].quantile[0]);
        high = fmax(high, j->violin[i].quantile[4]);
    }
    fputs("set xtics (", gp);
    for (size_t i = 0; i < j->n; i++) {
        fputs(i ? ", " : "", gp);
        cli_gp_tic(gp, j->label[i]);
        fprintf(gp, " %zu", i + 1);
    }
    fputs(") scale 0\nset ytics (", gp);
    const char *between = "";
    for (int power = 0; power < 40; power++) {
        const double tic = ldexp(1, power);
        if (tic < low / 2 || tic > 2 * high)
            continue;
        fprintf(gp, "%s%g", between, tic);
        between = ", ";
    }
    fprintf(gp, ")\nset yrange [%g:%g]\n", fmax(low, 0.5) / 1.25, high * 1.25);
}

/* Writes the labels of each violin: the number of texts and the median. With --max-length, also writes the horizontal
 * line and the percentage of longer texts. */
static void write_labels(const job *j) {
    FILE *gp = j->picture.gp;
    for (size_t i = 0; i < j->n; i++) {
        const violin *v = &j->violin[i];
        fprintf(gp, "set label 'n = %zu' at %zu, graph -0.105 center\n", v->n, i + 1);
        fprintf(gp, "set label '%g' at %g, %g left front\n", v->quantile[2], (double)i + 1.05, v->quantile[2]);
        if (j->o->max_length)
            fprintf(gp, "set label '%.2f%% > %zu' at %zu, graph 1.04 center\n", 100 * (double)v->longer / (double)v->n,
                    j->o->max_length, i + 1);
    }
    if (j->o->max_length)
        fprintf(
            gp,
            "set arrow from graph 0, first %zu to graph 1, first %zu nohead front dt (6,4) lw 1.5 lc rgb '#d55e00'\n",
            j->o->max_length, j->o->max_length);
}

/* Writes the plot command. For each file, it draws the density and its mirror image. Then it draws the quartiles and
 * the medians of all files. */
static void write_violins(const job *j) {
    FILE *gp = j->picture.gp;
    double peak = 0;
    for (size_t i = 0; i < j->n; i++)
        for (int k = 0; k < POINTS; k++)
            peak = fmax(peak, j->violin[i].density[k]);
    const double half = 0.42 / peak;
    fputs("plot \\\n", gp);
    for (size_t i = 0; i < j->n; i++) {
        const size_t b = j->violin[i].block, x = i + 1;
        fprintf(gp, "    data index %zu using (%zu + %.4g * $3):1 with filledcurves x1=%zu fc rgb '#9cc7e4', \\\n", b,
                x, half, x);
        fprintf(gp, "    '' index %zu using (%zu - %.4g * $3):1 with filledcurves x1=%zu fc rgb '#9cc7e4', \\\n", b, x,
                half, x);
        fprintf(gp, "    '' index %zu using (%zu + %.4g * $3):1 with lines lc rgb '#204a70', \\\n", b, x, half);
        fprintf(gp, "    '' index %zu using (%zu - %.4g * $3):1 with lines lc rgb '#204a70', \\\n", b, x, half);
        /* a vertical line in the fill color, which hides the border between the two halves of the violin */
        fprintf(gp, "    '' index %zu using (%zu):1 with lines lc rgb '#9cc7e4', \\\n", b, x);
    }
    fprintf(gp,
            "    data index %zu using 1:5:(0):($7 - $5) with vectors nohead lw 6 lc rgb '#204a70', \\\n"
            "    '' index %zu using 1:6 with points pt 7 ps 1.1 lc rgb 'white', \\\n"
            "    '' index %zu using 1:6 with points pt 6 ps 1.1 lc rgb '#204a70'\n",
            j->summary, j->summary, j->summary);
}

static void write_script(job *j) {
    FILE *gp = j->picture.gp;
    fputs("title = ", gp);
    cli_gp_string(gp, j->o->plot.title);
    putc('\n', gp);
    size_t longest = 0;
    for (size_t i = 0; i < j->n; i++)
        longest = strlen(j->label[i]) > longest ? strlen(j->label[i]) : longest;
    const int each = longest < 18 ? 150 : longest < 40 ? 8 * (int)longest + 10 : 330, width = 130 + each * (int)j->n;
    cli_picture_begin(&j->picture, width > 480 ? width : 480, 460);
    fprintf(gp,
            "set title title offset 0,%s\nunset key\nset logscale y\nset xrange [0.45:%zu.55]\nset bmargin "
            "4\nset tmargin %s\nset ylabel 'tokens per text'\nset grid ytics back lt 1 lw 0.5 lc rgb "
            "'#d8d8d8'\n",
            j->o->max_length ? "1.2" : "0", j->n, *j->o->plot.title ? "4" : "2.5");
    write_tics(j);
    write_labels(j);
    write_violins(j);
    cli_picture_end(&j->picture);
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

static int draw(job *j) {
    aoe_error err;
    char *dir = cli_find_model(j->o->model);
    if (!dir)
        return 1;
    int failed =
        cli_picture_open(&j->picture, j->o->plot.output, "densities of the logarithms of texts' lengths in tokens");
    if (!failed && (aoe_tokenizer_open(&j->tokenizer, dir, &err) || aoe_encode_options_of(&j->encode, dir, &err)))
        failed = cli_fail("%s", err.message);
    free(dir);
    cli_progress_begin(&j->progress, "reading", "texts", 0);
    for (size_t i = 0; !failed && i < j->n; i++)
        failed = read_file(j, i);
    cli_progress_end(&j->progress);
    for (size_t i = 0; !failed && i < j->n; i++)
        failed = estimate(&j->violin[i]);
    if (failed)
        return failed;
    write_data(j);
    write_script(j);
    if (cli_picture_draw(&j->picture, 0))
        return 1;
    report(j);
    return 0;
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

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_plot_defaults(&o.plot);
    aoe_table_options_defaults(&o.table);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("texts", length_table, &o),
        CLI_TEXT_INPUT_GROUP(&o.table),
        {"general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general},
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
    cli_args args;
    int code = cli_plot_parse(&args, &syntax, &o.plot, argc, argv);
    if (code == CLI_GO) {
        job j = {.o = &o, .encode = {.struct_size = sizeof(aoe_encode_options)}, .path = args.operand, .n = args.n};
        j.violin = cli_calloc(j.n, sizeof *j.violin);
        j.label = cli_picture_labels(j.path, j.n);
        code = draw(&j);
        job_free(&j);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_plot_lengths_command = {
    .name = "lengths",
    .summary = "distribution of text lengths in tokens",
    .run = run_command,
};
