/* SPDX-License-Identifier: MIT
 * Implements `aoe plot density`: plots the distribution of the cosines of scored pairs, as in figure 5 of the AnglE
 * paper. The gold scores are rounded to six values, which divide the pairs into six groups. The plot shows one
 * distribution per group and model, and the distribution of the gold scores. Groups without pairs are omitted.
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
    GROUPS = 6,        /* number of groups of pairs */
    ROWS = GROUPS + 1, /* number of rows in a panel: one row per group, and one row for all pairs */
    POINTS = 201,      /* number of points at which a density is computed */
    BATCH = 2048,      /* number of pairs that are embedded at a time */
    MAX_MODELS = 8
};

typedef struct models {
    const char *dir[MAX_MODELS]; /* [n] model directories as given on the command line, borrowed */
    size_t n;
} models;

typedef struct scale {
    double low, high; /* minimum and maximum gold score; low is NaN if they must be determined from the labels */
} scale;

typedef struct options {
    cli_plot_options plot;
    cli_model_options model; /* options that apply to all models; its field `dir` is not used */
    models models;
    aoe_table_options table;
    scale scale;
} options;

/* A panel of the plot: one value per pair, and for each row the density of the values of its pairs. */
typedef struct column {
    const char *label; /* title of the panel, borrowed */
    double *value;     /* [n] cosines or gold scores, owned */
    double low, high;  /* minimum and maximum possible value */
    double begin, end; /* minimum and maximum value that is drawn */
    double spearman; /* Spearman correlation of the values with the gold scores; NaN in the panel of the gold scores */
    double *density; /* [ROWS, POINTS] densities, owned */
    double median[ROWS]; /* median of the values of each row */
} column;

typedef struct job {
    const options *o;
    const char *path; /* path of the file with the pairs, borrowed */
    aoe_pairs *pairs; /* scored pairs, owned */
    size_t n;
    double *gold;      /* [n] gold scores, owned */
    int *group;        /* [n] index of the group of each pair, owned */
    size_t size[ROWS]; /* number of pairs in each row */
    scale scale;       /* minimum and maximum gold score */
    column *column;    /* [columns] one panel per model, then the panel of the gold scores; owned */
    size_t columns;    /* number of panels */
    char **label;      /* [columns - 1] titles of the panels of the models, owned */
    cli_picture picture;
} job;

/* Parses the value of one --model option and adds the model; the option may be repeated. */
static int parse_model(void *target, const char *text, aoe_error *err) {
    models *m = target;
    if (m->n == MAX_MODELS) {
        err->code = AOE_EARG;
        snprintf(err->message, sizeof err->message, "too many models; at most %d fit into a plot", MAX_MODELS);
        return err->code;
    }
    m->dir[m->n++] = text;
    return 0;
}

/* Parses the value LOW,HIGH of the option --scale. */
static int parse_scale(void *target, const char *text, aoe_error *err) {
    scale *s = target;
    char *end = NULL;
    s->low = strtod(text, &end);
    if (end != text && *end == ',') {
        const char *second = end + 1;
        s->high = strtod(second, &end);
        if (end != second && !*end && isfinite(s->low) && isfinite(s->high) && s->low < s->high)
            return 0;
    }
    err->code = AOE_EARG;
    snprintf(err->message, sizeof err->message, "expected LOW,HIGH with LOW below HIGH, not '%.100s'", text);
    return err->code;
}

#define AT(field) .offset = offsetof(options, field)

static const aoei_option density_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_NAMED,
     .value = "DIR",
     AT(models),
     .parse = parse_model,
     .help = "model directory; repeat this option to plot several models side by side",
     .fallback = CLI_DEFAULT_MODEL},
    {.name = "scale",
     .kind = AOEI_OPTION_NAMED,
     .value = "LOW,HIGH",
     AT(scale),
     .parse = parse_scale,
     .help = "lowest and highest possible gold score",
     .fallback = "0,1 if no label is above 1, otherwise 0,5"},
};

/* ---- values */

static double *new_doubles(size_t n) {
    return cli_realloc(NULL, n * sizeof(double));
}

/* Reports an error of aoe_embed, with the file and the line of the text that caused the error. first: index of the
 * first pair of the batch. */
static int fail_embed(const job *j, const aoe_embedder *e, size_t first, const aoe_error *err) {
    const size_t text = aoe_embed_failed_text(e);
    if (text == (size_t)-1)
        return cli_fail("%s", err->message);
    return cli_fail("%s:%zu: text%zu: %s", j->path, aoe_pairs_line(j->pairs, first + text / 2), text % 2 + 1,
                    err->message);
}

/* Writes the cosine of each pair to cosine[n]. */
static int embed_pairs(const job *j, const cli_session *s, double *cosine) {
    const size_t dims = aoe_model_dims(s->model), batch = j->n < BATCH ? j->n : BATCH;
    aoe_text *text = cli_realloc(NULL, 2 * batch * sizeof *text);
    float *vectors = cli_realloc(NULL, 2 * batch * dims * sizeof *vectors);
    cli_progress progress;
    aoe_error err;
    int failed = 0;
    cli_progress_begin(&progress, "embedding", "pairs", 0);
    for (size_t first = 0; !failed && first < j->n; first += batch) {
        const size_t n = j->n - first < batch ? j->n - first : batch;
        for (size_t i = 0; i < n; i++) {
            text[2 * i] = aoe_pairs_text1(j->pairs, first + i);
            text[2 * i + 1] = aoe_pairs_text2(j->pairs, first + i);
        }
        failed = aoe_embed(s->embedder, text, 2 * n, vectors, NULL, &err) && fail_embed(j, s->embedder, first, &err);
        for (size_t i = 0; !failed && i < n; i++)
            cosine[first + i] = aoe_cosine(vectors + 2 * i * dims, vectors + (2 * i + 1) * dims, dims);
        cli_progress_update(&progress, first + n, j->n, NULL, -1, NULL);
    }
    cli_progress_end(&progress);
    free(text);
    free(vectors);
    return failed;
}

/* Computes the cosines of all pairs with model i, and their correlation with the gold scores. */
static int fill_model(job *j, size_t i) {
    cli_model_options m = j->o->model;
    cli_session s = {0};
    column *c = &j->column[i];
    m.dir = j->o->models.n ? j->o->models.dir[i] : NULL;
    c->value = new_doubles(j->n);
    int failed = cli_session_open(&s, &j->o->plot.general, &m);
    if (!failed) {
        cli_session_describe(&s, 1);
        failed = embed_pairs(j, &s, c->value);
    }
    if (!failed && !j->o->models.n) {
        const char *const dir = s.dir;
        j->label = cli_picture_labels(&dir, 1);
    }
    cli_session_close(&s);
    c->spearman = failed ? NAN : aoe_spearman(c->value, j->gold, j->n);
    c->low = -1;
    c->high = 1;
    return failed;
}

/* Sets the range of cosines that is drawn. It is equal for all models and wide enough for the densities of all
 * models. */
static void set_ranges(job *j) {
    double lowest = 1;
    for (size_t c = 0; c + 1 < j->columns; c++) {
        const double width = aoe_bandwidth(j->column[c].value, j->n), margin = width > 0 ? 3 * width : 0.05;
        for (size_t i = 0; i < j->n; i++)
            lowest = fmin(lowest, j->column[c].value[i] - margin);
    }
    for (size_t c = 0; c + 1 < j->columns; c++) {
        j->column[c].begin = fmax(-1, floor(10 * lowest) / 10);
        j->column[c].end = 1;
    }
}

/* Reads the pairs, determines the minimum and maximum gold score, and assigns each pair to a group. The centers of the
 * groups are GROUPS equally spaced scores; a pair is in the group with the nearest center. */
static int load(job *j) {
    aoe_table_options table = j->o->table;
    aoe_error err;
    table.allow_empty = 1;
    if (aoe_pairs_load(&j->pairs, j->path, &table, &err))
        return cli_fail("%s", err.message);
    j->n = aoe_pairs_count(j->pairs);
    cli_warn_skipped(j->path, aoe_pairs_skipped(j->pairs));
    j->scale = j->o->scale;
    if (isnan(j->scale.low)) {
        j->scale = (scale){0, 1};
        for (size_t i = 0; i < j->n; i++)
            if (aoe_pairs_label(j->pairs, i) > 1)
                j->scale.high = 5;
    }
    j->gold = new_doubles(j->n);
    j->group = cli_realloc(NULL, j->n * sizeof *j->group);
    for (size_t i = 0; i < j->n; i++) {
        const double r = aoe_pairs_label(j->pairs, i);
        if (!(r >= j->scale.low && r <= j->scale.high))
            return cli_fail("%s:%zu: gold score %g is not between %g and %g; set the range with --scale LOW,HIGH",
                            j->path, aoe_pairs_line(j->pairs, i), r, j->scale.low, j->scale.high);
        j->gold[i] = r;
        j->group[i] = (int)floor((r - j->scale.low) / (j->scale.high - j->scale.low) * (GROUPS - 1) + 0.5);
        j->size[j->group[i]]++;
        j->size[GROUPS]++;
    }
    return 0;
}

/* ---- densities */

/* Copies the values of the pairs of a row to `chosen` and returns their number. */
static size_t choose(const job *j, const column *c, int row, double *chosen) {
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++)
        if (row == GROUPS || j->group[i] == row)
            chosen[n++] = c->value[i];
    return n;
}

/* For each row of a panel, estimates the density and computes the median of the values. */
static int fill_densities(job *j, column *c) {
    double *chosen = new_doubles(j->n), at[POINTS];
    aoe_error err;
    int failed = 0;
    c->density = new_doubles((size_t)ROWS * POINTS);
    for (int k = 0; k < POINTS; k++)
        at[k] = c->begin + (c->end - c->begin) * k / (POINTS - 1);
    for (int row = 0; !failed && row < ROWS; row++) {
        const size_t n = choose(j, c, row, chosen);
        double width = n ? aoe_bandwidth(chosen, n) : 1;
        if (!(width > 0.5 * (c->end - c->begin) / (POINTS - 1)))
            /* if all values are nearly equal, this width makes the curve a narrow but visible peak */
            width = (c->end - c->begin) / 100;
        double *density = c->density + row * POINTS;
        failed = n && aoe_density(chosen, n, width, c->low, c->high, at, POINTS, density, &err);
        c->median[row] = aoe_quantile(chosen, n, 0.5);
    }
    free(chosen);
    return failed ? cli_fail("%s", err.message) : 0;
}

/* ---- the plot */

/* Writes the name of a row: the gold score at the center of its group, or "all". */
static void row_name(const job *j, int row, char out[32]) {
    if (row == GROUPS)
        snprintf(out, 32, "all");
    else
        snprintf(out, 32, "%g", j->scale.low + (j->scale.high - j->scale.low) * row / (GROUPS - 1));
}

/* Returns the y coordinate of the base line of a row. Rows without pairs take no space. A gap separates the row of all
 * pairs from the rows of the groups. */
static double base_line(const job *j, int row) {
    double y = row == GROUPS ? 0.6 : 0;
    for (int below = 0; below < row; below++)
        y += j->size[below] > 0;
    return y;
}

/* Returns 1 if, within each group, all gold scores are equal, as with binary labels. In this case the panel of the gold
 * scores is omitted, because its densities would be spikes. */
static int gold_is_discrete(const job *j) {
    double value[GROUPS];
    for (int k = 0; k < GROUPS; k++)
        value[k] = NAN;
    for (size_t i = 0; i < j->n; i++) {
        double *first = &value[j->group[i]];
        if (isnan(*first))
            *first = j->gold[i];
        if (j->gold[i] < *first || j->gold[i] > *first)
            return 0;
    }
    return 1;
}

static void write_data(job *j) {
    char name[32];
    for (size_t k = 0; k < j->columns; k++) {
        const column *c = &j->column[k];
        const char *columns = k + 1 < j->columns ? "cosine, density" : "gold score, density";
        for (int row = 0; row < ROWS; row++) {
            if (!j->size[row])
                continue;
            row_name(j, row, name);
            if (row == GROUPS)
                cli_picture_block(&j->picture, "%s, density of all %zu pairs: %s", c->label, j->size[row], columns);
            else
                cli_picture_block(&j->picture, "%s, density of the pairs with a gold score near %s (%zu): %s", c->label,
                                  name, j->size[row], columns);
            for (int i = 0; i < POINTS; i++)
                fprintf(j->picture.dat, "%.6g %.6g\n", c->begin + (c->end - c->begin) * i / (POINTS - 1),
                        c->density[row * POINTS + i]);
        }
        cli_picture_block(&j->picture,
                          "%s, medians: median, y coordinate of the row, gold score of the row, number of pairs",
                          c->label);
        for (int row = 0; row < ROWS; row++) {
            row_name(j, row, name);
            if (j->size[row])
                fprintf(j->picture.dat, "%.6g %g %s %zu\n", c->median[row], base_line(j, row), name, j->size[row]);
        }
    }
}

static void write_parameters(job *j) {
    cli_picture *p = &j->picture;
    char base[ROWS * 8] = "", group[ROWS * 8] = "", name[32];
    size_t rows = 0;
    for (int row = 0; row < ROWS; row++) {
        if (!j->size[row])
            continue;
        row_name(j, row, name);
        cli_picture_text(p, name, "row%zu", ++rows);
        snprintf(base + strlen(base), sizeof base - strlen(base), "%s%g", rows > 1 ? " " : "", base_line(j, row));
        snprintf(group + strlen(group), sizeof group - strlen(group), "%s%d", rows > 1 ? " " : "", row + 1);
    }
    const int discrete = gold_is_discrete(j);
    fprintf(p->gp, "rows = %zu\nbase = '%s'\ngroup = '%s'\npanels = %zu\ngold = %zu\n", rows, base, group,
            j->columns - (size_t)discrete, discrete ? 0 : j->columns);
    for (size_t k = 0; k < j->columns; k++) {
        const column *c = &j->column[k];
        cli_picture_text(p, c->label, "title%zu", k + 1);
        if (isfinite(c->spearman))
            fprintf(p->gp, "note%zu = 'Spearman %.2f'\n", k + 1, 100 * c->spearman);
        else
            fprintf(p->gp, "note%zu = '%zu pair%s'\n", k + 1, j->n, cli_plural(j->n));
    }
}

static void report(const job *j) {
    json_t *list = json_array();
    for (size_t k = 0; k + 1 < j->columns; k++) {
        const column *c = &j->column[k];
        json_array_append_new(list, json_pack("{s:o,s:o}", "model", cli_json_text(c->label, strlen(c->label)),
                                              "spearman", cli_json_real(c->spearman)));
    }
    cli_picture_report(&j->picture, j->o->plot.general.json,
                       json_pack("{s:I,s:o}", "pairs", (json_int_t)j->n, "models", list));
}

static void job_free(job *j) {
    for (size_t i = 0; j->column && i < j->columns; i++) {
        free(j->column[i].value);
        free(j->column[i].density);
    }
    cli_picture_labels_free(j->label, j->columns ? j->columns - 1 : 0);
    free(j->column);
    free(j->gold);
    free(j->group);
    aoe_pairs_free(j->pairs);
    cli_picture_close(&j->picture);
}

/* Computes the values and densities of all panels. */
static int fill_columns(job *j) {
    const models *m = &j->o->models;
    int failed = 0;
    j->columns = (m->n ? m->n : 1) + 1;
    j->column = cli_calloc(j->columns, sizeof *j->column);
    if (m->n)
        j->label = cli_picture_labels(m->dir, m->n);
    for (size_t i = 0; !failed && i + 1 < j->columns; i++) {
        failed = fill_model(j, i);
        j->column[i].label = failed ? NULL : j->label[i];
    }
    if (failed)
        return 1;
    set_ranges(j);
    column *gold = &j->column[j->columns - 1];
    *gold = (column){.label = "gold scores", .value = new_doubles(j->n), .spearman = NAN};
    memcpy(gold->value, j->gold, j->n * sizeof *gold->value);
    gold->low = gold->begin = j->scale.low;
    gold->high = gold->end = j->scale.high;
    for (size_t i = 0; !failed && i < j->columns; i++)
        failed = fill_densities(j, &j->column[i]);
    return failed;
}

static int draw(const cli_args *args, const void *user) {
    job j = {.o = user, .path = args->operand[0]};
    int failed = cli_picture_open(&j.picture, j.o->plot.output, j.o->plot.title, "density",
                                  "densities of cosines by gold score, and of the gold scores") ||
                 load(&j) || fill_columns(&j);
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
    options o = {.scale = {NAN, NAN}};
    cli_plot_defaults(&o.plot);
    aoe_table_options_defaults(&o.table);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("densities", density_table, &o),
        CLI_COLUMNS_GROUP("table", &o.table),
        CLI_TABLE_INPUT_GROUP(&o.table),
        CLI_ROWS("models", cli_model_table + 1, CLI_MODEL_COUNT - 1, &o.model),
        CLI_OPENING_GROUP("models", AOEI_MODEL_ROWS, &o.model),
        CLI_BATCH_GROUP("models", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot density",
        .operands = "FILE -o NAME",
        .about = "Plots distributions of cosines for pairs with different gold scores. FILE has the columns text1,\n"
                 "text2 and label (.tsv, .csv, .jsonl or .json, optionally compressed); the label is the gold\n"
                 "score. The pairs are divided into six groups by gold score. For each group, the plot shows the\n"
                 "distribution of the cosines that each model computes and, in a separate panel, the distribution of\n"
                 "the gold scores. The distributions are kernel density estimates with Gaussian kernels and\n"
                 "Silverman's bandwidth.\n",
        .examples = "  aoe plot density -m before -m after examples/test.tsv -o density\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_density_command = {
    .name = "density",
    .summary = "distributions of cosines, grouped by gold score",
    .run = run_command,
};
