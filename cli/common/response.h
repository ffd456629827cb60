/* SPDX-License-Identifier: MIT
 * Response files (@FILE): one option a line, or one operand. What follows an
 * option's name on its line is its value, spaces included. `#` at the start of a line or after a space begins a
 * comment. $NAME and ${NAME} become the environment's values, $$ is a dollar sign. A value in single quotes is
 * taken as it is; double quotes keep spaces and # at its ends.
 */
#ifndef AOE_CLI_COMMON_RESPONSE_H
#define AOE_CLI_COMMON_RESPONSE_H

#include <stddef.h>

typedef struct cli_response cli_response;

int cli_response_open(cli_response **r, const char *path); /* 0, or -1 after reporting the error */
/* The next line that says something: word[n], n 1 or 2, malloc'd, the caller's; its number from 1.
 * 1: a line; 0: the end; -1 after reporting an unset variable or a read error. */
int cli_response_next(cli_response *r, char *word[2], size_t *n, size_t *line);
void cli_response_close(cli_response *r); /* NULL accepted */

#endif
