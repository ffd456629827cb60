/* SPDX-License-Identifier: MIT
 * Writes quoted text to gnuplot scripts. Except in file names, invalid UTF-8 and control characters become '?'.
 */
#pragma once

#include <stdio.h>

void cli_gp_string(FILE *gp, const char *text); /* writes a quoted string */
void cli_gp_path(FILE *gp, const char *path);   /* writes a quoted file name; the name must not contain control
                                                   characters */
void cli_gp_comment(FILE *f, const char *text); /* writes the text of a comment, without quotes */
