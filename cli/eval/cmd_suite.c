/* SPDX-License-Identifier: MIT
 * Implements `aoe eval suite`: evaluates STS12 to STS16, STS-B and SICK-R and prints the results as one row. The output
 * names the data sets that are missing, and says how many data sets the average includes.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/common/words.h"
#include "cli/eval/eval_common.h"
#include "options/evaluate.h"

#include <math.h>
#include <string.h>

enum { SETTING_EACH = AOE_SETTING_COUNT };

typedef struct options {
    aoe_suite_options s;
    int setting; /* an aoe_setting, or SETTING_EACH */
    int pearson, subsets;
    cli_words paths; /* paths of the data sets, owned */
} options;

static const aoei_option suite_table[] = {
    {.name = "setting",
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, setting),
     .choices = AOEI_CHOICES("all", "mean", "wmean", "each"),
     .noun = "setting",
     .help = "how the subsets of STS12 to STS16 are combined. all: one correlation over all pairs. mean: mean "
             "of the correlations of the subsets. wmean: mean of these correlations, weighted by the "
             "number of pairs. each: one row for each of the settings all, mean and wmean"},
    {.name = "metric",
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, pearson),
     .choices = AOEI_CHOICES("spearman", "pearson"),
     .noun = "metric",
     .help = "correlation coefficient: spearman or pearson"},
    {.name = "subsets",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, subsets),
     .help = "also print the correlation of each subset"},
};

/* Stores a result. Only the average, which is the last result, adds to the counts of empty and truncated texts, because
 * it contains the counts of all data sets. */
static void keep(void *user, const aoe_suite_result *r) {
    cli_eval *e = user;
    options *o = e->own;
    const int is_average = r->row == AOE_SUITE_AVERAGE;
    aoe_suite_result kept = *r;
    if (r->path) {
        cli_words_add(&o->paths, "%s", r->path);
        kept.path = o->paths.word[o->paths.n - 1];
    }
    cli_eval_keep(e, &kept, r->name, is_average ? r->empty : 0, is_average ? r->truncated : 0);
}

static json_t *coefficients(const aoe_suite_result *s, aoe_setting k) {
    return json_pack("{s:o,s:o}", "spearman", cli_json_real(s->spearman[k]), "pearson", cli_json_real(s->pearson[k]));
}

static void print_json(const cli_eval *e) {
    const options *o = e->own;
    const aoe_suite_result *results = e->results;
    for (size_t i = 0; i < e->n; i++) {
        const aoe_suite_result *s = &results[i];
        if (s->row == AOE_SUITE_SUBSET && !o->subsets)
            continue;
        json_t *object = json_pack("{s:s}", "name", e->names[i]);
        cli_eval_size_json(e, object, i);
        cli_eval_similarity_json(o->s.similarity, object);
        json_object_update_new(
            object, json_pack("{s:o,s:I,s:I,s:I,s:I,s:o,s:o,s:o}", "path",
                              s->path ? cli_json_text(s->path, strlen(s->path)) : json_null(), "parts",
                              (json_int_t)s->parts, "pairs", (json_int_t)s->pairs, "skipped", (json_int_t)s->skipped,
                              "truncated", (json_int_t)s->truncated, "all", coefficients(s, AOE_SETTING_ALL), "mean",
                              coefficients(s, AOE_SETTING_MEAN), "wmean", coefficients(s, AOE_SETTING_WMEAN)));
        cli_print_json(object);
    }
}

static double figure(const aoe_suite_result *s, const options *o, int setting) {
    return o->pearson ? s->pearson[setting] : s->spearman[setting];
}

static void print_subsets(const cli_eval *e) {
    const options *o = e->own;
    const aoe_suite_result *results = e->results;
    cli_table t;
    cli_table_begin(&t, e->size ? "lrrrr" : "lrr");
    cli_table_cell(&t, "subset");
    cli_eval_size_headings(e, &t);
    cli_table_cell(&t, "pairs");
    cli_table_cell(&t, o->pearson ? "pearson" : "spearman");
    for (size_t i = 0; i < e->n; i++) {
        const aoe_suite_result *s = &results[i];
        if (s->row != AOE_SUITE_SUBSET)
            continue;
        cli_table_cell(&t, "%s", e->names[i]);
        cli_eval_size_cells(e, &t, i);
        cli_table_cell(&t, "%zu", s->pairs);
        cli_eval_percent(&t, figure(s, o, 0));
    }
    if (t.cells > t.columns) {
        cli_table_print_as(&t, e->format);
        putchar('\n');
    }
    cli_table_free(&t);
}

/* Prints the row of a setting for the size whose first result is result `first`. */
static void print_row(cli_table *t, const cli_eval *e, int setting, size_t first) {
    const aoe_suite_result *results = e->results;
    cli_table_cell(t, "%s", aoe_setting_name((aoe_setting)setting));
    cli_eval_size_cells(e, t, first);
    for (size_t i = first; i < first + e->per_size; i++) {
        const aoe_suite_result *s = &results[i];
        if (s->row == AOE_SUITE_SET && !s->path)
            cli_table_cell(t, "-");
        else if (s->row != AOE_SUITE_SUBSET)
            cli_eval_percent(t, figure(s, e->own, setting));
    }
}

static void print_table(const cli_eval *e) {
    const options *o = e->own;
    const aoe_suite_result *results = e->results;
    cli_table t;
    if (o->subsets)
        print_subsets(e);
    cli_table_begin(&t, e->size ? "lrrrrrrrrrr" : "lrrrrrrrr");
    cli_table_cell(&t, "setting");
    cli_eval_size_headings(e, &t);
    for (size_t i = 0; i < e->per_size; i++) {
        const aoe_suite_result *s = &results[i];
        if (s->row == AOE_SUITE_SET)
            cli_table_cell(&t, "%s", e->names[i]);
        else if (s->row == AOE_SUITE_AVERAGE && s->parts < 7)
            cli_table_cell(&t, "average of %zu", s->parts);
        else if (s->row == AOE_SUITE_AVERAGE)
            cli_table_cell(&t, "average");
    }
    for (int k = 0; k < AOE_SETTING_COUNT; k++)
        for (size_t first = 0; (o->setting == k || o->setting == SETTING_EACH) && first < e->n; first += e->per_size)
            print_row(&t, e, k, first);
    cli_table_print_as(&t, e->format);
}

/* Warns about missing data sets, and about data sets whose size differs from the published size. */
static void report_sets(const cli_eval *e) {
    const aoe_suite_result *results = e->results;
    char missing[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        const aoe_suite_result *s = &results[i];
        if (s->row == AOE_SUITE_SET && !s->path)
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s", n++ ? ", " : "", e->names[i]);
        else if (s->row != AOE_SUITE_AVERAGE && s->parts == 1 && s->pairs != s->published_pairs)
            cli_warn("%s has %zu scored pairs, but the published set has %zu; the score is not comparable", e->names[i],
                     s->pairs, s->published_pairs);
    }
    if (n)
        cli_warn("data sets not found and excluded from the average: %s", missing);
}

/* Warns about undefined correlations. If the correlation of a subset is undefined, the correlation of its data set and
 * the average are also undefined. */
static void report_undefined(const cli_eval *e) {
    const aoe_suite_result *results = e->results;
    for (size_t i = 0; i < e->n; i++) {
        const aoe_suite_result *s = &results[i];
        if (s->row != AOE_SUITE_AVERAGE && s->pairs && !isfinite(s->spearman[AOE_SETTING_ALL]))
            cli_warn("%s: the correlation is undefined: all similarities or all gold scores are equal", e->names[i]);
    }
}

static int score(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err) {
    options *o = e->own;
    o->s.progress = cli_eval_progress;
    o->s.user = e;
    return aoe_eval_suite(embedder, args->operand, args->n, &o->s, keep, e, err);
}

static void warn(const cli_eval *e) {
    report_sets(e);
    report_undefined(e);
}

static int run_command(int argc, char **argv) {
    options o = {.setting = SETTING_EACH};
    aoe_suite_options_defaults(&o.s);
    const cli_group groups[] = {
        CLI_GROUP("suite", suite_table, &o),
        CLI_LIBRARY_GROUP(&aoei_suite_rows, &o.s),
    };
    const cli_evaluation e = {
        .command = "eval suite",
        .operands = "DIR...",
        .about =
            "Evaluates a model on the test data of STS12 to STS16, STS-B and SICK-R in the file formats of\n"
            "SentEval. Prints the correlation of similarities and gold scores for each data set and the average\n"
            "over the data sets, multiplied by 100. Each DIR is the directory of SentEval, its subdirectory\n"
            "data/downstream, or another directory with some of these data sets: the directories STS12-en-test to\n"
            "STS16-en-test and the files STSBenchmark/sts-test.csv (or sts-test.csv) and\n"
            "SICK/SICK_test_annotated.txt. If several DIRs contain a data set, the first of these DIRs is used.\n"
            "Missing data sets are reported and excluded from the average.\n",
        .examples = "  aoe eval suite -m model SentEval/data/downstream\n"
                    "  aoe eval suite -m model sts12 stsb --setting all --format markdown\n",
        CLI_GROUPS(groups),
        .own = &o,
        .similarity = &o.s.similarity,
        .doing = "evaluating",
        .unit = "pairs",
        .pairs = 1,
        .result_size = sizeof(aoe_suite_result),
        .score = score,
        .warn = warn,
        .print_json = print_json,
        .print_table = print_table,
    };
    const int code = cli_evaluate(&e, argc, argv);
    cli_words_free(&o.paths);
    return code;
}

const cli_command cli_eval_suite_command = {
    .name = "suite",
    .summary = "semantic textual similarity: STS12 to STS16, STS-B and SICK-R, and their average",
    .run = run_command,
};
