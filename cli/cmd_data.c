/* SPDX-License-Identifier: MIT
 * aoe data: finds the subcommand; each is a file of its own.
 */
#include "common.h"

#include <string.h>

static const cli_command subcommands[] = {
    {"mine", "hard negatives for queries and their positives", cli_data_mine},
};
enum { N_SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static void print_help(FILE *out) {
    fputs("usage: aoe data SUBCOMMAND [OPTIONS] [FILES]\n\nMakes training data.\n\n", out);
    for (size_t i = 0; i < N_SUBCOMMANDS; i++)
        fprintf(out, "  %-12s%s\n", subcommands[i].name, subcommands[i].summary);
    fputs("\n  aoe data SUBCOMMAND --help    its options\n", out);
}

int cli_data(int argc, char **argv) {
    const char *names[N_SUBCOMMANDS];
    if (argc == 0) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < N_SUBCOMMANDS; i++) {
        names[i] = subcommands[i].name;
        if (strcmp(argv[0], names[i]) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    }
    const char *closest = cli_closest(argv[0], names, N_SUBCOMMANDS);
    return closest ? cli_usage("data", "unknown subcommand '%s'; did you mean %s?", argv[0], closest)
                   : cli_usage("data", "unknown subcommand '%s'", argv[0]);
}
