/* SPDX-License-Identifier: MIT
 * What the program prints: messages and progress on stderr, tables and JSON
 * lines on stdout, result files written beside and renamed. JSON is built with jansson, which the
 * library depends on too. Memory that runs out ends the program with a message.
 */
#ifndef AOE_CLI_COMMON_OUTPUT_H
#define AOE_CLI_COMMON_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

/* ---- memory: never NULL; exit code 1 after a message when there is none */

void *cli_realloc(void *p, size_t bytes); /* p NULL: a new block; free() it */
char *cli_strdup(const char *s);          /* likewise */

/* ---- messages, one line each, to stderr; a progress bar on the terminal makes room */

void cli_set_quiet(int quiet); /* no notes and no progress; warnings and errors stay */
int cli_is_quiet(void);
void cli_message(const char *fmt, ...); /* as it is */
void cli_note(const char *fmt, ...);    /* likewise, unless quiet */
void cli_warn(const char *fmt, ...);    /* "aoe: warning: ..." */
int cli_fail(const char *fmt, ...);     /* "aoe: ..."; returns exit code 1 */
/* Messages pass through filter(out, size, text, user) from now on, which writes the text to print into out[size];
 * NULL: they are printed unchanged. */
typedef void (*cli_message_filter)(char *out, size_t size, const char *text, const void *user);
void cli_set_message_filter(cli_message_filter filter, const void *user);
/* From now on messages go to text[size], which holds the newest; NULL: to stderr again. */
void cli_catch_messages(char *text, size_t size);

/* ---- stdout */

void cli_flush_stdout(void); /* remembers why it failed */
/* 0, or 1 after reporting that something written to stdout was lost (full disk). Flushes. A reader that has closed its
 * pipe has seen enough: 1 without a word. */
int cli_check_stdout(void);
int cli_stdout_closed(void);        /* 1: the reader closed the pipe */
void cli_print_json(json_t *value); /* one line, flushed; takes the reference */
/* Writes a value to a stream on one line, without the line end; -1: out of memory. Errors of the stream stay in it. */
int cli_put_json(FILE *f, const json_t *value);
json_t *cli_json_real(double x);                  /* null when x is not finite */
json_t *cli_json_text(const char *s, size_t len); /* bytes that are not UTF-8 (paths) become '?' */

/* ---- tables: columns as wide as their widest cell */

typedef struct cli_table {
    char **cell; /* [cells], owned */
    size_t columns;
    size_t cells;      /* filled so far */
    const char *align; /* [columns] 'l' or 'r', borrowed */
} cli_table;

void cli_table_begin(cli_table *t, const char *align);
void cli_table_cell(cli_table *t, const char *fmt, ...); /* cells are filled row by row */
void cli_table_print(cli_table *t);                      /* to stdout, then empties the table */
void cli_table_free(cli_table *t);                       /* accepts a zeroed one */

/* The same for other readers; the first row is the heading. */
typedef enum cli_table_format { CLI_TABLE_ALIGNED, CLI_TABLE_CSV, CLI_TABLE_MARKDOWN } cli_table_format;
void cli_table_print_as(cli_table *t, cli_table_format format); /* to stdout, then empties the table */

#endif
