/* SPDX-License-Identifier: MIT
 * What the data tools (aoe data convert, split, dedup, stats, check) share: options, names of
 * files, and the way of the library's bytes into result files.
 */
#ifndef AOE_CLI_DATA_DATA_TOOLS_H
#define AOE_CLI_DATA_DATA_TOOLS_H

#include "cli/common/common.h"

/* For cli_option.parse; target: an aoe_text_equality. */
int cli_parse_same(void *target, const char *text, aoe_error *err);

/* Where a result goes; for stdout the summary goes to stderr. */
typedef struct cli_sink {
    cli_file *file; /* [n], by part */
    size_t n;
} cli_sink;
int cli_sink_write(void *user, size_t part, const char *data, size_t len); /* an aoe_write_fn; user: a cli_sink */
/* Reports why the library failed, which may be that a file could not be written. Returns 1. */
int cli_sink_fail(cli_sink *s, int code, const aoe_error *err);

/* The end of a path that says format and compression (".tsv.gz"), case ignored; "" where there is none. Points into path. */
const char *cli_table_end(const char *path);
/* 1: both names say the same format, whatever the compression. */
int cli_same_format(const char *a, const char *b);
/* Characters of a text for one line: at most `most`, "..." when it was cut; control characters become spaces. out: [4 most + 4]
 */
void cli_excerpt(char *out, aoe_text text, size_t most);

/* Prints a summary: to stdout, or where results are there, to stderr as a note. */
void cli_summary(int results_on_stdout, const char *fmt, ...);

#endif
