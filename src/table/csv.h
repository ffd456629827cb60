/* SPDX-License-Identifier: MIT
 * Reads the records of a CSV file (RFC 4180). Any delimiter may be used. A field in double quotes may contain
 * delimiters and line ends; "" in such a field represents one quote. Fields are returned without the enclosing quotes.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"
#include "table/lines.h"

#define AOEI_BAD_ROW 2 /* the row is invalid: err contains the reason, and the next row can be read */

/* Advice at the end of the messages about invalid rows, which are called bad rows. */
#define AOEI_ROW_REMEDY "correct the row or set options.skip_bad_rows"

typedef struct aoei_csv {
    char delimiter;                /* delimiter of fields; the caller sets it before the first call */
    aoei_buffer text;              /* contents of all fields of the record, one after the other; owned */
    aoei_buffer bytes;             /* bytes of the record in the file, line ends included; owned */
    size_t *end;                   /* [n] end offset of each field in `text`, owned */
    size_t capacity;               /* allocated elements of `end` */
    aoe_text *field;               /* [n] fields of the record; they point into `text`; array owned */
    size_t field_capacity;         /* allocated elements of `field` */
    size_t n;                      /* number of fields in the record */
    size_t line;                   /* line number of the start of the record, counted from 1 */
    int quoted;                    /* 1: the parser is inside a quoted field */
    size_t open_line, open_column; /* position of the last opening quote: line and byte column, counted from 1 */
} aoei_csv;

/* Reads one record into c. Before the first call, the caller zeroes *c and sets c->delimiter. Returns:
 * - 1 if a record was read: its fields are c->field[n], which are valid until the next call
 * - 0 at the end of the file
 * - AOEI_BAD_ROW if an unquoted field contains a quote, or text follows a closing quote: err contains the file, line
 *   and byte column, and the next call reads the next line
 * - AOE_EFORMAT if a quoted field is never closed: the message contains the position of its opening quote
 * - an error of aoei_lines_next */
int aoei_csv_next(aoei_csv *c, aoei_lines *lines, aoe_error *err);
void aoei_csv_free(aoei_csv *c); /* accepts a zeroed struct */
