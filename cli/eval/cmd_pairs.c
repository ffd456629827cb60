/* SPDX-License-Identifier: MIT
 * Implements `aoe eval pairs`: evaluates the binary classification of pairs by their similarity, for example of
 * paraphrases or duplicates. If there are several tables, also computes the mean of their metrics.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"
#include "options/evaluate.h"

#include <math.h>

#define AT(field) offsetof(aoe_binary_result, field)

static const cli_eval_field fields[] = {
    {"pairs", "pairs", CLI_EVAL_COUNT, AT(pairs)},
    {"positives", "positive", CLI_EVAL_COUNT, AT(metrics.positives)},
    {"spearman", "spearman", CLI_EVAL_PERCENT, AT(spearman)},
    {"pearson", "pearson", CLI_EVAL_PERCENT, AT(pearson)},
    {"accuracy", "accuracy", CLI_EVAL_PERCENT, AT(metrics.accuracy)},
    {"accuracy_threshold", "accuracy threshold", CLI_EVAL_NUMBER, AT(metrics.accuracy_threshold)},
    {"f1", "f1", CLI_EVAL_PERCENT, AT(metrics.f1)},
    {"f1_threshold", "f1 threshold", CLI_EVAL_NUMBER, AT(metrics.f1_threshold)},
    {"precision", NULL, CLI_EVAL_PERCENT, AT(metrics.f1_precision)},
    {"recall", NULL, CLI_EVAL_PERCENT, AT(metrics.f1_recall)},
    {"average_precision", "AP", CLI_EVAL_PERCENT, AT(metrics.average_precision)},
    {"skipped", "skipped", CLI_EVAL_RARE, AT(skipped)},
    {"truncated", NULL, CLI_EVAL_COUNT, AT(truncated)},
};

static void keep(void *user, const aoe_binary_result *r) {
    cli_eval_keep(user, r, r->name, r->empty, r->truncated);
}

/* Appends the mean of the results of all tables, for one size of the model. Its counts are the sums of the counts of
 * the tables, and its metrics are the unweighted means of the metrics of the tables. Its thresholds are NaN. */
static void keep_mean(cli_eval *e) {
    const aoe_binary_result *results = e->results;
    aoe_binary_result mean = {0};
    const double n = (double)(e->n - e->first);
    for (size_t i = e->first; i < e->n; i++) {
        const aoe_binary_result *s = &results[i];
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
    cli_eval_keep(e, &mean, "mean", 0, 0);
}

static int score(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err) {
    aoe_binary_options *o = e->own;
    o->progress = cli_eval_progress;
    o->user = e;
    const int code = aoe_eval_binary(embedder, args->operand, args->n, o, keep, e, err);
    if (!code && e->n - e->first > 1)
        keep_mean(e);
    return code;
}

static void warn(const cli_eval *e) {
    const aoe_binary_result *results = e->results;
    const size_t tables = e->n > 1 ? e->n - 1 : e->n; /* if there are several results, the last result is the mean */
    for (size_t i = 0; i < tables; i++) {
        const aoe_binary_result *r = &results[i];
        if (isfinite(r->spearman))
            continue;
        if (r->metrics.positives == 0)
            cli_warn("%s: correlation, F1 and AP are undefined: no pair is positive", e->names[i]);
        else
            cli_warn("%s: the correlation is undefined: %s", e->names[i],
                     r->metrics.positives == r->pairs ? "all pairs are positive" : "all similarities are equal");
    }
}

static int run_command(int argc, char **argv) {
    aoe_binary_options o;
    aoe_binary_options_defaults(&o);
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_binary_similarity_rows, &o),
        CLI_LIBRARY_GROUP(&aoei_binary_classes_rows, &o),
        CLI_COLUMNS_GROUP("tables", &o.table),
        CLI_TABLE_INPUT_GROUP(&o.table),
    };
    const cli_evaluation e = {
        .command = "eval pairs",
        .operands = "FILE...",
        .about = "Evaluates a model on pairs with binary labels, as in MRPC, QQP and QNLI. Each FILE has the columns\n"
                 "text1, text2 and label (0 or 1). Prints the Spearman and the Pearson correlation of similarities\n"
                 "and labels. Also prints accuracy, F1 and average precision (AP) of classification by similarity.\n"
                 "All these metrics are multiplied by 100. A pair is predicted positive if its similarity is at least\n"
                 "a threshold; accuracy and F1 are each computed with the threshold that gives the highest value. If\n"
                 "several tables are given, the mean of each metric over the tables is also printed.\n",
        .examples = "  aoe eval pairs -m model mrpc/test.tsv qqp/dev.tsv qnli/dev.tsv\n",
        CLI_GROUPS(groups),
        .own = &o,
        .similarity = &o.similarity,
        .doing = "evaluating",
        .unit = "pairs",
        .pairs = 1,
        .result_size = sizeof(aoe_binary_result),
        CLI_EVAL_FIELDS(fields),
        .score = score,
        .warn = warn,
    };
    return cli_evaluate(&e, argc, argv);
}

const cli_command cli_eval_pairs_command = {
    .name = "pairs",
    .summary = "binary pair classification: accuracy, F1, average precision",
    .run = run_command,
};
