/* SPDX-License-Identifier: MIT
 * Quotes text for gnuplot scripts. Invalid UTF-8 and control characters become '?', except in file names.
 */
#ifndef AOE_CLI_PLOT_QUOTE_H
#define AOE_CLI_PLOT_QUOTE_H

#include <stdio.h>

void cli_gp_string(FILE *gp, const char *text); /* a quoted string */
void cli_gp_path(FILE *gp, const char *path);   /* a quoted file name, byte for byte; without control characters */
void cli_gp_tic(FILE *gp, const char *text);    /* a quoted tick label, in which gnuplot would interpret '%' */
void cli_gp_comment(FILE *f, const char *text); /* text of a comment, without quotes */

#endif
