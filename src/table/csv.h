/* SPDX-License-Identifier: MIT
 * Records of RFC 4180 with any delimiter: a field in double quotes may contain delimiters, line ends and "" for a quote.
 * Splits a record into unquoted fields; table.h interprets them.
 */
#ifndef AOEI_TABLE_CSV_H
#define AOEI_TABLE_CSV_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"
#include "table/lines.h"

#define AOEI_BAD_ROW 2 /* the row is invalid: the error contains the reason, and reading may continue */

typedef struct aoei_csv {
    char delimiter;                /* set before the first call */
    aoei_buffer text;              /* concatenated fields of the record */
    aoei_buffer bytes;             /* bytes of the record in the file, line ends included */
    size_t *end;                   /* [n] end of each field in text */
    size_t capacity;               /* of end */
    aoe_text *field;               /* [n] */
    size_t room;                   /* of field */
    size_t n;                      /* fields of the record */
    size_t line;                   /* number of the first line of the record, from 1 */
    int quoted;                    /* 1: inside a quoted field */
    size_t open_line, open_column; /* position of the last quoted field, both from 1; column in bytes */
} aoei_csv;

/* Reads one record into c, whose fields other than the delimiter must be zeroed before the first call. Returns 1: a record
 * in field[0, n), borrowed until the next call; 0: the end; AOEI_BAD_ROW: a stray quote, with file, line and byte column;
 * reading continues with the next line. Errors: AOE_EFORMAT (a quoted field is never closed, with its position), those of
 * aoei_lines_next. */
int aoei_csv_next(aoei_csv *c, aoei_lines *lines, aoe_error *err);
void aoei_csv_free(aoei_csv *c); /* accepts a zeroed one */

#endif
