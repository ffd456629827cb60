/* SPDX-License-Identifier: MIT
 * Prints messages on stderr, and tables and JSON lines on stdout. If a memory allocation fails, these functions print a
 * message and end the program.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include <aoe.h>

/* ---- memory: these functions never return NULL. If the allocation fails, they print a message and end the program
 * with exit code 1. The caller frees the memory with free(). */

void *cli_realloc(void *p, size_t bytes);    /* p may be NULL */
void *cli_calloc(size_t count, size_t size); /* zeroed */
char *cli_strdup(const char *s);

/* ---- messages: each message is one line on stderr. If a progress bar is shown on the terminal, it is cleared
 * first. */

void cli_set_quiet(int quiet); /* 1: notes and progress are no longer printed; warnings and errors are */
int cli_is_quiet(void);
void cli_message(const char *fmt, ...); /* prints a message without a prefix */
void cli_note(const char *fmt, ...);    /* prints a message without a prefix; prints nothing in quiet mode */
/* Prints a message of the library as cli_note or cli_warn does, but a message that was already printed is not printed
 * again. user is not used. Corresponds to aoe_log_fn. */
void cli_log_once(void *user, aoe_log_level level, const char *message);
void cli_warn(const char *fmt, ...); /* prints "aoe: warning: ..." */
int cli_fail(const char *fmt, ...);  /* prints "aoe: ..."; returns exit code 1 */
/* Sets a function that changes later messages. The function writes the text to be printed instead of `text` to
 * out[size]. If it is NULL, messages are printed unchanged. */
typedef void (*cli_message_filter)(char *out, size_t size, const char *text, const void *user);
void cli_set_message_filter(cli_message_filter filter, const void *user);
/* Later messages are stored in text[size], which contains only the last message, and are not printed. If text is NULL,
 * messages are printed again. */
void cli_catch_messages(char *text, size_t size);

/* ---- stdout */

void cli_flush_stdout(void); /* flushes stdout; cli_check_stdout reports the first error */
/* Flushes stdout. Returns 0 if all output was written. Returns 1 after reporting that output was lost, for example
 * because the disk is full. If stdout is a pipe and its reader has closed it, returns 1 without a message. */
int cli_check_stdout(void);
int cli_stdout_closed(void);        /* returns 1 if stdout is a pipe and its reader has closed it */
void cli_print_json(json_t *value); /* prints the value as one line and flushes stdout; takes ownership of value */
/* Writes a JSON value without a line end. Returns 0, or -1 if memory allocation failed. ferror(f) shows whether writing
 * failed. */
int cli_put_json(FILE *f, const json_t *value);
json_t *cli_json_real(double x); /* returns x as a JSON number, or JSON null if x is not finite */
/* returns s[len] as a JSON string; if s is not valid UTF-8, all non-ASCII bytes become '?' */
json_t *cli_json_text(const char *s, size_t len);

/* Returns a JSON value as text for a table or a plot: a string without its quotes; "on" or "off" for true and false; a
 * number with six significant digits; compact JSON for any other value. The caller frees the text with free(). */
char *cli_json_value_text(const json_t *value);

/* Writes a score in the unit in which it is printed, such as a percentage, with two digits after the point. If it is
 * not finite, writes "-". Tables and plots format scores only with this function, so that they round a score
 * equally. */
void cli_format_score(char out[32], double score);

/* ---- tables: each column is as wide as its widest cell */

typedef struct cli_table {
    char **cell;       /* [cells] texts of the cells, row by row, owned */
    size_t columns;    /* number of cells per row */
    size_t cells;      /* total number of cells */
    const char *align; /* [columns] alignment of each column, 'l' (left) or 'r' (right); borrowed */
} cli_table;

/* Begins an empty table. align: one character per column, 'l' (left) or 'r' (right); borrowed. */
void cli_table_begin(cli_table *t, const char *align);
void cli_table_cell(cli_table *t, const char *fmt, ...); /* appends a cell; each row has `columns` cells */
/* Appends a cell with the number x, which is printed with `digits` digits after the point. If x is NaN, the cell is
 * "-". */
void cli_table_real(cli_table *t, int digits, double x);
void cli_table_cells(cli_table *t, const char *const *texts, size_t n); /* appends n cells, for example column
                                                                           headings */
void cli_table_print(cli_table *t);                                     /* prints to stdout and empties the table */
void cli_table_free(cli_table *t);                                      /* accepts a zeroed table */

/* Formats in which a table is printed. The first row of a table is its header. */
typedef enum cli_table_format { CLI_TABLE_ALIGNED, CLI_TABLE_CSV, CLI_TABLE_MARKDOWN } cli_table_format;
void cli_table_print_as(cli_table *t, cli_table_format format); /* prints to stdout and empties the table */
