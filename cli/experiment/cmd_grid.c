/* SPDX-License-Identifier: MIT
 * aoe grid: training runs over all combinations of options' values, times seeds;
 * which was best on average. Runs, records and resuming are experiment.h's.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct axis {
    const cli_option *option; /* of aoe train */
    cli_words value;
} axis;

typedef struct options {
    cli_texts over;    /* NAME=VALUES */
    const char *score; /* NULL: train's best on --dev */
    cli_experiment e;
} options;

static const cli_option table[] = {
    {.name = "over",
     .kind = CLI_TEXTS,
     .value = "OPTION=VALUES...",
     .offset = offsetof(options, over),
     .help = "an option of aoe train and what it is to be: a list 0,0.5,1 (or a;b where values have commas), in it also "
             "lin:FROM:TO:N and log:FROM:TO:N; of a flag: on,off",
     .fallback = ""},
    {.name = "score",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = offsetof(options, score),
     .help = "score by the Spearman correlation on this table or SentEval folder",
     .fallback = "the best on aoe train's --dev"},
    {.name = "skip-refused",
     .kind = CLI_FLAG,
     .offset = offsetof(options, e.skip_refused),
     .set = 1,
     .help =
         "leave out combinations that aoe train refuses, like all weights 0 (--w-cln, of triples, too), in place of giving up"},
};

/* ---- values */

static int is_number(const cli_option *o) {
    return o->kind == CLI_SIZE || o->kind == CLI_REAL;
}

/* lin:FROM:TO:N or log:FROM:TO:N, whose values are those that six digits show. CLI_GO, or the exit code. */
static int add_range(axis *a, const char *item) {
    enum { MOST = 10000 };
    double from, to;
    size_t n;
    char rest;
    const int logarithmic = item[1] == 'o';
    if (!is_number(a->option))
        return cli_usage("grid", "--over %s: '%s' is a range, and --%s takes no numbers", a->option->name, item,
                         a->option->name);
    if (sscanf(item + 4, "%lf:%lf:%zu%c", &from, &to, &n, &rest) != 3 || n < 1 || n > MOST || !isfinite(from) ||
        !isfinite(to) || (logarithmic && !(from > 0 && to > 0)))
        return cli_usage("grid", "--over %s: '%s' is no range; write %.3s:FROM:TO:N%s, N up to %d", a->option->name, item, item,
                         logarithmic ? ", both above 0" : "", MOST);
    for (size_t i = 0; i < n; i++) {
        const double part = n > 1 ? (double)i / (double)(n - 1) : 0;
        const double value = logarithmic ? from * pow(to / from, part) : from + part * (to - from);
        cli_words_add(&a->value, a->option->kind == CLI_SIZE ? "%.0f" : "%.6g", value);
    }
    return CLI_GO;
}

static json_t *json_value(const cli_option *o, const char *text) {
    char *end = NULL;
    const double number = strtod(text, &end);
    if (o->kind == CLI_FLAG)
        return json_boolean(strcmp(text, "on") == 0);
    if (!is_number(o) || end == text || *end || !isfinite(number))
        return cli_json_text(text, strlen(text));
    const int is_whole = o->kind == CLI_SIZE && fabs(number) < 1e15 && fabs(number - rint(number)) <= 0;
    return is_whole ? json_integer((json_int_t)number) : json_real(number);
}

/* Values that are one, however written, would count as more seeds. CLI_GO, or 2 after reporting. */
static int check_distinct(const axis *a) {
    json_t *values = json_array();
    int code = CLI_GO;
    for (size_t i = 0; i < a->value.n && code == CLI_GO; i++) {
        json_array_append_new(values, json_value(a->option, a->value.word[i]));
        for (size_t k = 0; k < i && code == CLI_GO; k++)
            if (json_equal(json_array_get(values, k), json_array_get(values, i)))
                code = cli_usage("grid", "--over %s: %s and %s are one value; leave one out", a->option->name, a->value.word[k],
                                 a->value.word[i]);
    }
    json_decref(values);
    return code;
}

/* NAME=VALUES, of an option that none of the axes from `first` on has. CLI_GO, or the exit code after reporting. */
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
            return cli_usage("grid", "--over %s: that option stands there twice; give all its values in one list",
                             a->option->name);
    char *list = cli_strdup(text + length + 1), *rest = list;
    const char *separator = strchr(list, ';') ? ";" : ",";
    int code = CLI_GO;
    for (char *item = strsep(&rest, separator); item && code == CLI_GO; item = strsep(&rest, separator)) {
        if (strncmp(item, "lin:", 4) == 0 || strncmp(item, "log:", 4) == 0)
            code = add_range(a, item);
        else if (a->option->kind == CLI_FLAG && strcmp(item, "on") != 0 && strcmp(item, "off") != 0)
            code = cli_usage("grid", "--over %s: '%s' is neither on nor off", a->option->name, item);
        else
            cli_words_add(&a->value, "%s", item);
    }
    free(list);
    return code == CLI_GO ? check_distinct(a) : code;
}

/* ---- points */

typedef struct grid {
    cli_experiment *e;
    axis *axes; /* [n_axes] */
    size_t n_axes;
    uint64_t *seed; /* [n_seeds] */
    size_t n_seeds;
} grid;

/* What value[k] of every axis gives aoe train. */
static void add_arguments(const grid *g, const size_t *value, cli_words *args) {
    for (size_t k = 0; k < g->n_axes; k++) {
        const cli_option *o = g->axes[k].option;
        const char *text = g->axes[k].value.word[value[k]];
        if (o->kind != CLI_FLAG)
            cli_words_add(args, "--%s=%s", o->name, text);
        else if (strcmp(text, "on") == 0)
            cli_words_add(args, "--%s", o->name);
    }
}

/* "w-angle=1 lr=5e-05", with the separator given. free() it. */
static char *point_text(const grid *g, const size_t *value, char separator) {
    char *text = cli_strdup("");
    for (size_t k = 0; k < g->n_axes; k++) {
        char *longer = cli_format("%s%s=%s%c", text, g->axes[k].option->name, g->axes[k].value.word[value[k]], separator);
        free(text);
        text = longer;
    }
    return text;
}

static void add_point(const grid *g, const size_t *value) {
    char *name = point_text(g, value, '_'), *label = point_text(g, value, ' ');
    for (size_t s = 0; s < g->n_seeds; s++) {
        const unsigned long long seed = g->seed[s];
        cli_trial *t =
            cli_experiment_add(g->e, cli_format("%sseed=%llu", name, seed), cli_format("%sseed %llu", label, seed), g->seed[s]);
        cli_words_append(&t->args, &g->e->base);
        add_arguments(g, value, &t->args);
        json_t *point = json_object();
        for (size_t k = 0; k < g->n_axes; k++)
            json_object_set_new(point, g->axes[k].option->name, json_value(g->axes[k].option, g->axes[k].value.word[value[k]]));
        json_object_set_new(t->key, "point", point);
        json_object_set_new(t->key, "seed", json_integer((json_int_t)g->seed[s]));
    }
    free(name);
    free(label);
}

/* Every combination; the last option changes fastest. */
static int add_points(const grid *g) {
    enum { MOST = 100000 };
    size_t points = 1, *value = cli_realloc(NULL, g->n_axes * sizeof *value);
    for (size_t k = 0; k < g->n_axes; k++) {
        value[k] = 0;
        points = points > MOST ? points : points * g->axes[k].value.n;
    }
    int code = points * g->n_seeds > MOST ? cli_usage("grid", "that is more than %d runs; give fewer values", MOST) : CLI_GO;
    for (size_t i = 0; code == CLI_GO && i < points; i++) {
        size_t rest = i;
        for (size_t k = g->n_axes; k-- > 0;) {
            value[k] = rest % g->axes[k].value.n;
            rest /= g->axes[k].value.n;
        }
        add_point(g, value);
    }
    free(value);
    return code;
}

/* ---- what came out */

typedef struct row {
    const json_t *point;     /* of its trials' keys */
    size_t first, n;         /* its trials */
    aoe_t_test_result score; /* over the finished ones */
} row;

/* Best first; points without a score last; else in the order of the grid. */
static int compare_rows(const void *a, const void *b) {
    const row *x = a, *y = b;
    const int x_missing = isnan(x->score.mean), y_missing = isnan(y->score.mean);
    if (x_missing != y_missing)
        return x_missing ? 1 : -1;
    if (x->score.mean < y->score.mean || x->score.mean > y->score.mean)
        return x->score.mean > y->score.mean ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static row *make_rows(const cli_experiment *e, size_t *n) {
    row *rows = cli_realloc(NULL, e->n * sizeof *rows);
    double *score = cli_realloc(NULL, e->n * sizeof *score);
    *n = 0;
    for (size_t i = 0, end; i < e->n; i = end) {
        const json_t *point = json_object_get(e->trial[i].key, "point");
        size_t scored = 0;
        for (end = i; end < e->n && json_equal(json_object_get(e->trial[end].key, "point"), point); end++) {
            score[scored] = cli_trial_score(&e->trial[end], e, 0);
            scored += isnan(score[scored]) ? 0 : 1;
        }
        row *r = &rows[(*n)++];
        *r = (row){.point = point, .first = i, .n = end - i};
        aoe_t_test(score, NULL, scored, &r->score);
    }
    free(score);
    qsort(rows, *n, sizeof *rows, compare_rows);
    return rows;
}

/* The best of the points that have all their seeds; NULL: there is none. */
static const row *best_row(const row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].score.n == rows[i].n)
            return &rows[i];
    return NULL;
}

static size_t best_trial(const cli_experiment *e, const row *r) {
    size_t best = r->first;
    for (size_t i = r->first; i < r->first + r->n; i++)
        if (cli_trial_score(&e->trial[i], e, 0) > cli_trial_score(&e->trial[best], e, 0))
            best = i;
    return best;
}

static char *best_command(const cli_experiment *e, const row *r) {
    const cli_trial *t = &e->trial[best_trial(e, r)];
    cli_words w = {0};
    cli_words_add(&w, "aoe");
    cli_words_add(&w, "train");
    cli_words_append(&w, &t->args);
    cli_words_add(&w, "--seed=%llu", (unsigned long long)t->seed);
    cli_words_add(&w, "-o");
    cli_words_add(&w, "model");
    char *text = cli_words_command(&w);
    cli_words_free(&w);
    return text;
}

static void print_json(const cli_experiment *e, const row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        json_t *seeds = json_array(), *scores = json_array();
        for (size_t k = rows[i].first; k < rows[i].first + rows[i].n; k++) {
            json_array_append_new(seeds, json_integer((json_int_t)e->trial[k].seed));
            json_array_append_new(scores, cli_json_real(cli_trial_score(&e->trial[k], e, 0)));
        }
        cli_print_json(json_pack("{s:O,s:o,s:o,s:o,s:o}", "point", (json_t *)rows[i].point, "seeds", seeds, "scores", scores,
                                 "mean", cli_json_real(rows[i].score.mean), "sd", cli_json_real(rows[i].score.sd)));
    }
    const row *best = best_row(rows, n);
    if (!best)
        return;
    char *command = best_command(e, best);
    cli_print_json(json_pack("{s:O,s:o,s:o}", "best", (json_t *)best->point, "mean", cli_json_real(best->score.mean), "command",
                             cli_json_text(command, strlen(command))));
    free(command);
    if (e->best == e->n)
        return;
    /* the best single run may be one of another point than the best mean */
    const cli_trial *t = &e->trial[e->best];
    char *model = cli_trial_path(e, t, "model");
    cli_print_json(json_pack("{s:O,s:o,s:o}", "best_run", t->key, "score", cli_json_real(cli_trial_score(t, e, 0)), "model",
                             cli_json_text(model, strlen(model))));
    free(model);
}

static void value_cell(cli_table *t, const json_t *value) {
    if (json_is_string(value))
        cli_table_cell(t, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        cli_table_cell(t, json_is_true(value) ? "on" : "off");
    else
        cli_table_cell(t, "%.6g", json_number_value(value));
}

static void score_cell(cli_table *t, double x) {
    if (isnan(x))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.2f", 100 * x);
}

static void print_table(const grid *g, const row *rows, size_t n) {
    const cli_experiment *e = g->e;
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
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g->n_axes; k++)
            value_cell(&t, json_object_get(rows[i].point, g->axes[k].option->name));
        if (rows[i].score.n == rows[i].n)
            cli_table_cell(&t, "%zu", rows[i].n);
        else
            cli_table_cell(&t, "%zu of %zu", rows[i].score.n, rows[i].n);
        score_cell(&t, rows[i].score.mean);
        score_cell(&t, rows[i].score.sd);
    }
    cli_table_print(&t);
    free(align);
    const row *best = best_row(rows, n);
    if (best) {
        char *command = best_command(e, best);
        printf("\nthe best on average:\n  %s\n", command);
        free(command);
    }
    if (e->best < e->n)
        printf("the model of the best run, %s, is in %s/runs/%s/model\n", e->trial[e->best].label, e->o.output,
               e->trial[e->best].name);
}

static void report(const grid *g) {
    size_t n;
    row *rows = make_rows(g->e, &n);
    if (g->e->o.json)
        print_json(g->e, rows, n);
    else
        print_table(g, rows, n);
    free(rows);
}

/* ---- the command */

static int run_grid(options *o, const cli_args *args) {
    cli_experiment *e = &o->e;
    grid g = {.e = e};
    const char *dev = NULL;
    int code = cli_experiment_begin(e, "grid", args->operand, args->n, &dev);
    if (code == CLI_GO && !o->over.n)
        code = cli_usage("grid", "it needs options to search over: --over OPTION=VALUE,VALUE...");
    if (code == CLI_GO && !dev && !o->score)
        code = cli_usage("grid", "it needs something to score by: --score FILE, or behind -- a --dev FILE");
    json_t *over = json_array();
    if (code == CLI_GO) {
        g.axes = cli_realloc(NULL, o->over.n * sizeof *g.axes);
        memset(g.axes, 0, o->over.n * sizeof *g.axes);
        e->file = &o->score;
        e->n_files = o->score != NULL;
        code = cli_experiment_seeds(e, &g.seed, &g.n_seeds);
    }
    for (size_t i = 0; code == CLI_GO && i < o->over.n; i++) {
        code = read_axis(e, g.axes, &g.axes[g.n_axes++], o->over.item[i]);
        if (code == CLI_GO)
            json_array_append_new(over, json_string(g.axes[i].option->name));
    }
    json_object_set_new(e->settings, "over", over);
    if (code == CLI_GO)
        code = add_points(&g);
    if (code == CLI_GO)
        code = cli_experiment_check(e);
    if (code == CLI_GO)
        code = cli_experiment_open(e) ? 1 : CLI_GO;
    if (code == CLI_GO) {
        code = cli_experiment_run(e);
        if (code <= 1 && e->finished)
            report(&g);
    }
    for (size_t k = 0; k < g.n_axes; k++)
        cli_words_free(&g.axes[k].value);
    free(g.axes);
    free(g.seed);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    o.e.o = (cli_experiment_options){.seeds = "1", .jobs = 1, .keep = CLI_KEEP_BEST};
    const cli_group groups[] = {
        CLI_GROUP("grid", table, &o),
        CLI_GROUP("runs", cli_experiment_table, &o.e.o),
    };
    const cli_syntax syntax = {
        .command = "grid",
        .operands = "-- OPTIONS OF aoe train",
        .about = "Trains a model for every combination of the values of --over and every seed, and says which\n"
                 "combination is best on average. What stands behind -- is given to each aoe train, also as @FILE;\n"
                 "seeds, threads and output directories are set by this command. All options are checked before the\n"
                 "first run. The same command again goes on where it was stopped and runs no finished run again; more\n"
                 "values and seeds may be given then. DIR/results.jsonl has a line for each run.\n",
        .examples = "  aoe grid -o g --over w-angle=0,0.5,1 lr=log:1e-5:1e-4:3 --seeds 3 -- -d train.tsv --dev dev.tsv\n"
                    "  aoe grid -o g --over pooling=cls,last-avg no-isp=on,off --jobs 2 --memory 8G -- @recipe.args\n",
        .unknown_note = "options of aoe train come after --",
        .groups = groups,
        .n_groups = 2,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_set_quiet(o.e.o.quiet);
        code = run_grid(&o, &args);
    }
    cli_experiment_free(&o.e);
    cli_args_free(&args);
    return code;
}

const cli_command cli_grid_command = {
    .name = "grid",
    .summary = "train with every combination of option values, report the best",
    .run = run_command,
};
