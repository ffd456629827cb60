/* SPDX-License-Identifier: MIT
 * A list of words, for example the arguments of a command. The words can be taken from a text or from response files. A
 * list can be converted to a command line for a shell.
 */
#pragma once

#include <stddef.h>

typedef struct cli_words {
    char **word; /* [n] words, followed by NULL; array and words owned */
    size_t n;
} cli_words;

void cli_words_add(cli_words *w, const char *fmt, ...);     /* appends one word, formatted like printf() */
void cli_words_append(cli_words *w, const cli_words *more); /* appends copies of the words of another list */
/* Splits a text into words and appends them. Words are separated by spaces. A part of the text in single or double
 * quotes may contain spaces; the quotes are removed. Returns 0, or -1 if a quote is not closed. */
int cli_words_split(cli_words *w, const char *text);
/* Appends the words word[n]. A word "@FILE" is replaced by the arguments in the response file FILE. Returns 0, or 1
 * after reporting the error. */
int cli_words_expand(cli_words *w, const char *const *word, size_t n);
/* Returns a command line for a shell, with quotes where necessary. The caller frees it with free(). */
char *cli_words_command(const cli_words *w);
void cli_words_free(cli_words *w); /* accepts a zeroed list */

/* Returns a new string, formatted like printf(). The caller frees it with free(). */
char *cli_format(const char *fmt, ...);
