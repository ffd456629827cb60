/* SPDX-License-Identifier: MIT
 * Dispatch of subcommands.
 */
#include "cli/common/dispatch.h"

#include <stdlib.h>
#include <string.h>

static void print_help(FILE *out, const cli_family *f) {
    const int first = (int)strcspn(f->usage, " ");
    fprintf(out, "usage: aoe %s %s\n\n%s\n", f->command, f->usage, f->about);
    for (size_t i = 0; i < f->n; i++)
        fprintf(out, "  %-15s%s\n", f->list[i].name, f->list[i].summary);
    fprintf(out, "\n  aoe %s %.*s --help    its options\n", f->command, first, f->usage);
}

static int unknown(const cli_family *f, const char *name) {
    const char **names = cli_realloc(NULL, f->n * sizeof *names);
    for (size_t i = 0; i < f->n; i++)
        names[i] = f->list[i].name;
    const char *closest = cli_closest(name, names, f->n);
    free(names);
    if (closest)
        return cli_usage(f->command, "unknown %s '%s'; did you mean %s?", f->noun, name, closest);
    char list[512] = "";
    for (size_t i = 0; i < f->n; i++) {
        const size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i == 0 ? "" : i + 1 < f->n ? ", " : " and ", f->list[i].name);
    }
    return cli_usage(f->command, "unknown %s '%s'; there are %s", f->noun, name, list);
}

int cli_run_subcommand(const cli_family *f, int argc, char **argv) {
    if (argc == 0) {
        print_help(stderr, f);
        return 2;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_help(stdout, f);
        return 0;
    }
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(argv[0], f->list[i].name) == 0)
            return f->list[i].run(argc - 1, argv + 1);
    if (argv[0][0] == '-')
        return cli_usage(f->command, "'%s' stands before the %s: aoe %s %s", argv[0], f->noun, f->command, f->usage);
    return unknown(f, argv[0]);
}
