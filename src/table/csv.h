/* SPDX-License-Identifier: MIT
 * Records of RFC 4180, with any delimiter: a field in double quotes may contain
 * delimiters, line ends and "" for a quote. Splits and unquotes; what the columns
 * mean is table.h's business.
 */
#ifndef AOEI_TABLE_CSV_H
#define AOEI_TABLE_CSV_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"
#include "table/lines.h"

#define AOEI_BAD_ROW 2 /* one row is unusable: the error says why, and reading may go on */

typedef struct aoei_csv {
    char delimiter;                /* set before the first call */
    aoei_buffer text;              /* contents of the record's fields, end to end */
    aoei_buffer bytes;             /* the record as it stands in the file, line ends included */
    size_t *end;                   /* [n] end of each field in text */
    size_t capacity;               /* of end */
    aoe_text *field;               /* [n] */
    size_t room;                   /* of field */
    size_t n;                      /* fields of the record */
    size_t line;                   /* where the record begins, from 1 */
    int quoted;                    /* inside a quoted field */
    size_t open_line, open_column; /* where the last quoted field began, from 1; column in bytes */
} aoei_csv;

/* Reads one record into c (zero it before the first call, except the delimiter). 1: a record in field[0, n), borrowed until the
 * next call; 0: the end; AOEI_BAD_ROW: a stray quote, with file, line and byte column; reading goes on with the next line;
 * errors: AOE_EFORMAT (a quoted field that never ends, with the place where it begins), those of aoei_lines_next. */
int aoei_csv_next(aoei_csv *c, aoei_lines *lines, aoe_error *err);
void aoei_csv_free(aoei_csv *c); /* accepts a zeroed one */

#endif
