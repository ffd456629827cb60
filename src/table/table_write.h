/* SPDX-License-Identifier: MIT
 * Writes the rows of a table as .tsv, .csv, .jsonl or .txt. The output is compressed if its file name ends in .gz or
 * .zst. The functions of table.h read the written values back unchanged. If the format cannot represent a value,
 * writing fails, and the message names a format that can.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/buffer.h"
#include "table/compress.h"
#include "table/table.h"

/* One value of a row. If `json` is not NULL, it is the value. Otherwise, if `list` is not NULL, the list is the value.
 * Otherwise `text` is the value. All pointers are borrowed. */
typedef struct aoei_cell {
    aoe_text text;        /* text, used if `list` and `json` are NULL */
    const aoe_text *list; /* [n] alternative texts (at least two), or NULL */
    size_t n;
    const json_t *json; /* any JSON value, or NULL */
    int is_number;      /* 1: `text` is a number; it is written to .jsonl without quotes */
} aoei_cell;

typedef struct aoei_table_writer {
    aoe_table_format format;
    aoe_text *name;  /* [n] column names after renaming; the array is owned, the bytes are borrowed from the caller */
    size_t *order;   /* [columns] indices of the cells that are written, in output order; owned */
    size_t n;        /* number of cells in each row that the caller passes */
    size_t columns;  /* number of columns that are written */
    int started;     /* 1: the beginning of the output is written */
    aoei_buffer row; /* formatted rows that are not yet compressed and written, owned */
    aoei_compressor compressor;
} aoei_table_writer;

/* Opens the writer and writes the header. The caller calls aoei_table_writer_free even if this function fails.
 * - path: name of the output file, which determines the format and the compression
 * - name: [n] column names, borrowed until aoei_table_writer_free
 * - keep, rename: as in aoe_data_convert_options
 * - write, user: function that receives the output, and its first argument
 * Errors: AOE_EARG (an unknown or repeated column), AOE_EFORMAT (the format cannot represent a name), and the errors of
 * aoei_compress_write. */
int aoei_table_writer_open(aoei_table_writer *w, const char *path, const aoe_text *name, size_t n, const char *keep,
                           const char *rename, aoe_write_fn write, void *user, aoe_error *err);
/* Writes a row. cell: [n] cells. file, line: position of the row in the input, for messages. Errors: AOE_EFORMAT (the
 * format cannot represent a value), and the errors of aoei_compress_write. */
int aoei_table_writer_row(aoei_table_writer *w, const aoei_cell *cell, const char *file, size_t line, aoe_error *err);
/* Writes the buffered rows and the end of the compressed output. */
int aoei_table_writer_end(aoei_table_writer *w, aoe_error *err);
void aoei_table_writer_free(aoei_table_writer *w); /* accepts a zeroed struct */
