/* SPDX-License-Identifier: MIT
 * Options and functions that all plot commands (`aoe plot KIND`) have in common. Each command is defined in cmd_KIND.c.
 * gnuplot.h declares the functions that write the files of a plot.
 */
#pragma once

#include "cli/common/common.h"
#include "cli/plot/gnuplot.h"
#include "cli/plot/quote.h"

typedef struct cli_plot_options {
    cli_general general;
    const char *output; /* path of the plot without file extension */
    const char *title;  /* title of the plot; "": no title */
} cli_plot_options;

enum { CLI_PLOT_COUNT = 2 };
extern const aoei_option cli_plot_table[CLI_PLOT_COUNT]; /* these options set the fields of a cli_plot_options */

void cli_plot_defaults(cli_plot_options *o);
/* Parses the arguments, checks the options that all plot commands have, and calls `draw`, unless the arguments contain
 * --help or an error. o: options of the command, a struct that begins with a cli_plot_options. Returns the exit
 * code. */
int cli_plot_run(const cli_syntax *s, const cli_plot_options *o, int argc, char **argv,
                 int (*draw)(const cli_args *args, const void *options));

/* If `given` is a directory, returns the path of the file `name` in this directory. Otherwise returns a copy of
 * `given`. The caller frees the path with free(). */
char *cli_plot_input(const char *given, const char *name);

/* Reads a file line by line. take: called for each line, with its length and its number counted from 1; returns 0, or 1
 * after reporting an error, which ends the reading. advice: what to do if the file cannot be opened. Returns 0, or 1
 * after reporting the error. */
int cli_plot_read_lines(const char *path, const char *advice,
                        int (*take)(void *user, char *line, size_t len, size_t number), void *user);
