/* SPDX-License-Identifier: MIT
 * Implements `aoe grid`: trains a model for every combination of option values and every seed, and ranks the
 * combinations by their mean score. The library function aoe_grid runs the training; this file creates the list of
 * combinations and prints the result.
 */
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/common/dispatch.h"
#include "cli/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One axis of the grid: an option of aoe train and the values that are tried. */
typedef struct axis {
    const aoei_option *option; /* borrowed */
    cli_words value;           /* values as texts; "on" and "off" if the option is a flag */
} axis;

typedef struct options {
    aoei_text_list over; /* searched options as texts "NAME=VALUES" */
    const char *score;   /* evaluation file whose score is used; NULL: the best score on the dev set is used */
    aoe_grid_options g;
    cli_experiment e;
} options;

static const aoei_option table[] = {
    {.name = "over",
     .kind = AOEI_OPTION_TEXTS,
     .value = "OPTION=VALUES...",
     .offset = offsetof(options, over),
     .help = "an option of aoe train and the values to try, for example lr=1e-5,3e-5. The values are separated by "
             "commas, or by ; if a value contains a comma. lin:FROM:TO:N means N values with equal differences, and "
             "log:FROM:TO:N means N values with equal ratios. on,off are the values of a flag. If several options are "
             "given, all combinations of their values are tried",
     .fallback = ""},
    {.name = "score",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, score),
     .help = "score each run by the Spearman correlation of its model on this table or SentEval directory",
     .fallback = "score by the best Spearman correlation on the --dev file during training"},
    {.name = "skip-rejected",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, e.skip_rejected),
     .help = "skip combinations that aoe train rejects, for example those in which all loss weights (--w-...) are 0"},
    {.name = "skip-refused", .kind = AOEI_OPTION_FLAG, .offset = offsetof(options, e.skip_rejected)},
};

/* ---- values */

static int is_number(const aoei_option *o) {
    return o->kind == AOEI_OPTION_SIZE || o->kind == AOEI_OPTION_REAL;
}

/* Adds the N values of a range lin:FROM:TO:N or log:FROM:TO:N. The values are rounded to six significant digits.
 * Returns CLI_GO, or the exit code after reporting an error. */
static int add_range(axis *a, const char *item) {
    enum { MOST = 10000 };
    double from, to;
    size_t n;
    char rest;
    const int logarithmic = item[1] == 'o';
    if (!is_number(a->option))
        return cli_usage("grid", "--over %s: '%s' is a range, but --%s does not take numbers", a->option->name, item,
                         a->option->name);
    if (sscanf(item + 4, "%lf:%lf:%zu%c", &from, &to, &n, &rest) != 3 || n < 1 || n > MOST || !isfinite(from) ||
        !isfinite(to) || (logarithmic && !(from > 0 && to > 0)))
        return cli_usage("grid", "--over %s: '%s' is not a valid range; write %.3s:FROM:TO:N with %sN from 1 to %d",
                         a->option->name, item, item, logarithmic ? "FROM and TO above 0 and " : "", MOST);
    for (size_t i = 0; i < n; i++) {
        const double part = n > 1 ? (double)i / (double)(n - 1) : 0;
        const double value = logarithmic ? from * pow(to / from, part) : from + part * (to - from);
        cli_words_add(&a->value, a->option->kind == AOEI_OPTION_SIZE ? "%.0f" : "%.6g", value);
    }
    return CLI_GO;
}

static json_t *json_value(const aoei_option *o, const char *text) {
    char *end = NULL;
    const double number = strtod(text, &end);
    if (o->kind == AOEI_OPTION_FLAG)
        return json_boolean(strcmp(text, "on") == 0);
    if (!is_number(o) || end == text || *end || !isfinite(number))
        return cli_json_text(text, strlen(text));
    const int is_whole = o->kind == AOEI_OPTION_SIZE && fabs(number) < 1e15 && fabs(number - rint(number)) <= 0;
    return is_whole ? json_integer((json_int_t)number) : json_real(number);
}

/* Rejects an axis with two equal values, because a configuration would be trained twice. Returns CLI_GO, or the exit
 * code after reporting an error. */
static int check_distinct(const axis *a) {
    json_t *values = json_array();
    int code = CLI_GO;
    for (size_t i = 0; i < a->value.n && code == CLI_GO; i++) {
        json_array_append_new(values, json_value(a->option, a->value.word[i]));
        for (size_t k = 0; k < i && code == CLI_GO; k++)
            if (json_equal(json_array_get(values, k), json_array_get(values, i)))
                code = cli_usage("grid", "--over %s: %s and %s are equal values; remove one", a->option->name,
                                 a->value.word[k], a->value.word[i]);
    }
    json_decref(values);
    return code;
}

/* Parses `text`, which has the form "NAME=VALUES", and sets *a. `first` is the first element of the array that contains
 * *a; the elements before *a must have other options. Returns CLI_GO, or the exit code after reporting an error. */
static int read_axis(const cli_experiment *e, const axis *first, axis *a, const char *text) {
    const size_t length = strcspn(text, "=");
    if (!text[length] || !text[length + 1])
        return cli_usage("grid", "--over %s: write OPTION=VALUE,VALUE...", text);
    char *name = cli_format("%.*s", (int)length, text);
    a->option = cli_experiment_option(e, "--over", name);
    free(name);
    if (!a->option)
        return 2;
    for (const axis *other = first; other < a; other++)
        if (other->option == a->option)
            return cli_usage("grid", "--over %s: this option is given twice; give all its values in one list",
                             a->option->name);
    char *list = cli_strdup(text + length + 1), *rest = list;
    const char *separator = strchr(list, ';') ? ";" : ",";
    int code = CLI_GO;
    for (char *item = strsep(&rest, separator); item && code == CLI_GO; item = strsep(&rest, separator)) {
        if (strncmp(item, "lin:", 4) == 0 || strncmp(item, "log:", 4) == 0)
            code = add_range(a, item);
        else if (a->option->kind == AOEI_OPTION_FLAG && strcmp(item, "on") != 0 && strcmp(item, "off") != 0)
            code = cli_usage("grid", "--over %s: '%s' is neither on nor off", a->option->name, item);
        else
            cli_words_add(&a->value, "%s", item);
    }
    free(list);
    return code == CLI_GO ? check_distinct(a) : code;
}

/* ---- configurations */

typedef struct grid {
    cli_experiment *e;
    axis *axes; /* [n_axes] searched options, owned */
    size_t n_axes;
} grid;

/* Appends the options of `aoe train` for a configuration to `args`. value: [n_axes] the configuration has the value
 * with index value[k] on axis k. */
static void add_arguments(const grid *g, const size_t *value, cli_words *args) {
    for (size_t k = 0; k < g->n_axes; k++) {
        const aoei_option *o = g->axes[k].option;
        const char *text = g->axes[k].value.word[value[k]];
        if (o->kind != AOEI_OPTION_FLAG)
            cli_words_add(args, "--%s=%s", o->name, text);
        else if (strcmp(text, "on") == 0)
            cli_words_add(args, "--%s", o->name);
    }
}

/* Returns the name of a configuration, for example "w-angle=1 lr=5e-05". The caller frees it with free(). */
static char *configuration_name(const grid *g, const size_t *value, const char *separator) {
    char *text = cli_strdup("");
    for (size_t k = 0; k < g->n_axes; k++) {
        char *longer =
            cli_format("%s%s%s=%s", text, k ? separator : "", g->axes[k].option->name, g->axes[k].value.word[value[k]]);
        free(text);
        text = longer;
    }
    return text;
}

/* Returns the values of a configuration as JSON, for example {"w-angle":1,"lr":5e-05}. The caller frees them with
 * free(). */
static char *configuration_values(const grid *g, const size_t *value) {
    json_t *values = json_object();
    for (size_t k = 0; k < g->n_axes; k++)
        json_object_set_new(values, g->axes[k].option->name,
                            json_value(g->axes[k].option, g->axes[k].value.word[value[k]]));
    char *text = aoei_json_text(values, JSON_COMPACT);
    char *copy = cli_strdup(text ? text : "{}");
    aoei_free(text);
    json_decref(values);
    return copy;
}

static int add_configuration(const grid *g, const size_t *value) {
    cli_words words = {0};
    int added;
    add_arguments(g, value, &words);
    const int code = cli_experiment_add(g->e, configuration_name(g, value, "_"), configuration_name(g, value, " "),
                                        configuration_values(g, value), &words, 0, &added);
    cli_words_free(&words);
    return code;
}

/* Adds every combination of values as a configuration. The value of the last axis changes fastest. */
static int add_configurations(const grid *g) {
    enum { MOST = 100000 };
    size_t combinations = 1, *value = cli_calloc(g->n_axes, sizeof *value);
    for (size_t k = 0; k < g->n_axes; k++)
        combinations = combinations > MOST ? combinations : combinations * g->axes[k].value.n;
    int code = combinations * g->e->n_seeds > MOST
                   ? cli_usage("grid", "more than %d runs; give fewer values or seeds", MOST)
                   : CLI_GO;
    for (size_t i = 0; code == CLI_GO && i < combinations; i++) {
        size_t rest = i;
        for (size_t k = g->n_axes; k-- > 0;) {
            value[k] = rest % g->axes[k].value.n;
            rest /= g->axes[k].value.n;
        }
        code = add_configuration(g, value);
    }
    if (code == CLI_GO && !g->e->n)
        code = cli_usage("grid", "aoe train rejects all %zu combinations", combinations);
    free(value);
    return code;
}

/* ---- result */

/* Returns a shell command that trains the best configuration with its best seed. The caller frees the command with
 * free(). */
static char *best_command(const cli_experiment *e, const aoe_grid_result *r) {
    cli_words w = {0};
    cli_words_add(&w, "aoe");
    cli_words_add(&w, "train");
    cli_words_append(&w, &e->parsed[r->rows[r->best]->configuration].words);
    cli_words_add(&w, "--seed=%llu", (unsigned long long)e->seed[r->best_seed]);
    cli_words_add(&w, "-o");
    cli_words_add(&w, "model");
    char *text = cli_words_command(&w);
    cli_words_free(&w);
    return text;
}

static json_t *values_of(const cli_experiment *e, size_t configuration) {
    return json_loads(e->configuration[configuration].values, 0, NULL);
}

static void print_json(const cli_experiment *e, const aoe_grid_result *r) {
    for (size_t i = 0; i < r->n; i++) {
        const aoe_grid_row *row = r->rows[i];
        json_t *seeds = json_array(), *scores = json_array();
        for (size_t s = 0; s < e->n_seeds; s++) {
            json_array_append_new(seeds, json_integer((json_int_t)e->seed[s]));
            json_array_append_new(scores, cli_json_real(row->score[s]));
        }
        cli_print_json(json_pack("{s:o,s:o,s:o,s:o,s:o}", "point", values_of(e, row->configuration), "seeds", seeds,
                                 "scores", scores, "mean", cli_json_real(row->statistics.mean), "sd",
                                 cli_json_real(row->statistics.sd)));
    }
    if (r->best == r->n)
        return;
    const aoe_grid_row *best = r->rows[r->best];
    char *command = best_command(e, r);
    cli_print_json(json_pack("{s:o,s:o,s:o}", "best", values_of(e, best->configuration), "mean",
                             cli_json_real(best->statistics.mean), "command", cli_json_text(command, strlen(command))));
    free(command);
    if (!r->best_run_label)
        return;
    cli_print_json(json_pack("{s:{s:o,s:I},s:o,s:o}", "best_run", "point", values_of(e, r->best_run_configuration),
                             "seed", (json_int_t)r->best_run_seed, "score", cli_json_real(r->best_run_score), "model",
                             cli_json_text(r->best_run_model, strlen(r->best_run_model))));
}

static void add_row(cli_table *t, const grid *g, const aoe_grid_row *row) {
    json_t *values = values_of(g->e, row->configuration);
    for (size_t k = 0; k < g->n_axes; k++) {
        char *text = cli_json_value_text(json_object_get(values, g->axes[k].option->name));
        cli_table_cell(t, "%s", text);
        free(text);
    }
    json_decref(values);
    cli_experiment_seeds_cell(t, row->statistics.n, g->e->n_seeds);
    char mean[32], sd[32];
    cli_format_score(mean, 100 * row->statistics.mean);
    cli_format_score(sd, 100 * row->statistics.sd);
    cli_table_cell(t, "%s", mean);
    cli_table_cell(t, "%s", sd);
}

static void print_table(const grid *g, const aoe_grid_result *r) {
    char *align = cli_realloc(NULL, g->n_axes + 4);
    cli_table t;
    memset(align, 'r', g->n_axes + 3);
    align[g->n_axes + 3] = 0;
    cli_table_begin(&t, align);
    for (size_t k = 0; k < g->n_axes; k++)
        cli_table_cell(&t, "%s", g->axes[k].option->name);
    cli_table_cell(&t, "seeds");
    cli_table_cell(&t, "mean");
    cli_table_cell(&t, "sd");
    for (size_t i = 0; i < r->n; i++)
        add_row(&t, g, r->rows[i]);
    cli_table_print(&t);
    free(align);
    if (r->best < r->n) {
        char *command = best_command(g->e, r);
        printf("\ncommand of the best configuration, with its best seed:\n  %s\n", command);
        free(command);
    }
    if (r->best_run_label)
        printf("the model of the best run, %s, is in %s\n", r->best_run_label, r->best_run_model);
}

/* ---- the command */

static int read_axes(grid *g, const options *o) {
    int code = CLI_GO;
    g->axes = cli_calloc(o->over.n, sizeof *g->axes);
    for (size_t i = 0; code == CLI_GO && i < o->over.n; i++)
        code = read_axis(g->e, g->axes, &g->axes[g->n_axes++], o->over.item[i]);
    return code;
}

static int run(const grid *g, const aoe_grid_options *o) {
    cli_experiment *e = g->e;
    aoe_grid_result result = {.struct_size = sizeof result};
    aoe_error err;
    cli_experiment_fill(e);
    const int error = aoe_grid(o, &result, &err);
    const int code = cli_experiment_end(e, error, &err, result.runs, result.finished, result.failed);
    const int prints = code <= 1 && result.finished && !e->part.n && !(e->join && code); /* parts have no table */
    if (prints && e->general.json)
        print_json(e, &result);
    else if (prints)
        print_table(g, &result);
    aoe_grid_result_free(&result);
    return code;
}

static int run_grid(void *own) {
    options *o = own;
    cli_experiment *e = &o->e;
    grid g = {.e = e};
    int code = CLI_GO;
    if (!o->over.n)
        code = cli_usage("grid", "missing options to vary: --over OPTION=VALUE,VALUE...");
    if (code == CLI_GO && !e->dev.path && !o->score)
        code = cli_usage("grid", "missing score: give --score FILE, or --dev FILE after --");
    if (code == CLI_GO && o->score)
        cli_experiment_add_file(e, o->score);
    if (code == CLI_GO)
        code = read_axes(&g, o);
    if (code == CLI_GO)
        code = add_configurations(&g);
    if (code == CLI_GO)
        code = run(&g, &o->g);
    for (size_t k = 0; k < g.n_axes; k++)
        cli_words_free(&g.axes[k].value);
    free(g.axes);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    aoe_grid_options_defaults(&o.g);
    o.e.x = &o.g.experiment;
    o.e.seeds = "1";
    const cli_group groups[] = {CLI_GROUP("grid", table, &o)};
    const cli_experiment_command command = {
        .command = "grid",
        .about =
            "Trains a model for every combination of the option values in --over and every seed, and ranks the\n"
            "combinations by their mean score (--score) over the seeds. The arguments after -- are options of aoe\n"
            "train for all runs; @FILE reads such options from a file. aoe grid itself sets the seed, the number\n"
            "of threads and the output directory of each run. All options are checked before the first run. To\n"
            "resume an interrupted search, run the command again. To extend a search, run the command with more\n"
            "values or seeds. Finished runs are not repeated. The file results.jsonl in the output directory has\n"
            "one line per run.\n",
        .examples =
            "  aoe grid -o g --over w-angle=0,0.5,1 lr=log:1e-5:1e-4:3 --seeds 3 -- -d train.tsv --dev dev.tsv\n"
            "  aoe grid -o g --over pooling=cls,mean no-isp=on,off --jobs 2 --memory 8G -- @recipe.args\n",
        CLI_GROUPS(groups),
        .own = &o,
        .run = run_grid,
    };
    return cli_experiment_run(&o.e, &command, argc, argv);
}

const cli_command cli_grid_command = {
    .name = "grid",
    .summary = "train with every combination of option values and report the best",
    .run = run_command,
};
