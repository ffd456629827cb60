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
/* From now on messages go to text[size], which holds the newest; NULL: to stderr again. */
void cli_catch_messages(char *text, size_t size);

/* ---- stdout */

void cli_flush_stdout(void); /* remembers why it failed */
/* 0, or 1 after reporting that something written to stdout was lost (full disk). Flushes. A reader that has closed its
 * pipe has seen enough: 1 without a word. */
int cli_check_stdout(void);
int cli_stdout_closed(void);                      /* 1: the reader closed the pipe */
void cli_print_json(json_t *value);               /* one line, flushed; takes the reference */
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

/* ---- progress: a bar on a terminal, else a line every few seconds, nothing when quiet */

typedef struct cli_progress {
    const char *what; /* "embedding", borrowed */
    const char *unit; /* "texts", borrowed */
    double start, shown;
    size_t first; /* units done before the start (resumed runs) */
    int active;
} cli_progress;

void cli_progress_begin(cli_progress *p, const char *what, const char *unit, size_t done);
/* total 0: not known. rate_text replaces the units a second, extra is put at the end; both may be NULL. */
void cli_progress_update(cli_progress *p, size_t done, size_t total, const char *rate_text, double seconds_left,
                         const char *extra);
void cli_progress_end(cli_progress *p);                /* removes the bar */
void cli_format_seconds(char out[32], double seconds); /* "4 s", "2:05", "1:02:05" */

/* ---- result files */

typedef struct cli_file {
    FILE *file;       /* write here */
    const char *path; /* borrowed; NULL: stdout */
    char *target;     /* owned; path with links followed, when temp is set */
    char *temp;       /* owned; NULL when written in place (stdout, devices, pipes) */
} cli_file;

int cli_is_stdout(const char *path); /* NULL, or "-" */
/* 1: both names are one file by device and inode; of files that are not there yet, one name in one folder. */
int cli_is_same_file(const char *a, const char *b);
/* 1 after reporting that the output would take the place of an input; 0: it does not. */
int cli_refuse_input(const char *output, const char *const *inputs, size_t n);
/* path as cli_is_stdout has it, or a file. Returns 0, or 1 after reporting the error. */
int cli_file_open(cli_file *f, const char *path);
int cli_file_check(cli_file *f);                 /* 0, or 1 after reporting that a write failed */
int cli_file_commit(cli_file *f);                /* flush, fsync, rename; likewise */
int cli_files_commit(cli_file *files, size_t n); /* of several: all are on the disk before the first is renamed */
void cli_file_abort(cli_file *f);                /* removes what was written; accepts a zeroed or committed one */
int cli_is_seekable(FILE *f);

#endif
