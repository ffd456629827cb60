/* SPDX-License-Identifier: MIT
 * aoe eval: the table of evaluations; each is a file of its own.
 */
#include "cli/common/dispatch.h"

static const cli_command evaluations[] = {
    {"sts", "correlation of cosines and gold scores: tables and SentEval folders", cli_eval_sts},
    {"suite", "STS12 to STS16, STS-B and SICK-R as one row, with the average", cli_eval_suite},
    {"pairs", "pairs of two classes: correlation, accuracy, F1, average precision", cli_eval_pairs},
    {"retrieval", "captions of images, and BEIR folders: strict accuracy, recall, MRR, nDCG", cli_eval_retrieval},
    {"triplets", "how often the positive is nearer than the negative", cli_eval_triplets},
};

int cli_eval(int argc, char **argv) {
    const cli_family family = {
        .command = "eval",
        .noun = "evaluation",
        .usage = "EVALUATION [OPTIONS] FILE...",
        .about = "Judges a model.\n",
        .list = evaluations,
        .n = sizeof evaluations / sizeof *evaluations,
    };
    return cli_run_subcommand(&family, argc, argv);
}
