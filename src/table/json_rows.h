/* SPDX-License-Identifier: MIT
 * Reads rows that are JSON objects: JSON lines, or the elements of a JSON array, whose objects may span several lines.
 * The elements of an array are parsed one after the other, so the memory use depends on the longest line and the
 * longest element, not on the size of the file.
 */
#pragma once

#include <jansson.h>

#include "aoe_data.h"
#include "base/buffer.h"
#include "table/lines.h"

typedef struct aoei_json_rows {
    json_t *object; /* the parsed row, owned; valid until the next row is read */
    size_t line;    /* line number of the start of the row, counted from 1 */
    aoe_text bytes; /* bytes of the row. In an array: the object on one line, with a LF; borrowed until the next row is
                       read */
    /* private */
    int array;          /* 1: the rows are the elements of an array */
    int state;          /* array: position between elements, see json_rows.c */
    aoei_line current;  /* array: the line that is parsed */
    size_t at;          /* array: position in current.data of the next byte to parse */
    aoei_buffer buffer; /* array: bytes of the current element, owned */
} aoei_json_rows;

/* Determines whether the rows are JSON lines or the elements of an array, from the first line that is not blank. Before
 * the call, the caller zeroes *r. format: AOE_TABLE_JSON, or AOE_TABLE_JSONL, for which an array is an error. Returns
 * 1, 0 if the file has only blank lines, or an error. */
int aoei_json_rows_begin(aoei_json_rows *r, aoei_lines *lines, aoe_table_format format, aoe_error *err);
/* Reads the next row. Returns:
 * - 1 if a row was read
 * - 0 at the end of the file
 * - AOEI_BAD_ROW if the row is invalid: err contains the reason, and the next row can be read
 * - a negative code for any other error, such as an array that is never closed */
int aoei_json_rows_next(aoei_json_rows *r, aoei_lines *lines, aoe_error *err);
void aoei_json_rows_free(aoei_json_rows *r); /* accepts a zeroed struct */
