/* SPDX-License-Identifier: MIT
 * Writes the rows of a table as .tsv, .csv, .jsonl or .txt, compressed according to the extension. The inverse of table.h:
 * written values are read back unchanged. A value that the format cannot represent is an error, whose message names a
 * suitable format.
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
    aoe_text
        text; /* text of the cell, used unless list or json is set; all pointers in this struct are borrowed for the call */
    const aoe_text *list; /* [n] alternative texts, at least two; NULL: no list */
    size_t n;
    const json_t *json; /* any JSON value; NULL: use text or list */
    int is_number;      /* 1: text is a number; .jsonl gets it without quotes */
} aoei_cell;

typedef struct aoei_table_writer {
    aoe_table_format format;
    aoe_text *name; /* [n] names of the output columns, owned; their bytes are borrowed from the caller of open */
    size_t *order;  /* [columns] indices of the cells to write, owned */
    size_t n, columns;
    aoei_buffer row;
    aoei_compressor compressor;
} aoei_table_writer;

/* Opens the writer and writes the header. path: name of the output, which determines format and compression. name: [n]
 * columns. keep and rename: as in aoe_data_convert_options. All are borrowed until the end. Errors: AOE_EARG (an unknown or
 * repeated column), AOE_EFORMAT (the format cannot represent a name), those of aoei_compress_write. *w must be freed even if
 * this fails. */
int aoei_table_writer_open(aoei_table_writer *w, const char *path, const aoe_text *name, size_t n, const char *keep,
                           const char *rename, aoe_write_fn write, void *user, aoe_error *err);
/* Writes a row. cell: [n]; file, line: origin of the row for messages. */
int aoei_table_writer_row(aoei_table_writer *w, const aoei_cell *cell, const char *file, size_t line, aoe_error *err);
int aoei_table_writer_end(aoei_table_writer *w, aoe_error *err);
void aoei_table_writer_free(aoei_table_writer *w); /* accepts a zeroed struct */

#endif
