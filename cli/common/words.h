/* SPDX-License-Identifier: MIT
 * Lists of words, for example the arguments of a command. They are split from a text or read from response files, and can be
 * formatted as a command line for a shell.
 */
#ifndef AOE_CLI_COMMON_WORDS_H
#define AOE_CLI_COMMON_WORDS_H

#include <stddef.h>

#include <jansson.h>

typedef struct cli_words {
    char **word; /* [n] words followed by NULL, owned */
    size_t n;
} cli_words;

void cli_words_add(cli_words *w, const char *fmt, ...);     /* appends one formatted word */
void cli_words_append(cli_words *w, const cli_words *more); /* appends copies of the words of another list */
/* Splits text at spaces outside of single or double quotes and removes the quotes. Returns 0, or -1 if a quote is not closed.
 */
int cli_words_split(cli_words *w, const char *text);
/* Appends word[n]; a word @FILE is replaced by the words of the response file FILE. Returns 0, or 1 after reporting the error.
 */
int cli_words_expand(cli_words *w, const char *const *word, size_t n);
char *cli_words_command(const cli_words *w); /* returns a command line, quoted for a shell; the caller frees it */
json_t *cli_words_json(const cli_words *w);
void cli_words_free(cli_words *w); /* accepts a zeroed list */

/* Formats into a new string, which the caller frees with free(). */
char *cli_format(const char *fmt, ...);

#endif
