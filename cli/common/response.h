/* SPDX-License-Identifier: MIT
 * Reads response files (@FILE). Each line contains one option or one operand. The text after the name of an option is
 * its value, which may contain spaces. A '#' at the start of a line or after a space begins a comment. $NAME and
 * ${NAME} are replaced by the value of the environment variable NAME, and $$ by a dollar sign. A value in single quotes
 * is not changed. In a value in double quotes, variables are replaced, but a '#' and spaces at both ends are part of
 * the value.
 */
#pragma once

#include <stddef.h>

typedef struct cli_response cli_response;

int cli_response_open(cli_response **r, const char *path); /* opens *r; returns 0, or -1 after reporting the error */
/* Reads the next line that is not empty and not a comment. Sets *n to the number of its arguments, 1 or 2, word[] to
 * the arguments, which the caller frees with free(), and *line to the line number, counted from 1. Returns 1 if a line
 * was read, 0 at the end of the file, or -1 after reporting an invalid line or a read error. */
int cli_response_next(cli_response *r, char *word[2], size_t *n, size_t *line);
void cli_response_close(cli_response *r); /* accepts NULL */
