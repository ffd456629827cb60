/* SPDX-License-Identifier: MIT
 * Output of the program: messages and progress on stderr, tables and JSON lines on stdout. If memory is exhausted, these
 * functions end the program with a message.
 */
#ifndef AOE_CLI_COMMON_OUTPUT_H
#define AOE_CLI_COMMON_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

/* ---- memory: these functions never return NULL; if memory is exhausted, the program prints a message and exits with code 1.
 * The caller frees the memory with free(). */

void *cli_realloc(void *p, size_t bytes);    /* p may be NULL */
void *cli_calloc(size_t count, size_t size); /* zeroed */
char *cli_strdup(const char *s);

/* ---- messages: one line on stderr per message; if a progress bar is shown on the terminal, it is cleared first */

void cli_set_quiet(int quiet); /* 1: warnings and errors are printed, but no notes and no progress */
int cli_is_quiet(void);
void cli_message(const char *fmt, ...); /* prints a message without a prefix */
void cli_note(const char *fmt, ...);    /* prints a message without a prefix, unless quiet */
void cli_warn(const char *fmt, ...);    /* prints "aoe: warning: ..." */
int cli_fail(const char *fmt, ...);     /* prints "aoe: ..."; returns exit code 1 */
/* Sets a filter for later messages: filter(out, size, text, user) writes the text to print into out[size]. NULL: messages are
 * printed unchanged. */
typedef void (*cli_message_filter)(char *out, size_t size, const char *text, const void *user);
void cli_set_message_filter(cli_message_filter filter, const void *user);
/* Redirects later messages to text[size], which then contains the last message. NULL: messages are printed on stderr again. */
void cli_catch_messages(char *text, size_t size);

/* ---- stdout */

void cli_flush_stdout(void); /* flushes stdout and records the first error for cli_check_stdout */
/* Flushes stdout. Returns 0, or 1 after reporting that output was lost, for example on a full disk. If the reader closed the
 * pipe, returns 1 without a message. */
int cli_check_stdout(void);
int cli_stdout_closed(void);        /* returns 1 if the reader closed the pipe */
void cli_print_json(json_t *value); /* prints one line and flushes; takes ownership of value */
/* Writes a value without a line end. Returns 0, or -1 if memory is exhausted. Write errors can be checked with ferror(f). */
int cli_put_json(FILE *f, const json_t *value);
json_t *cli_json_real(double x);                  /* JSON null if x is not finite */
json_t *cli_json_text(const char *s, size_t len); /* if s is not valid UTF-8, non-ASCII bytes become '?' */

/* Returns a JSON value as text for a table or a plot: a string without quotes, "on" or "off", a number with six digits, or
 * compact JSON. The caller frees it with free(). */
char *cli_json_value_text(const json_t *value);

/* ---- tables: each column is as wide as its widest cell */

typedef struct cli_table {
    char **cell;       /* [cells] texts of the cells, row by row, owned */
    size_t columns;    /* cells per row */
    size_t cells;      /* number of cells */
    const char *align; /* [columns] alignment, 'l' or 'r'; borrowed */
} cli_table;

void cli_table_begin(cli_table *t, const char *align);
void cli_table_cell(cli_table *t, const char *fmt, ...); /* appends a cell; a row ends after `columns` cells */
/* Appends a cell with x, formatted with `digits` digits after the point, or "-" if x is NaN. */
void cli_table_real(cli_table *t, int digits, double x);
void cli_table_cells(cli_table *t, const char *const *texts, size_t n); /* appends n cells, for example column headings */
void cli_table_print(cli_table *t);                                     /* prints to stdout and empties the table */
void cli_table_free(cli_table *t);                                      /* accepts a zeroed table */

/* Formats of a table; the first row is the header. */
typedef enum cli_table_format { CLI_TABLE_ALIGNED, CLI_TABLE_CSV, CLI_TABLE_MARKDOWN } cli_table_format;
void cli_table_print_as(cli_table *t, cli_table_format format); /* prints to stdout and empties the table */

#endif
