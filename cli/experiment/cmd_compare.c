/* SPDX-License-Identifier: MIT
 * Implements `aoe compare`: trains models with several training configurations, the arms, and tests whether their
 * scores differ. All arms are trained with the same seeds. The library function aoe_compare runs the training and
 * computes the statistics; this file parses the arms and prints the result.
 */
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/path.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/experiment/experiment.h"
#include "options/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    aoei_text_list arms;
    const char *methods;
    const char *against; /* name of the arm with which the other arms are compared; NULL: the first arm */
    aoei_text_list tests;
    aoe_compare_options x;
    cli_table_format format;
    cli_experiment e;
} options;

static const aoei_option table[] = {
    {.name = "arm",
     .letter = 'a',
     .kind = AOEI_OPTION_TEXTS,
     .value = "'NAME: OPTIONS'...",
     .offset = offsetof(options, arms),
     .help = "an arm: its name, a colon, and options of aoe train that apply to this arm in addition "
             "to the options after --. An arm without a colon is the name of a --method of aoe train, "
             "or the word untrained: the model of -m is then evaluated without training",
     .fallback = ""},
    {.name = "methods",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME,...",
     .offset = offsetof(options, methods),
     .help = "add one arm for each of these values of --method of aoe train; these arms come before the arms of --arm",
     .fallback = "none"},
    {.name = "test",
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE...",
     .offset = offsetof(options, tests),
     .help =
         "evaluate the models on these tables or SentEval directories (Spearman correlation), in addition to the --dev "
         "file",
     .fallback = ""},
    {.name = "against",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(options, against),
     .help = "baseline: the arm with which all other arms are compared",
     .fallback = "the first arm"},
    CLI_OPTION_TABLE_FORMAT(.offset = offsetof(options, format), "output format: table, csv or markdown"),
};

/* ---- arms */

static int add_arm(cli_experiment *e, const char *name, size_t length, const cli_words *words) {
    char *copy = cli_format("%.*s", (int)length, name);
    int added;
    for (size_t i = 0; i < e->n; i++) {
        if (strcmp(e->configuration[i].name, copy) == 0) {
            const int code = cli_usage("compare", "two arms are called %s; rename or remove one", copy);
            free(copy);
            return code;
        }
    }
    return cli_experiment_add(e, copy, cli_strdup(copy), NULL, words, strcmp(copy, "untrained") == 0, &added);
}

/* Sets the options of an arm for which only a name was given. The option is --method=NAME. The arm "untrained" has no
 * options. */
static int method_words(cli_words *words, const char *name, size_t length) {
    char *method = cli_format("%.*s", (int)length, name);
    aoe_method m;
    aoe_error err;
    int code = CLI_GO;
    if (strcmp(method, "untrained") != 0) {
        if (aoe_method_parse(&m, method, &err))
            code = cli_usage(
                "compare",
                "--arm %s: aoe train has no such method; write '%s: OPTIONS', or '%s:' for the options after -- "
                "without changes",
                method, method, method);
        cli_words_add(words, "--method=%s", method);
    }
    free(method);
    return code;
}

/* Parses an arm, which is "NAME: OPTIONS" or only a name. Returns CLI_GO, or the exit code after reporting an error. */
static int read_arm(cli_experiment *e, const char *text) {
    const char *colon = strchr(text, ':'), *end = colon ? colon : text + strlen(text);
    const char *first = text + strspn(text, " \t");
    cli_words words = {0};
    while (end > first && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end == first)
        return cli_usage("compare", "--arm '%s': write 'NAME: OPTIONS'", text);
    const size_t length = (size_t)(end - first);
    int code = colon ? CLI_GO : method_words(&words, first, length);
    if (colon && cli_words_split(&words, colon + 1))
        code = cli_usage("compare", "--arm '%s': a quote is not closed", text);
    if (code == CLI_GO) {
        char *where = cli_format("in --arm '%.*s'", (int)length, first);
        code = cli_experiment_check_words(e, &words, where);
        free(where);
    }
    if (code == CLI_GO)
        code = add_arm(e, first, length, &words);
    cli_words_free(&words);
    return code;
}

static int read_methods(cli_experiment *e, const char *methods) {
    char *list = cli_strdup(methods), *rest = list;
    int code = CLI_GO;
    for (const char *item = strsep(&rest, ","); item && code == CLI_GO; item = strsep(&rest, ",")) {
        cli_words words = {0};
        code = method_words(&words, item, strlen(item));
        if (code == CLI_GO)
            code = add_arm(e, item, strlen(item), &words);
        cli_words_free(&words);
    }
    free(list);
    return code;
}

/* Parses all arms. Sets *against to the index of the arm that --against names. */
static int read_arms(cli_experiment *e, const options *o, size_t *against) {
    int code = o->methods ? read_methods(e, o->methods) : CLI_GO;
    for (size_t i = 0; code == CLI_GO && i < o->arms.n; i++)
        code = read_arm(e, o->arms.item[i]);
    if (code == CLI_GO && e->n < 2)
        code = cli_usage("compare", "at least two arms are required: --arm 'NAME: OPTIONS' or --methods NAME,NAME");
    *against = 0;
    if (code == CLI_GO && o->against) {
        while (*against < e->n && strcmp(e->configuration[*against].name, o->against) != 0)
            ++*against;
        if (*against == e->n)
            code = cli_usage("compare", "--against %s: no arm has this name", o->against);
    }
    return code;
}

static int add_files(cli_experiment *e, const options *o) {
    for (size_t i = 0; i < o->tests.n; i++)
        cli_experiment_add_file(e, o->tests.item[i]);
    if (e->dev.path)
        cli_experiment_add_file(e, e->dev.path);
    return e->n_files ? CLI_GO
                      : cli_usage("compare", "missing evaluation file: give --test FILE, or --dev FILE after --");
}

/* ---- result */

static void print_json(const cli_experiment *e, const aoe_compare_row *r, size_t against, aoe_correction correction) {
    const aoe_configuration *a = &e->configuration[r->configuration], *b = &e->configuration[against];
    const char *path = e->files[r->file].path;
    json_t *seeds = json_array(), *scores = json_array(), *o = json_object();
    for (size_t s = 0; s < r->n_scores; s++) {
        json_array_append_new(seeds, a->untrained ? json_null() : json_integer((json_int_t)e->seed[s]));
        json_array_append_new(scores, cli_json_real(r->scores[s]));
    }
    json_object_set_new(o, "file", cli_json_text(path, strlen(path)));
    json_object_set_new(o, "arm", cli_json_text(a->name, strlen(a->name)));
    json_object_set_new(o, "seeds", seeds);
    json_object_set_new(o, "scores", scores);
    json_object_set_new(o, "mean", cli_json_real(r->score.mean));
    json_object_set_new(o, "sd", cli_json_real(r->score.sd));
    json_object_set_new(o, "low", cli_json_real(r->mean.low));
    json_object_set_new(o, "high", cli_json_real(r->mean.high));
    if (a != b) {
        json_object_set_new(o, "against", cli_json_text(b->name, strlen(b->name)));
        json_object_set_new(o, "paired", json_integer((json_int_t)r->difference.n));
        json_object_set_new(o, "difference", cli_json_real(r->difference.mean));
        json_object_set_new(o, "difference_low", cli_json_real(r->shift.low));
        json_object_set_new(o, "difference_high", cli_json_real(r->shift.high));
        json_object_set_new(o, "t", cli_json_real(r->difference.t));
        json_object_set_new(o, "df", cli_json_real(r->difference.df));
        json_object_set_new(o, "p", cli_json_real(r->difference.p));
        json_object_set_new(o, "correction", json_string(aoei_correction_names[correction]));
        json_object_set_new(o, "p_corrected", cli_json_real(r->p_corrected));
        json_object_set_new(o, "verdict", json_string(aoe_verdict_name(r->verdict)));
    }
    cli_print_json(o);
}

static void p_cell(cli_table *t, cli_table_format format, double p) {
    if (isnan(p))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, format == CLI_TABLE_CSV ? "%.6g" : "%.2g", p);
}

static void interval_cells(cli_table *t, cli_table_format format, const aoe_interval *i) {
    if (format == CLI_TABLE_CSV) {
        cli_table_real(t, 4, 100 * i->low);
        cli_table_real(t, 4, 100 * i->high);
    } else if (isnan(i->low)) {
        cli_table_cell(t, "-");
    } else {
        char low[32], high[32];
        cli_format_score(low, 100 * i->low);
        cli_format_score(high, 100 * i->high);
        cli_table_cell(t, "%s to %s", low, high);
    }
}

/* Begins the table. corrected: 1 if it has a column with corrected p-values. */
static void heading(cli_table *t, cli_table_format format, int corrected) {
    static const char *const plain[] = {"file",         "arm",        "seeds",        "mean", "sd",
                                        "95% interval", "difference", "95% interval", "t",    "p"};
    static const char *const csv[] = {"file", "arm",  "seeds",      "mean",           "sd",
                                      "low",  "high", "difference", "difference_low", "difference_high",
                                      "t",    "p"};
    if (format == CLI_TABLE_CSV) {
        cli_table_begin(t, corrected ? "llrrrrrrrrrrrl" : "llrrrrrrrrrrl");
        cli_table_cells(t, csv, sizeof csv / sizeof *csv);
    } else {
        cli_table_begin(t, corrected ? "llrrrrrrrrrl" : "llrrrrrrrrl");
        cli_table_cells(t, plain, sizeof plain / sizeof *plain);
    }
    if (corrected)
        cli_table_cell(t, format == CLI_TABLE_CSV ? "p_corrected" : "corrected p");
    cli_table_cell(t, "verdict");
}

/* Adds the row for result r to the table. corrected: as in heading; label: name of the evaluation file. */
static void add_row(cli_table *t, cli_table_format format, int corrected, const cli_experiment *e,
                    const aoe_compare_row *r, const char *label) {
    const int digits = format == CLI_TABLE_CSV ? 4 : 2;
    cli_table_cell(t, "%s", label);
    cli_table_cell(t, "%s", e->configuration[r->configuration].name);
    cli_experiment_seeds_cell(t, r->score.n, r->n_scores);
    cli_table_real(t, digits, 100 * r->score.mean);
    cli_table_real(t, digits, 100 * r->score.sd);
    interval_cells(t, format, &r->mean);
    cli_table_real(t, digits, 100 * r->difference.mean);
    interval_cells(t, format, &r->shift);
    cli_table_real(t, digits, r->difference.t);
    p_cell(t, format, r->difference.p);
    if (corrected)
        p_cell(t, format, r->p_corrected);
    cli_table_cell(t, "%s", aoe_verdict_name(r->verdict));
}

/* Explains the columns of the table in a note. */
static void print_legend(const cli_experiment *e, int corrected, const aoe_compare_result *r, size_t against) {
    char correction[128] = "";
    size_t tests = 0;
    for (size_t i = 0; i < r->n; i++)
        tests += isnan(r->rows[i]->p_corrected) ? 0 : 1;
    if (corrected)
        snprintf(correction, sizeof correction, "corrected p: Holm's correction for %zu test%s; ", tests,
                 cli_plural(tests));
    cli_note("differences from %s, paired by seed; p: two-sided t test; %sintervals: bootstrap over pairs and seeds; "
             "better and worse: %sp below 0.05 and an interval that excludes 0",
             e->configuration[against].name, correction, corrected ? "corrected " : "");
}

static void print_table(const cli_experiment *e, const options *o, const aoe_compare_result *r, size_t against) {
    const cli_table_format format = o->format;
    const int corrected = o->x.correction != AOE_CORRECTION_NONE;
    cli_table t = {0};
    const char **paths = cli_realloc(NULL, e->n_files * sizeof *paths);
    for (size_t i = 0; i < e->n_files; i++)
        paths[i] = e->files[i].path;
    heading(&t, format, corrected);
    for (size_t i = 0; i < r->n; i++) {
        char *label = aoei_path_label(paths, e->n_files, r->rows[i]->file);
        add_row(&t, format, corrected, e, r->rows[i], label ? label : paths[r->rows[i]->file]);
        aoei_free(label);
    }
    free((void *)paths);
    cli_table_print_as(&t, format);
    print_legend(e, corrected, r, against);
}

/* ---- the command */

static int run(options *o, size_t against) {
    cli_experiment *e = &o->e;
    aoe_compare_result result = {.struct_size = sizeof result};
    aoe_error err;
    cli_experiment_fill(e);
    o->x.against = against;
    const int error = aoe_compare(&o->x, &result, &err);
    const int code = cli_experiment_end(e, error, &err, result.runs, result.finished, result.failed);
    const int prints = code <= 1 && result.finished && !e->part.n && !(e->join && code); /* parts have no table */
    if (prints && !e->general.json)
        print_table(e, o, &result, against);
    for (size_t i = 0; prints && e->general.json && i < result.n; i++)
        print_json(e, result.rows[i], against, o->x.correction);
    aoe_compare_result_free(&result);
    return code;
}

static int run_compare(void *own) {
    options *o = own;
    size_t against = 0;
    int code = add_files(&o->e, o);
    if (code == CLI_GO)
        code = read_arms(&o->e, o, &against);
    return code == CLI_GO ? run(o, against) : code;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    aoe_compare_options_defaults(&o.x);
    o.e.x = &o.x.experiment;
    o.e.seeds = "5";
    const cli_group groups[] = {
        CLI_GROUP("comparison", table, &o),
        CLI_LIBRARY_GROUP(&aoei_compare_tests_rows, &o.x),
    };
    const cli_experiment_command command = {
        .command = "compare",
        .about = "Compares training configurations, called arms. Trains every arm with every seed and evaluates the\n"
                 "models on the --test files and the --dev file. For each file and arm, prints the mean and the\n"
                 "standard deviation of the Spearman correlation over the seeds, and the difference between the mean\n"
                 "of the arm and the mean of the baseline arm (--against). The difference is tested with a paired t\n"
                 "test over the seeds. The more tests a comparison makes, the more often one of them has a low p by\n"
                 "chance, so the p of all arms on all evaluation files are corrected together (--correction). The\n"
                 "verdict is better or worse if the corrected p is below 0.05 and the interval excludes 0. Means and\n"
                 "differences are printed with 95% confidence intervals, computed by bootstrap resampling of test\n"
                 "pairs and seeds.\n"
                 "The arguments after -- are options of aoe train for all runs; @FILE reads such options from a file.\n"
                 "aoe compare itself sets the seed, the number of threads and the output directory of each run. To\n"
                 "resume an interrupted comparison, run the command again. To extend a comparison, run the command\n"
                 "with more arms or seeds. Finished runs are not repeated. The file results.jsonl in the output\n"
                 "directory has one line per run.\n",
        .examples = "  aoe compare -o c --arm untrained 'all:' 'cosine: --w-ibn 0 --w-angle 0' --test test.tsv -- \\\n"
                    "    -m start -d train.tsv --dev dev.tsv --epochs 3\n"
                    "  aoe compare -o c -a 'cls: --pooling cls' 'mean: --pooling mean' --format csv -- @recipe.args\n",
        CLI_GROUPS(groups),
        .own = &o,
        .run = run_compare,
    };
    return cli_experiment_run(&o.e, &command, argc, argv);
}

const cli_command cli_compare_command = {
    .name = "compare",
    .summary = "train configurations with several seeds and test whether their scores differ",
    .run = run_command,
};
