/* SPDX-License-Identifier: MIT
 * aoe data: the table of its subcommands; each is a file of its own.
 */
#include "cli/common/dispatch.h"

static const cli_command subcommands[] = {
    {"convert", "a table in another format (.tsv .csv .jsonl) or form; NLI pairs as triples", cli_data_convert},
    {"split", "rows into train, dev and test, no text in two of them", cli_data_split},
    {"dedup", "rows that are there before left out, labels that contradict named", cli_data_dedup},
    {"stats", "rows, texts, labels and lengths of tables", cli_data_stats},
    {"check", "what is wrong in tables, and leaks between them, row by row", cli_data_check},
    {"github-issues", "pairs of duplicates among the issues of repositories", cli_data_github_issues},
    {"mine", "hard negatives for queries and their positives", cli_data_mine},
    {"annotate", "pairs and triples that chat models write for texts", cli_data_annotate},
    {"score", "labels from 0 to 5 that chat models give to pairs", cli_data_score},
};

int cli_data(int argc, char **argv) {
    const cli_family family = {
        .command = "data",
        .noun = "subcommand",
        .usage = "SUBCOMMAND [OPTIONS] [FILES]",
        .about = "Makes training data, and looks after it.\n",
        .list = subcommands,
        .n = sizeof subcommands / sizeof *subcommands,
    };
    return cli_run_subcommand(&family, argc, argv);
}
