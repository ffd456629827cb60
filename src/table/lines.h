/* SPDX-License-Identifier: MIT
 * Reads lines of UTF-8 text from a stream. A line ends in LF or CRLF; the last line may end without either. A byte
 * order mark at the start of the file is skipped. The length of a line is limited only by memory. A line may contain
 * NUL.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "table/stream.h"

typedef struct aoei_line {
    const char *data; /* [len] valid UTF-8 without the line end; borrowed until the next call */
    size_t len;       /* length of the line in bytes, without the line end */
    size_t eol;       /* bytes of the line end, which follows data[len - 1]: 2 (CRLF), 1 (LF) or 0 (end of the file) */
    size_t number;    /* line number, counted from 1 */
    uint64_t offset;  /* byte offset of data[0] in the decompressed text */
} aoei_line;

typedef struct aoei_lines aoei_lines;

int aoei_lines_open(aoei_lines **l, const char *path, aoe_error *err); /* returns 0 or an error of aoei_stream_open */
int aoei_lines_from(aoei_lines **l, aoei_stream *s, aoe_error *err);   /* takes ownership of s, even if it fails */
void aoei_lines_close(aoei_lines *l);                                  /* accepts NULL */
const char *aoei_lines_name(const aoei_lines *l);                      /* file name for messages; owned by l */

/* Reads a line. Returns 1 for a line, 0 at the end of the file, or an error. After an error, l must not be read again.
 * Errors:
 * - AOE_EFORMAT for invalid UTF-8; the message contains the byte offset in the decompressed text
 * - AOE_EFORMAT if the first bytes are those of a binary file (aoei_format_check_bytes)
 * - AOE_EFORMAT for CR line ends
 * - AOE_ENOMEM, and the errors of aoei_stream_read */
int aoei_lines_next(aoei_lines *l, aoei_line *line, aoe_error *err);

/* Reads a line as aoei_lines_next does, but the next call of either function returns this line again. */
int aoei_lines_peek(aoei_lines *l, aoei_line *line, aoe_error *err);
/* Fails with AOE_EFORMAT. The message says that the lines of the file end in CR. */
int aoei_lines_fail_cr(const aoei_lines *l, aoe_error *err);
