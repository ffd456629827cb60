/* SPDX-License-Identifier: MIT
 * Reads .tsv, .csv, .jsonl and .txt files, plain or compressed (.gz, .zst), row by row. docs/data.md describes the formats.
 * columns.h finds the columns of the texts and labels, labels.h converts labels to numbers.
 */
#ifndef AOEI_TABLE_TABLE_H
#define AOEI_TABLE_TABLE_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/csv.h"
#include "table/stream.h"

typedef enum aoei_field_kind {
    AOEI_FIELD_TEXT,   /* JSON string, or any field of the other formats */
    AOEI_FIELD_NUMBER, /* JSON number; the value is in `number` */
    AOEI_FIELD_BOOL,   /* JSON true or false: `text` is "true" or "false", `number` is 1 or 0 */
    AOEI_FIELD_LIST,   /* JSON array; the value is in `list` */
    AOEI_FIELD_OTHER   /* JSON null or object */
} aoei_field_kind;

typedef struct aoei_field {
    aoei_field_kind kind;
    aoe_text text;      /* text, borrowed until the next row; empty for NUMBER, LIST and OTHER */
    double number;      /* value of NUMBER and BOOL */
    const json_t *list; /* value of LIST, borrowed until the next row */
} aoei_field;

typedef struct aoei_row {
    const aoei_field *field; /* [selected columns] in the order of the selection; borrowed until the next row */
    size_t line;             /* line number of the start of the row, counted from 1 */
} aoei_row;

typedef struct aoei_table aoei_table;

/* The end of every message about a bad row. */
#define AOEI_ROW_REMEDY "correct the row or set options.skip_bad_rows"

/* Determines the format from the extension of the file name, without .gz or .zst; case is ignored. "-" (standard input) is
 * AOE_TABLE_TXT. Errors: AOE_EARG for an unknown extension; the message lists the known extensions. */
int aoei_table_format_of(aoe_table_format *format, const char *path, aoe_error *err);
/* Opens a table and reads its header. The columns of a .jsonl file are the keys of its first valid row. If bad rows precede
 * this row, the first calls of aoei_table_next return them. o: only the fields input_format and delimiter are used; if o is
 * NULL, both are detected. Errors: AOE_EFORMAT (empty file, invalid header), AOE_EARG (unknown extension, invalid
 * delimiter), those of aoei_lines_next. */
int aoei_table_open(aoei_table **t, const char *path, const aoe_table_options *o, aoe_error *err);
/* Reads a table from a stream. Takes ownership of s, even on failure. format: any except AOE_TABLE_AUTO; delimiter: 0 to
 * detect it. */
int aoei_table_from(aoei_table **t, aoei_stream *s, aoe_table_format format, char delimiter, aoe_error *err);
void aoei_table_close(aoei_table *t);                      /* accepts NULL */
const char *aoei_table_name(const aoei_table *t);          /* file name; owned by t */
aoe_table_format aoei_table_format(const aoei_table *t);   /* AOE_TABLE_CSV for all delimiters except TAB */
size_t aoei_table_columns(const aoei_table *t);            /* number of columns */
aoe_text aoei_table_column(const aoei_table *t, size_t i); /* name of column i; owned by t */

/* Selects the columns whose fields are returned. column: [n] indices, copied. Call it before the first aoei_table_next. */
int aoei_table_select(aoei_table *t, const size_t *column, size_t n, aoe_error *err);
/* These functions return the name of the i-th selected column (owned by t) and its index among all columns. */
aoe_text aoei_table_selected(const aoei_table *t, size_t i);
size_t aoei_table_selected_index(const aoei_table *t, size_t i);

/* Reads a row. Returns 1 if a row was read, and 0 at the end of the file. Returns AOEI_BAD_ROW if the row is invalid (wrong
 * number of fields, invalid quoting, invalid JSON, missing key); err then contains the reason, and reading may continue.
 * Returns a negative code for any other error; t must then not be read again. */
int aoei_table_next(aoei_table *t, aoei_row *row, aoe_error *err);

/* These functions return the bytes of the header (owned by t) and the bytes of the last row (borrowed until the next row).
 * The bytes are those of the decompressed file, line ends included. The header of .jsonl and .txt files is "". */
aoe_text aoei_table_header_bytes(const aoei_table *t);
aoe_text aoei_table_row_bytes(const aoei_table *t);
size_t aoei_table_line(const aoei_table *t); /* line number of the start of the last row, even if the row is bad */
/* Returns the last row of a .jsonl file, borrowed until the next row; NULL for other formats. */
const json_t *aoei_table_object(const aoei_table *t);

/* Copies the beginning of a text for a message: at most AOEI_EXCERPT - 1 bytes and a NUL, with "..." at the end if the text was
 * truncated. NUL characters of the text become '?'. Returns out. */
enum { AOEI_EXCERPT = 64 };
const char *aoei_excerpt(char out[AOEI_EXCERPT], aoe_text text);

#endif
