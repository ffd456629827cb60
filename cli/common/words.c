/* SPDX-License-Identifier: MIT
 * Creates lists of words from texts and response files, and converts lists to shell commands and JSON.
 */
#include "cli/common/words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/output.h"
#include "cli/common/response.h"

/* Formats a text like vasprintf(). The caller frees the result with free(). */
static char *format_list(const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    const size_t size = length > 0 ? (size_t)length + 1 : 1;
    char *text = cli_realloc(NULL, size);
    text[0] = 0;
    vsnprintf(text, size, fmt, args);
    return text;
}

char *cli_format(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char *text = format_list(fmt, args);
    va_end(args);
    return text;
}

/* Appends a word and takes ownership of its memory. */
static void take(cli_words *w, char *owned) {
    w->word = cli_realloc(w->word, (w->n + 2) * sizeof *w->word);
    w->word[w->n++] = owned;
    w->word[w->n] = NULL;
}

void cli_words_add(cli_words *w, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    take(w, format_list(fmt, args));
    va_end(args);
}

void cli_words_append(cli_words *w, const cli_words *more) {
    for (size_t i = 0; i < more->n; i++)
        take(w, cli_strdup(more->word[i]));
}

int cli_words_split(cli_words *w, const char *text) {
    const char *s = text;
    for (;;) {
        while (isspace((unsigned char)*s))
            s++;
        if (!*s)
            return 0;
        char *word = cli_realloc(NULL, strlen(s) + 1), quote = 0;
        size_t len = 0;
        for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
            if (quote ? *s == quote : (*s == '\'' || *s == '"'))
                quote = quote ? 0 : *s;
            else
                word[len++] = *s;
        }
        word[len] = 0;
        take(w, word);
        if (quote)
            return -1;
    }
}

/* Appends the arguments in a response file. Returns 0, or 1 after reporting the error. */
static int expand_file(cli_words *w, const char *path) {
    cli_response *r = NULL;
    char *word[2];
    size_t n, line;
    int more = 0;
    if (cli_response_open(&r, path))
        return 1;
    while ((more = cli_response_next(r, word, &n, &line)) > 0)
        for (size_t i = 0; i < n; i++)
            take(w, word[i]);
    cli_response_close(r);
    return more < 0;
}

int cli_words_expand(cli_words *w, const char *const *word, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (word[i][0] == '@') {
            if (expand_file(w, word[i] + 1))
                return 1;
        } else {
            take(w, cli_strdup(word[i]));
        }
    }
    return 0;
}

/* Returns 1 if the word needs no quotes in a shell command. */
static int is_plain(const char *s) {
    const char *first = s;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_-+=./,:%@^", *s))
            return 0;
    return s > first;
}

char *cli_words_command(const cli_words *w) {
    size_t size = 1;
    for (size_t i = 0; i < w->n; i++)
        size += 4 * strlen(w->word[i]) + 3;
    char *text = cli_realloc(NULL, size), *at = text;
    for (size_t i = 0; i < w->n; i++) {
        const char *s = w->word[i];
        if (i)
            *at++ = ' ';
        if (is_plain(s)) {
            at = stpcpy(at, s);
            continue;
        }
        *at++ = '\'';
        for (; *s; s++) {
            if (*s == '\'')
                at = stpcpy(at, "'\\''");
            else
                *at++ = *s;
        }
        *at++ = '\'';
    }
    *at = 0;
    return text;
}

void cli_words_free(cli_words *w) {
    for (size_t i = 0; i < w->n; i++)
        free(w->word[i]);
    free(w->word);
    memset(w, 0, sizeof *w);
}
