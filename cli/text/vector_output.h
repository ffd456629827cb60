/* SPDX-License-Identifier: MIT
 * Writes embeddings as JSON lines, as a .npy file or as a table, with 32, 8 or 1 bits per component.
 */
#pragma once

#include <aoe.h>

#include "cli/common/outfile.h"
#include "cli/common/text_batch.h"

typedef enum cli_vector_format {
    CLI_VECTORS_JSONL,
    CLI_VECTORS_NPY,
    CLI_VECTORS_TSV,
    CLI_VECTORS_BY_NAME
} cli_vector_format;

typedef struct cli_vector_output {
    cli_vector_format format; /* never CLI_VECTORS_BY_NAME */
    aoe_precision precision;
    size_t dims;    /* components of an embedding */
    float *ranges;  /* [2, dims] ranges of the components for int8 and uint8, borrowed; otherwise unused */
    int has_chunks; /* 1: the JSON lines contain the number of chunks of each text */
    int has_files;  /* 1: the JSON lines contain the name of the file of each text */
    /* private */
    cli_file *out; /* output file, borrowed */
    /* temporary file for the embeddings, owned; used if the output is a .npy file whose header cannot be rewritten,
     * otherwise NULL */
    FILE *spool;
    FILE *to;           /* stream to which embeddings are written: out->file or spool */
    size_t row_bytes;   /* bytes of an embedding in a .npy file */
    unsigned char *row; /* [row_bytes] workspace: a quantized embedding, owned */
    char *line;         /* workspace: an embedding as text, owned */
    size_t rows;        /* number of embeddings that were written */
} cli_vector_output;

/* Begins the output. The caller sets format, precision, dims, ranges, has_chunks and has_files, zeroes the other
 * fields, and opens `out`. The ranges may be computed later, but before the first embedding is written. Returns 0, or 1
 * after reporting the error. */
int cli_vector_output_begin(cli_vector_output *o, cli_file *out);
/* Writes the embeddings of the texts of a batch. vectors: [batch->n, dims]; info: [batch->n]. Returns 0, or 1 after
 * reporting the error. */
int cli_vector_output_write(cli_vector_output *o, const cli_batch *batch, const float *vectors,
                            const aoe_text_info *info);
/* Appends the embeddings of a file that was written with the same fields. Returns 0, or 1 after reporting the error. */
int cli_vector_output_append(cli_vector_output *o, const char *path);
/* Completes the output, which the caller then commits. Returns 0, or 1 after reporting the error. */
int cli_vector_output_finish(cli_vector_output *o);
void cli_vector_output_destroy(cli_vector_output *o); /* accepts a zeroed struct */
