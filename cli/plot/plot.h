/* SPDX-License-Identifier: MIT
 * aoe plot: what its kinds of pictures share. Each kind is a file of its own
 * (cmd_KIND.c); the frame of a picture is gnuplot.h.
 */
#ifndef AOE_CLI_PLOT_PLOT_H
#define AOE_CLI_PLOT_PLOT_H

#include "cli/common/common.h"
#include "cli/plot/gnuplot.h"
#include "cli/plot/quote.h"

typedef struct cli_plot_options {
    cli_general general;
    const char *output; /* NAME */
    const char *title;  /* "": none */
} cli_plot_options;

enum { CLI_PLOT_COUNT = 2 };
extern const cli_option cli_plot_table[CLI_PLOT_COUNT]; /* base: cli_plot_options */

void cli_plot_defaults(cli_plot_options *o);
/* cli_parse, then the checks of what all kinds need. */
int cli_plot_parse(cli_args *args, const cli_syntax *s, const cli_plot_options *o, int argc, char **argv);

/* Where `given` is a directory, the file of that name in it, else given itself; the caller's. */
char *cli_plot_input(const char *given, const char *name);

#endif
