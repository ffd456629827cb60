/* SPDX-License-Identifier: MIT
 * Response files (@FILE). Each line contains one option or one operand. The text after the name of an option is its
 * value, spaces included. '#' at the start of a line or after a space begins a comment. $NAME and ${NAME} are replaced
 * by environment variables, and $$ by a dollar sign. A value in single quotes is used unchanged; double quotes keep
 * spaces and '#' at its ends.
 */
#ifndef AOE_CLI_COMMON_RESPONSE_H
#define AOE_CLI_COMMON_RESPONSE_H

#include <stddef.h>

typedef struct cli_response cli_response;

int cli_response_open(cli_response **r, const char *path); /* 0, or -1 after reporting the error */
/* Reads the next line that is not empty: word[n] with n = 1 or 2, which the caller frees with free(), and the line number,
 * counted from 1. Returns 1 for a line, 0 at the end, -1 after reporting an unset variable or a read error. */
int cli_response_next(cli_response *r, char *word[2], size_t *n, size_t *line);
void cli_response_close(cli_response *r); /* NULL accepted */

#endif
