/* SPDX-License-Identifier: MIT
 * Lines of UTF-8 text over a stream. A line ends in LF or CRLF; the last one
 * may lack it. A byte order mark at the start of the file is dropped. A line may
 * be as long as memory allows; NUL is a character.
 */
#ifndef AOEI_TABLE_LINES_H
#define AOEI_TABLE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "table/stream.h"

typedef struct aoei_line {
    const char *data; /* [len] valid UTF-8 without the line end, borrowed until the next call */
    size_t len;       /* bytes */
    size_t eol;       /* bytes of the line end: 2 CRLF, 1 LF, 0 none; they follow data[len - 1] */
    size_t number;    /* from 1 */
    uint64_t offset;  /* of data[0] in the decompressed text, bytes */
} aoei_line;

typedef struct aoei_lines aoei_lines;

int aoei_lines_open(aoei_lines **l, const char *path, aoe_error *err); /* errors: those of aoei_stream_open */
int aoei_lines_from(aoei_lines **l, aoei_stream *s, aoe_error *err);   /* takes s over, on failure too */
void aoei_lines_close(aoei_lines *l);                                  /* NULL accepted */
const char *aoei_lines_name(const aoei_lines *l);                      /* of the file; owned by l */

/* 1: a line; 0: the end; or AOE_EFORMAT (invalid UTF-8 with its byte offset in the decompressed text; those of
 * aoei_stream_read), AOE_EIO, AOE_ENOMEM. Nothing more may be read after an error. */
int aoei_lines_next(aoei_lines *l, aoei_line *line, aoe_error *err);

/* As aoei_lines_next, but the line is returned again by the next call. */
int aoei_lines_peek(aoei_lines *l, aoei_line *line, aoe_error *err);
/* AOE_EFORMAT: the file has CR line ends. aoei_lines_next fails with it if the whole file is such a line. */
int aoei_lines_fail_cr(const aoei_lines *l, aoe_error *err);

#endif
