/* SPDX-License-Identifier: MIT
 * Implements `aoe eval triplets`: computes the fraction of triplets in which the positive is closer to the query than
 * the negative is.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"
#include "options/evaluate.h"

#define AT(field) offsetof(aoe_triplet_result, field)

static const cli_eval_field fields[] = {
    {"triplets", "triplets", CLI_EVAL_COUNT, AT(triplets)},
    {"accuracy", "accuracy", CLI_EVAL_PERCENT, AT(accuracy)},
    {"ties", "ties", CLI_EVAL_PERCENT, AT(ties)},
    {"positive_score", "positive", CLI_EVAL_NUMBER, AT(positive_score)},
    {"negative_score", "negative", CLI_EVAL_NUMBER, AT(negative_score)},
    {"skipped", "skipped", CLI_EVAL_RARE, AT(skipped)},
    {"truncated", NULL, CLI_EVAL_COUNT, AT(truncated)},
};

static void keep(void *user, const aoe_triplet_result *r) {
    cli_eval_keep(user, r, r->name, r->empty, r->truncated);
}

static int score(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err) {
    aoe_triplet_options *o = e->own;
    o->progress = cli_eval_progress;
    o->user = e;
    return aoe_eval_triplets(embedder, args->operand, args->n, o, keep, e, err);
}

static int run_command(int argc, char **argv) {
    aoe_triplet_options o;
    aoe_triplet_options_defaults(&o);
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_triplet_similarity_rows, &o),
        CLI_LIBRARY_GROUP(&aoei_triplets_rows, &o),
        CLI_TABLE_INPUT_GROUP(&o.table),
    };
    const cli_evaluation e = {
        .command = "eval triplets",
        .operands = "FILE...",
        .about =
            "Evaluates a model on triplets (query, positive, negative; or premise, entailment, contradiction). A\n"
            "triplet is correct if the similarity of query and positive is higher than the similarity of query\n"
            "and negative. Prints the percentage of correct triplets (accuracy), the percentage of triplets whose\n"
            "two similarities are equal (ties, which are not correct), the mean similarity of queries and\n"
            "positives, and the mean similarity of queries and negatives.\n",
        .examples = "  aoe eval triplets -m model triplets.tsv\n",
        CLI_GROUPS(groups),
        .own = &o,
        .similarity = &o.similarity,
        .doing = "evaluating",
        .unit = "pairs",
        .pairs = 1,
        .result_size = sizeof(aoe_triplet_result),
        CLI_EVAL_FIELDS(fields),
        .score = score,
    };
    return cli_evaluate(&e, argc, argv);
}

const cli_command cli_eval_triplets_command = {
    .name = "triplets",
    .summary = "fraction of triplets in which the positive is nearer to the query than the negative",
    .run = run_command,
};
