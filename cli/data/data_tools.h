/* SPDX-License-Identifier: MIT
 * Functions that the commands `aoe data convert`, `split`, `dedup`, `stats` and `check` have in common. They write the
 * rows that the library produces, determine file formats, and print summaries.
 */
#pragma once

#include "cli/common/common.h"

/* The output files of a command. */
typedef struct cli_sink {
    cli_file *file; /* [n] the file of each part of the output, borrowed; zeroed for parts that are not written */
    size_t n;       /* number of parts */
} cli_sink;
/* writes to a part; has the type aoe_write_fn; user: a cli_sink */
int cli_sink_write(void *user, size_t part, const char *data, size_t len);
/* Ends a command. code, err: result of the function of the library. If code is 0, commits the files. Otherwise reports
 * the error; if code is AOE_ECANCELLED, reports the write error that caused it. The caller then calls cli_file_abort
 * for each file. Returns the exit code. */
int cli_sink_end(cli_sink *s, int code, const aoe_error *err);

/* Returns the file extension of an output table, including the extension of the compression, such as ".tsv.gz". Upper
 * and lower case are accepted. Returns "" if the path has no such extension. The result points into `path`. */
const char *cli_table_end(const char *path);
/* Returns the file extension for copies of the rows of a table, such as ".tsv.gz". It is the extension of the table,
 * except that the rows of a .json file are copied as JSON lines (".jsonl"). Returns "" for a path without known
 * extension. */
const char *cli_rows_end(const char *path);
/* Returns 1 if the extension of the output is the one that copies of the input rows must have; see cli_rows_end. The
 * extension of the compression is ignored. */
int cli_same_format(const char *input, const char *output);
/* Copies a text to out[4 most + 4] for a message. Control characters become spaces. If the text has more than `most`
 * characters, it is truncated and "..." is appended. */
void cli_excerpt(char *out, aoe_text text, size_t most);

/* Rejects --json if the output is written to stdout, because --json prints the summary to stdout. rows: word for the
 * output in the message, for example "rows". Returns CLI_GO, or the exit code after reporting the usage error. */
int cli_check_summary(const char *command, int json, const char *output, const char *rows);
/* Prints a summary to stdout. If results_on_stdout is 1, prints it as a note to stderr instead. */
void cli_summary(int results_on_stdout, const char *fmt, ...);
