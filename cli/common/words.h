/* SPDX-License-Identifier: MIT
 * Lists of words, as an argv: split from a text or read from response files, and
 * written as a command line that a shell takes back to the same words.
 */
#ifndef AOE_CLI_COMMON_WORDS_H
#define AOE_CLI_COMMON_WORDS_H

#include <stddef.h>

#include <jansson.h>

typedef struct cli_words {
    char **word; /* [n] owned, and behind them a NULL */
    size_t n;
} cli_words;

void cli_words_add(cli_words *w, const char *fmt, ...);
void cli_words_append(cli_words *w, const cli_words *more);
/* Splits at spaces outside quotes, single or double, which are taken off. 0, or -1: a quote has no end. */
int cli_words_split(cli_words *w, const char *text);
/* The words, and for @FILE those of the response file. 0, or 1 after reporting the error. */
int cli_words_expand(cli_words *w, const char *const *word, size_t n);
char *cli_words_command(const cli_words *w); /* quoted where a shell needs it; free() it */
json_t *cli_words_json(const cli_words *w);
void cli_words_free(cli_words *w); /* accepts a zeroed one */

/* As snprintf into as much memory as it takes; free() it. */
char *cli_format(const char *fmt, ...);

#endif
