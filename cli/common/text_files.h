/* SPDX-License-Identifier: MIT
 * Reads texts from files of lines and from tables in batches.
 */
#ifndef AOE_CLI_COMMON_TEXT_FILES_H
#define AOE_CLI_COMMON_TEXT_FILES_H

#include "aoe_data.h"
#include "cli/common/options.h"
#include "cli/common/text_input.h"

/* A batch of texts that were read by cli_text_files_read. */
typedef struct cli_text_files {
    cli_batch batch;                            /* the texts of the current batch, owned */
    int (*use)(void *user, const cli_batch *b); /* receives each batch; returns 0, or 1 after reporting an error */
    void *user;                                 /* first argument of use */
    /* private */
    const char *table_path; /* path of the table that is being read, borrowed; NULL: lines are read */
    size_t row;             /* number of texts that were read from the current table */
    int reported;           /* 1: `use` failed while a table was read, and the error was reported */
} cli_text_files;

/* Reads the texts of the files args->operand, or of stdin if there are none, and calls f->use with batches of them in order. A
 * file is a table or contains one text per line, as its extension and the options say; a table may be compressed. If no file is
 * a table, the files are read as one sequence of lines. t: the options columns, input_format and delimiter. The caller creates
 * f->batch and sets `use` and `user`. Returns 0, or 1 after reporting the error. */
int cli_text_files_read(cli_text_files *f, const cli_args *args, const aoe_table_options *t);
/* Reports an error of the library, and returns 1. If text i of the current batch caused the error, the message contains the
 * file and the line of the text. i: index of the text; any other number if no text caused the error. */
int cli_text_files_fail(const cli_text_files *f, size_t i, const aoe_error *err);

#endif
