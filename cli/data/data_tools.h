/* SPDX-License-Identifier: MIT
 * The shared part of aoe data convert, split, dedup, stats and check: options, file formats by extension, and writing
 * the rows that the library produces.
 */
#ifndef AOE_CLI_DATA_DATA_TOOLS_H
#define AOE_CLI_DATA_DATA_TOOLS_H

#include "cli/common/common.h"

/* The output files of a command. */
typedef struct cli_sink {
    cli_file *file; /* [n] one file per part of the output, borrowed; zeroed for parts that are not written */
    size_t n;       /* number of parts */
} cli_sink;
int cli_sink_write(void *user, size_t part, const char *data, size_t len); /* has the type aoe_write_fn; user: a cli_sink */
/* Commits the files if code, which a function of the library returned, is 0. Otherwise reports its error or, if code is
 * AOE_ECANCELLED, the write error that caused it. The caller then calls cli_file_abort for each file. Returns the exit code. */
int cli_sink_end(cli_sink *s, int code, const aoe_error *err);

/* Returns the extension of path that names the format and the compression of a table, such as ".tsv.gz", in upper or lower
 * case. Returns "" if there is none. The result points into path. */
const char *cli_table_end(const char *path);
/* Returns 1 if both file names have extensions of the same format; compression is ignored. */
int cli_same_format(const char *a, const char *b);
/* Copies at most `most` characters of a text to out[4 most + 4]. "..." marks a truncated text; control characters become
 * spaces. */
void cli_excerpt(char *out, aoe_text text, size_t most);

/* Rejects --json if stdout receives the output, because --json prints a summary there. rows: what is written, for example
 * "rows". Returns CLI_GO, or the exit code of a usage error. */
int cli_check_summary(const char *command, int json, const char *output, const char *rows);
/* Prints a summary to stdout, or as a note to stderr if stdout receives the rows. */
void cli_summary(int results_on_stdout, const char *fmt, ...);

#endif
