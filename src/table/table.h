/* SPDX-License-Identifier: MIT
 * Rows of a table, streamed: .tsv (a TAB separates, quotes are literal), .csv
 * (RFC 4180), .jsonl (an object a line) and .txt (a text a line, one column
 * named "text"), each also .gz or .zst. docs/data.md is the manual.
 * What the columns mean is columns.h's business, what a label is labels.h's.
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
    AOEI_FIELD_TEXT,   /* a JSON string; every field of the other formats */
    AOEI_FIELD_NUMBER, /* a JSON number: `number` */
    AOEI_FIELD_BOOL,   /* JSON true or false: `text` is that word, `number` 1 or 0 */
    AOEI_FIELD_LIST,   /* a JSON array: `list` */
    AOEI_FIELD_OTHER   /* JSON null or object */
} aoei_field_kind;

typedef struct aoei_field {
    aoei_field_kind kind;
    aoe_text text; /* borrowed until the next row; empty for NUMBER, LIST and OTHER */
    double number;
    const json_t *list; /* borrowed until the next row */
} aoei_field;

typedef struct aoei_row {
    const aoei_field *field; /* [columns selected], in the order of the selection; borrowed until the next row */
    size_t line;             /* where the row begins, from 1 */
} aoei_row;

typedef struct aoei_table aoei_table;

/* What a message about a bad row ends with. */
#define AOEI_ROW_REMEDY "correct the row or set options.skip_bad_rows"

/* The format by the extension of the file's name, before .gz or .zst, ignoring case; "-" is AOE_TABLE_TXT. AOE_EARG: no known
 * extension; the message lists them. */
int aoei_table_format_of(aoe_table_format *format, const char *path, aoe_error *err);
/* Opens a table and reads its header (of .jsonl: the keys of the first good row; bad ones before it are returned as such).
 * Errors: AOE_EFORMAT (empty file, bad header), AOE_EARG (extension), those of aoei_lines_next. */
int aoei_table_open(aoei_table **t, const char *path, const aoe_table_options *o,
                    aoe_error *err); /* o: input_format and delimiter */
/* Reads a table from a stream, which t owns from now on, also on failure. format: not AOE_TABLE_AUTO; delimiter: 0 to detect.
 */
int aoei_table_from(aoei_table **t, aoei_stream *s, aoe_table_format format, char delimiter, aoe_error *err);
void aoei_table_close(aoei_table *t);                    /* NULL accepted */
const char *aoei_table_name(const aoei_table *t);        /* of the file; owned by t */
aoe_table_format aoei_table_format(const aoei_table *t); /* AOE_TABLE_CSV for any delimiter other than TAB */
size_t aoei_table_columns(const aoei_table *t);
aoe_text aoei_table_column(const aoei_table *t, size_t i); /* its name; owned by t */

/* Chooses the columns (column: [n] indices) of the rows that follow; before the first aoei_table_next. */
int aoei_table_select(aoei_table *t, const size_t *column, size_t n, aoe_error *err);
/* Name of the i-th selected column, and which column that is. */
aoe_text aoei_table_selected(const aoei_table *t, size_t i);
size_t aoei_table_selected_index(const aoei_table *t, size_t i);

/* 1: a row; 0: the end; AOEI_BAD_ROW: the row cannot be read (number of fields, quoting, JSON, a missing key), err says
 * why, reading may go on; or an error after which nothing more may be read. */
int aoei_table_next(aoei_table *t, aoei_row *row, aoe_error *err);

/* As they stand in the (decompressed) file, with their line end where they have one: the header, owned by t, and the row last
 * returned, borrowed until the next one. "" for the header of .jsonl and .txt. */
aoe_text aoei_table_header_bytes(const aoei_table *t);
aoe_text aoei_table_row_bytes(const aoei_table *t);
size_t aoei_table_line(const aoei_table *t);          /* where the last row begins, a bad one too, from 1 */
const json_t *aoei_table_object(const aoei_table *t); /* the last row of .jsonl; NULL for others; borrowed likewise */

/* A NUL-terminated piece of a text for a message: at most AOEI_EXCERPT - 1 bytes, "..." at the end when it was cut. */
enum { AOEI_EXCERPT = 64 };
const char *aoei_excerpt(char out[AOEI_EXCERPT], aoe_text text);

#endif
