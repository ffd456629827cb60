/* SPDX-License-Identifier: MIT
 * Runs gnuplot on a script, in the directory of the script and without a shell.
 */
#pragma once

/* Runs gnuplot on the existing file NAME.gp. svg, png: paths of the images that gnuplot draws; if drawing one of them
 * fails, neither file is written. characters: as for cli_picture_draw. Returns 0, or 1 after reporting the error. */
int cli_gnuplot_run(const char *name, const char *svg, const char *png, int characters);
