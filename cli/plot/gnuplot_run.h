/* SPDX-License-Identifier: MIT
 * Runs gnuplot on a script in the script's directory, without a shell.
 */
#ifndef AOE_CLI_PLOT_GNUPLOT_RUN_H
#define AOE_CLI_PLOT_GNUPLOT_RUN_H

/* Runs gnuplot on the existing file NAME.gp, which writes its images to the files svg and png. If one image fails, neither file
 * is written. characters: see cli_picture_draw. Returns 0, or 1 after reporting the error. */
int cli_gnuplot_run(const char *name, const char *svg, const char *png, int characters);

#endif
