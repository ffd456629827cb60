/* SPDX-License-Identifier: MIT
 * The common part of all plots. Each kind of plot is defined in cmd_KIND.c; gnuplot.h writes the files.
 */
#ifndef AOE_CLI_PLOT_PLOT_H
#define AOE_CLI_PLOT_PLOT_H

#include "cli/common/common.h"
#include "cli/plot/gnuplot.h"
#include "cli/plot/quote.h"

typedef struct cli_plot_options {
    cli_general general;
    const char *output; /* path of the plot without extension */
    const char *title;  /* title of the plot; "": none */
} cli_plot_options;

enum { CLI_PLOT_COUNT = 2 };
extern const cli_option cli_plot_table[CLI_PLOT_COUNT]; /* base: cli_plot_options */

void cli_plot_defaults(cli_plot_options *o);
/* Calls cli_parse and checks the options of all plots. Returns CLI_GO or an exit code. */
int cli_plot_parse(cli_args *args, const cli_syntax *s, const cli_plot_options *o, int argc, char **argv);

/* Returns the path of the file `name` in the directory `given`, or a copy of `given` if it is not a directory. The caller frees
 * it with free(). */
char *cli_plot_input(const char *given, const char *name);

#endif
