/* SPDX-License-Identifier: MIT
 * Implements `aoe eval sts`: computes the correlation of the similarities of pairs with their gold scores, for tables
 * and SentEval directories. The results are printed after all inputs have been evaluated.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"
#include "options/evaluate.h"

#include <math.h>

typedef struct row {
    aoe_sts_result result;
    const char *undefined; /* reason why the correlation is undefined (a static string); NULL if the correlation is
                              defined */
} row;

#define AT(field) offsetof(row, result.field)

static const cli_eval_field fields[] = {
    {"pairs", "pairs", CLI_EVAL_COUNT, AT(pairs)},         {"spearman", "spearman", CLI_EVAL_PERCENT, AT(spearman)},
    {"pearson", "pearson", CLI_EVAL_PERCENT, AT(pearson)}, {"skipped", "skipped", CLI_EVAL_RARE, AT(skipped)},
    {"truncated", NULL, CLI_EVAL_COUNT, AT(truncated)},
};

static int all_equal(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (x[i] < x[0] || x[i] > x[0])
            return 0;
    return 1;
}

static const char *why_undefined(const aoe_sts_result *r) {
    if (isfinite(r->spearman))
        return NULL;
    return r->pairs < 2                   ? "there is only one pair"
           : all_equal(r->gold, r->pairs) ? "all gold scores are equal"
                                          : "all similarities are equal";
}

/* Stores a result. Only the results of files and subsets add to the counts of empty and truncated texts, because the
 * results of totals are computed from the same texts. */
static void keep(void *user, const aoe_sts_result *r) {
    const row kept = {*r, why_undefined(r)};
    const int is_part = r->row == AOE_STS_FILE || r->row == AOE_STS_SUBSET;
    cli_eval_keep(user, &kept, r->name, is_part ? r->empty : 0, is_part ? r->truncated : 0);
}

static int score(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err) {
    aoe_sts_options *o = e->own;
    o->progress = cli_eval_progress;
    o->user = e;
    return aoe_eval_sts(embedder, args->operand, args->n, o, keep, e, err);
}

static void warn(const cli_eval *e) {
    const row *rows = e->results;
    for (size_t i = 0; i < e->n; i++)
        if (rows[i].undefined)
            cli_warn("%s: the correlation is undefined: %s", e->names[i], rows[i].undefined);
}

static int run_command(int argc, char **argv) {
    aoe_sts_options o;
    aoe_sts_options_defaults(&o);
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_sts_similarity_rows, &o),
        CLI_COLUMNS_GROUP("tables", &o.table),
        CLI_TABLE_INPUT_GROUP(&o.table),
    };
    const cli_evaluation e = {
        .command = "eval sts",
        .operands = "FILE...",
        .about =
            "Evaluates a model on semantic textual similarity (STS). Prints the Spearman and the Pearson\n"
            "correlation of similarities and gold scores, multiplied by 100. A FILE is a table with the columns\n"
            "text1, text2 and label (.tsv, .csv, .jsonl or .json, optionally compressed), or a SentEval directory\n"
            "such as STS12-en-test. For a directory, one row per subset and one row for all pairs of the\n"
            "directory are printed. If several FILEs are given, the last row is for the pairs of all FILEs\n"
            "together.\n",
        .examples = "  aoe eval sts -m model examples/test.tsv\n",
        CLI_GROUPS(groups),
        .own = &o,
        .similarity = &o.similarity,
        .doing = "evaluating",
        .unit = "pairs",
        .pairs = 1,
        .result_size = sizeof(row),
        CLI_EVAL_FIELDS(fields),
        .score = score,
        .warn = warn,
    };
    return cli_evaluate(&e, argc, argv);
}

const cli_command cli_eval_sts_command = {
    .name = "sts",
    .summary = "semantic textual similarity: correlation of similarities with gold scores",
    .run = run_command,
};
