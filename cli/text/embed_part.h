/* SPDX-License-Identifier: MIT
 * Parts of the texts of `aoe embed`. A part contains consecutive texts of the input. All parts have nearly the same
 * number of bytes of text, which depends only on the input.
 */
#pragma once

#include "cli/common/part.h"
#include "cli/common/text_files.h"
#include "cli/text/vector_output.h"

/* A part of the texts. A zeroed struct selects all texts. */
typedef struct cli_embed_part {
    aoei_part part;
    char *path;       /* file of the part, owned */
    json_t *identity; /* identity of the work, owned */
    /* private */
    int has_names;          /* 1: the output contains the names of the files */
    uint64_t total, before; /* weights of all texts, and of the texts before the current one */
    uint64_t hash, found;   /* hashes of all texts: of the first reading, and of the texts that were read again */
    size_t texts;
} cli_embed_part;

/* Reads all texts to determine which of them belong to the part. Returns 0, or 1 after reporting an error, for example
 * that an input is a pipe and cannot be read twice. */
int cli_embed_part_scan(cli_embed_part *p, const cli_args *args, const aoe_table_options *t);
/* Returns 1 if the next text belongs to the part. Called for all texts in order, after cli_embed_part_scan. */
int cli_embed_part_accept(cli_embed_part *p, const char *name, aoe_text text);
/* Sets p->identity and p->path. options: the options of the command, whose reference is taken; ranges: [2, dims] the
 * ranges, or NULL; output: the output of the command, whose format, precision and dims are set. Returns 0, or 1 after
 * reporting the error. */
int cli_embed_part_identify(cli_embed_part *p, const aoe_model *m, json_t *options, const float *ranges,
                            const cli_vector_output *o, const char *output);
/* Writes the marker after the file was written. Returns 0, or 1 after reporting the error. */
int cli_embed_part_complete(const cli_embed_part *p, const char *output);
void cli_embed_part_destroy(cli_embed_part *p); /* accepts a zeroed struct */

/* Checks the parts of an output and writes the output from them. Returns 0, or 1 after reporting the error. */
int cli_embed_join(const char *output);
