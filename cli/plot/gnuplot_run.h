/* SPDX-License-Identifier: MIT
 * Running gnuplot on a script, in the folder the script is in, without a shell.
 */
#ifndef AOE_CLI_PLOT_GNUPLOT_RUN_H
#define AOE_CLI_PLOT_GNUPLOT_RUN_H

const char *cli_gnuplot_base(const char *name); /* what follows the last slash; borrowed */
/* Has gnuplot run NAME.gp, which is there, and puts what it drew where svg and png say, both or none. characters: see
 * cli_picture_draw. 0, or 1 after reporting the error. */
int cli_gnuplot_run(const char *name, const char *svg, const char *png, int characters);

#endif
