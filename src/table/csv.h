/* SPDX-License-Identifier: MIT
 * Reads the records of a CSV file (RFC 4180) with any delimiter: a field in double quotes may contain delimiters, line ends,
 * and "" for a quote. The fields of a record are returned without the enclosing quotes.
 */
#ifndef AOEI_TABLE_CSV_H
#define AOEI_TABLE_CSV_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"
#include "table/lines.h"

#define AOEI_BAD_ROW 2 /* the row is invalid: err contains the reason, and reading may continue */

typedef struct aoei_csv {
    char delimiter;                /* set before the first call */
    aoei_buffer text;              /* concatenated fields of the record, owned */
    aoei_buffer bytes;             /* bytes of the record in the file, line ends included; owned */
    size_t *end;                   /* [n] end offset of each field in `text`, owned */
    size_t capacity;               /* allocated elements of `end` */
    aoe_text *field;               /* [n] fields of the record, which point into `text`; array owned */
    size_t field_capacity;         /* allocated elements of `field` */
    size_t n;                      /* number of fields in the record */
    size_t line;                   /* line number of the start of the record, counted from 1 */
    int quoted;                    /* 1: inside a quoted field */
    size_t open_line, open_column; /* position of the last opening quote: line and byte column, counted from 1 */
} aoei_csv;

/* Reads one record into c. All members except the delimiter must be zeroed before the first call. Returns 1 if a record was
 * read; its fields are c->field[n], borrowed until the next call. Returns 0 at the end of the file. Returns AOEI_BAD_ROW if
 * an unquoted field contains a quote or text follows a closing quote; err then contains the file, line and byte column, and
 * the next call continues with the next line. Errors: AOE_EFORMAT (a quoted field is never closed; the message contains the
 * position of its opening quote), those of aoei_lines_next. */
int aoei_csv_next(aoei_csv *c, aoei_lines *lines, aoe_error *err);
void aoei_csv_free(aoei_csv *c); /* accepts a zeroed struct */

#endif
