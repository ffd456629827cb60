/* SPDX-License-Identifier: MIT
 * aoe data: the table of its subcommands; each is a file of its own.
 */
#include "subcommands.h"

static const cli_command subcommands[] = {
    {"github-issues", "pairs of duplicates among the issues of repositories", cli_data_github_issues},
    {"mine", "hard negatives for queries and their positives", cli_data_mine},
};

int cli_data(int argc, char **argv) {
    const cli_family family = {
        .command = "data",
        .noun = "subcommand",
        .usage = "SUBCOMMAND [OPTIONS] [FILES]",
        .about = "Makes training data.\n",
        .list = subcommands,
        .n = sizeof subcommands / sizeof *subcommands,
    };
    return cli_run_subcommand(&family, argc, argv);
}
