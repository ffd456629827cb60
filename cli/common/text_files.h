/* SPDX-License-Identifier: MIT
 * Reads texts from files and standard input in batches, with the reader of tables and lists of texts (aoe_texts_read).
 */
#pragma once

#include "aoe_data.h"
#include "cli/common/options.h"
#include "cli/common/text_batch.h"

/* A batch of texts that were read by cli_text_files_read. */
typedef struct cli_text_files {
    cli_batch batch;                            /* the texts of the current batch, owned */
    int (*use)(void *user, const cli_batch *b); /* receives each batch; returns 0, or 1 after reporting an error */
    int (*accept)(void *user, const char *name, aoe_text text); /* returns 0 if a text is skipped; NULL: none is */
    void *user;                                                 /* first argument of use and accept */
    /* private */
    const char *name; /* name of the current file for messages, borrowed */
    int whole_files;  /* 1: each file is one text */
    int is_table;     /* 1: the position of a text in messages is its number, not its line */
    int discard;      /* 1: the texts are only checked */
    size_t row;       /* number of texts that were read from the current file */
    int reported;     /* 1: `use` failed, and the error was reported */
} cli_text_files;

/* Reads the texts of the files args->operand, or of stdin if there are none, and calls f->use with batches of them in
 * order. A batch may contain texts of several files. The extension of a file and the options determine its format; a
 * file with an unknown extension contains one text per line. Before the first batch, all regular files without columns
 * are read once, so that an error in a later file is reported before the command prints any output. t: the options for
 * input files. The caller creates f->batch and sets `use` and `user`. Returns 0, or 1 after reporting the error. */
int cli_text_files_read(cli_text_files *f, const cli_args *args, const aoe_table_options *t);
/* Reports an error of the library, and returns 1. If text i of the current batch caused the error, the message contains
 * the file and the line of the text. i: index of the text; any other number if no text caused the error. */
int cli_text_files_fail(const cli_text_files *f, size_t i, const aoe_error *err);
