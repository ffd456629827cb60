/* SPDX-License-Identifier: MIT
 * aoe eval: finds the evaluation; each is a file of its own.
 */
#include "common.h"

#include <string.h>

static const cli_command evaluations[] = {
    {"sts", "correlation of cosines and gold scores: tables and SentEval folders", cli_eval_sts},
    {"suite", "STS12 to STS16, STS-B and SICK-R as one row, with the average", cli_eval_suite},
    {"pairs", "pairs of two classes: correlation, accuracy, F1, average precision", cli_eval_pairs},
    {"retrieval", "captions of images, and BEIR folders: strict accuracy, recall, MRR, nDCG", cli_eval_retrieval},
    {"triplets", "how often the positive is nearer than the negative", cli_eval_triplets},
};
enum { N_EVALUATIONS = sizeof evaluations / sizeof *evaluations };

static void print_help(FILE *out) {
    fputs("usage: aoe eval EVALUATION [OPTIONS] FILE...\n\nJudges a model.\n\n", out);
    for (size_t i = 0; i < N_EVALUATIONS; i++)
        fprintf(out, "  %-12s%s\n", evaluations[i].name, evaluations[i].summary);
    fputs("\n  aoe eval EVALUATION --help    its options\n", out);
}

int cli_eval(int argc, char **argv) {
    const char *names[N_EVALUATIONS];
    if (argc == 0) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < N_EVALUATIONS; i++) {
        names[i] = evaluations[i].name;
        if (strcmp(argv[0], names[i]) == 0)
            return evaluations[i].run(argc - 1, argv + 1);
    }
    if (argv[0][0] == '-')
        return cli_usage("eval", "'%s' stands before the evaluation: aoe eval sts [OPTIONS] FILE...", argv[0]);
    const char *closest = cli_closest(argv[0], names, N_EVALUATIONS);
    return closest ? cli_usage("eval", "unknown evaluation '%s'; did you mean %s?", argv[0], closest)
                   : cli_usage("eval", "unknown evaluation '%s'; there are sts, suite, pairs, retrieval and triplets", argv[0]);
}
