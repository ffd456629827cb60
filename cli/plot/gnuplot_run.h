/* SPDX-License-Identifier: MIT
 * Runs gnuplot on a script in the script's directory, without a shell.
 */
#ifndef AOE_CLI_PLOT_GNUPLOT_RUN_H
#define AOE_CLI_PLOT_GNUPLOT_RUN_H

const char *cli_gnuplot_base(const char *name); /* the last component of a path; points into name */
/* Runs gnuplot on the existing file NAME.gp and renames its images to svg and png, both or neither. characters: see
 * cli_picture_draw. Returns 0, or 1 after reporting the error. */
int cli_gnuplot_run(const char *name, const char *svg, const char *png, int characters);

#endif
