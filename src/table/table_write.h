/* SPDX-License-Identifier: MIT
 * Rows of a table on their way out: .tsv, .csv, .jsonl or .txt, compressed where the name says so. The way back of table.h:
 * what was written is read again as it was given, or it is an error that says which format can hold it.
 */
#ifndef AOEI_TABLE_TABLE_WRITE_H
#define AOEI_TABLE_TABLE_WRITE_H

#include <jansson.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/buffer.h"
#include "table/compress.h"
#include "table/table.h"

typedef struct aoei_cell {
    aoe_text text;        /* of neither of the next two */
    const aoe_text *list; /* [n] alternatives, two or more: a list; NULL: none. All borrowed for the call */
    size_t n;
    const json_t *json; /* any value; NULL: none */
    int is_number;      /* 1: text is one, and .jsonl has it without quotes */
} aoei_cell;

typedef struct aoei_table_writer {
    aoe_table_format format;
    aoe_text *name; /* owned [n], columns as they are written; their bytes are those that open was given */
    size_t *order;  /* owned [columns] which cells are written */
    size_t n, columns;
    aoei_buffer row;
    aoei_compressor compressor;
} aoei_table_writer;

/* Writes the header. path: of the output, says format and compression; name: [n] columns, and with keep and rename borrowed
 * until the end; keep, rename: as in
 * aoe_data_convert_options. Errors: AOE_EARG (a column that is not there, or twice), AOE_EFORMAT (a name that the format cannot
 * hold), those of aoei_compress_write. *w is to be freed either way. */
int aoei_table_writer_open(aoei_table_writer *w, const char *path, const aoe_text *name, size_t n, const char *keep,
                           const char *rename, aoe_write_fn write, void *user, aoe_error *err);
/* cell: [n] of a row; file, line: where it comes from, for messages. */
int aoei_table_writer_row(aoei_table_writer *w, const aoei_cell *cell, const char *file, size_t line, aoe_error *err);
int aoei_table_writer_end(aoei_table_writer *w, aoe_error *err);
void aoei_table_writer_free(aoei_table_writer *w); /* accepts a zeroed one */

#endif
