/* SPDX-License-Identifier: MIT
 * aoe eval pairs: binary classification of pairs by their cosine (paraphrases, duplicates, answers), and the mean over
 * several tables.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_eval_options eval;
    aoe_binary_options b;
} options;

typedef struct row {
    aoe_binary_result result;
    char *name; /* owned */
} row;

typedef struct report {
    options o;
    row *rows; /* [n] owned; one per table and, if there are several tables, their mean at the end */
    size_t n;
    size_t empty, truncated;
} report;

static const cli_option pairs_table[] = {
    {.name = "positive-from",
     .kind = CLI_REAL,
     .value = "X",
     .offset = offsetof(options, b.positive_from),
     .min = -1e30,
     .max = 1e30,
     .help = "pairs with a label of at least X are positive",
     .fallback = "1; labels must then be 0 or 1"},
};

static void add_row(report *r, const aoe_binary_result *result, const char *name) {
    r->rows = cli_realloc(r->rows, (r->n + 1) * sizeof *r->rows);
    r->rows[r->n++] = (row){*result, cli_strdup(name)};
}

static void keep_row(void *user, const aoe_binary_result *result) {
    report *r = user;
    r->empty += result->empty;
    r->truncated += result->truncated;
    add_row(r, result, result->name);
}

/* Adds the unweighted mean of the tables' metrics; the mean of thresholds is undefined. */
static void add_mean(report *r) {
    aoe_binary_result mean = {0};
    const double n = (double)r->n;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_binary_result *s = &r->rows[i].result;
        mean.pairs += s->pairs;
        mean.skipped += s->skipped;
        mean.truncated += s->truncated;
        mean.metrics.positives += s->metrics.positives;
        mean.spearman += s->spearman / n;
        mean.pearson += s->pearson / n;
        mean.metrics.accuracy += s->metrics.accuracy / n;
        mean.metrics.f1 += s->metrics.f1 / n;
        mean.metrics.f1_precision += s->metrics.f1_precision / n;
        mean.metrics.f1_recall += s->metrics.f1_recall / n;
        mean.metrics.average_precision += s->metrics.average_precision / n;
    }
    mean.metrics.accuracy_threshold = mean.metrics.f1_threshold = NAN;
    add_row(r, &mean, "mean");
}

static void print_json(const void *found) {
    const report *r = found;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_binary_result *s = &r->rows[i].result;
        const aoe_binary_metrics *m = &s->metrics;
        const char *name = r->rows[i].name;
        cli_print_json(json_pack(
            "{s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I}", "name", cli_json_text(name, strlen(name)), "pairs",
            (json_int_t)s->pairs, "positives", (json_int_t)m->positives, "spearman", cli_json_real(s->spearman), "pearson",
            cli_json_real(s->pearson), "accuracy", cli_json_real(m->accuracy), "accuracy_threshold",
            cli_json_real(m->accuracy_threshold), "f1", cli_json_real(m->f1), "f1_threshold", cli_json_real(m->f1_threshold),
            "precision", cli_json_real(m->f1_precision), "recall", cli_json_real(m->f1_recall), "average_precision",
            cli_json_real(m->average_precision), "skipped", (json_int_t)s->skipped, "truncated", (json_int_t)s->truncated));
    }
}

static void print_table(const void *found) {
    const report *r = found;
    static const char *const heads[] = {
        "name", "pairs",        "positive", "spearman", "pearson", "accuracy", "accuracy threshold",
        "f1",   "f1 threshold", "AP",       "skipped"};
    cli_table t;
    size_t skipped = 0;
    for (size_t i = 0; i < r->n; i++)
        skipped += r->rows[i].result.skipped;
    cli_table_begin(&t, skipped ? "lrrrrrrrrrr" : "lrrrrrrrrr");
    for (size_t i = 0; i < t.columns; i++)
        cli_table_cell(&t, "%s", heads[i]);
    for (size_t i = 0; i < r->n; i++) {
        const aoe_binary_result *s = &r->rows[i].result;
        cli_table_cell(&t, "%s", r->rows[i].name);
        cli_table_cell(&t, "%zu", s->pairs);
        cli_table_cell(&t, "%zu", s->metrics.positives);
        cli_eval_percent(&t, s->spearman);
        cli_eval_percent(&t, s->pearson);
        cli_eval_percent(&t, s->metrics.accuracy);
        cli_eval_number(&t, s->metrics.accuracy_threshold);
        cli_eval_percent(&t, s->metrics.f1);
        cli_eval_number(&t, s->metrics.f1_threshold);
        cli_eval_percent(&t, s->metrics.average_precision);
        if (skipped)
            cli_table_cell(&t, "%zu", s->skipped);
    }
    cli_eval_print(&t, &r->o.eval);
}

static int score(void *found, aoe_embedder *e, const cli_args *args, cli_progress *progress, aoe_error *err) {
    report *r = found;
    r->o.b.progress = cli_eval_progress;
    r->o.b.user = progress;
    const int failed = aoe_eval_binary(e, args->operand, args->n, &r->o.b, keep_row, r, err);
    if (!failed && r->n > 1)
        add_mean(r);
    return failed;
}

static void count(const void *found, size_t *empty, size_t *truncated) {
    const report *r = found;
    *empty = r->empty;
    *truncated = r->truncated;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_binary_result *b = &r->rows[i].result;
        if (isfinite(b->spearman) || strcmp(r->rows[i].name, "mean") == 0)
            continue;
        if (b->metrics.positives == 0)
            cli_warn("%s: correlation, F1 and AP are undefined: no pair is positive", r->rows[i].name);
        else
            cli_warn("%s: the correlation is undefined: %s", r->rows[i].name,
                     b->metrics.positives == b->pairs ? "all pairs are positive" : "all cosines are equal");
    }
}

static int run_command(int argc, char **argv) {
    report r = {0};
    cli_eval_defaults(&r.o.eval);
    aoe_binary_options_defaults(&r.o.b);
    const cli_group groups[] = {
        CLI_GROUP("output", cli_eval_format_table, &r.o.eval),      CLI_GROUP("classes", pairs_table, &r.o),
        CLI_GROUP("tables", cli_table_table, &r.o.b.table),         CLI_GROUP("input files", cli_input_table, &r.o.b.table),
        CLI_GROUP("model", cli_model_table, &r.o.eval.model),       CLI_GROUP("long texts", cli_chunk_table, &r.o.eval.model),
        CLI_GROUP("general", cli_general_table, &r.o.eval.general),
    };
    const cli_syntax syntax = {
        .command = "eval pairs",
        .operands = "FILE...",
        .about = "Evaluates pairs with a binary label, as in MRPC, QQP and QNLI (text1, text2, label 0 or 1). Prints,\n"
                 "times 100, the Spearman and Pearson correlation of cosine and label, accuracy and F1 at the best\n"
                 "threshold of each (a cosine of at least the threshold is positive) and average precision (AP). With\n"
                 "several tables it also prints the mean.\n",
        .examples = "  aoe eval pairs -m model mrpc/test.tsv qqp/dev.tsv qnli/dev.tsv\n",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    const cli_evaluation e = {
        .syntax = &syntax,
        .options = &r.o.eval,
        .doing = "evaluating",
        .unit = "pairs",
        .report = &r,
        .score = score,
        .count = count,
        .print_json = print_json,
        .print_table = print_table,
    };
    const int code = cli_evaluate(&e, argc, argv);
    for (size_t i = 0; i < r.n; i++)
        free(r.rows[i].name);
    free(r.rows);
    return code;
}

const cli_command cli_eval_pairs_command = {
    .name = "pairs",
    .summary = "binary pair classification: accuracy, F1, average precision",
    .run = run_command,
};
