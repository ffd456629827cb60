/* SPDX-License-Identifier: MIT
 * Reads lines from a stream into a growing buffer and returns pointers to them without copying. Invariant:
 * buffer[begin, end) contains the bytes that were read from the stream but not yet returned. The first `scanned` of
 * these bytes contain no LF.
 */
#include "table/lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "table/formats.h"

enum { INITIAL_CAPACITY = 1 << 18 /* initial size of the buffer in bytes */ };

struct aoei_lines {
    aoei_stream *stream; /* stream that is read; owned */
    char *buffer;        /* [capacity] bytes read from the stream, owned */
    size_t capacity;
    size_t begin, end; /* buffer[begin, end) contains the bytes not yet returned */
    size_t scanned;    /* number of bytes from buffer[begin] that are known to contain no LF */
    size_t number;     /* line number of the last returned line, counted from 1 */
    uint64_t offset;   /* offset of buffer[begin] in the decompressed text */
    int eof;           /* 1: the end of the stream was reached */
};

/* Moves the unreturned bytes to the start of the buffer, enlarges the buffer if it is full, and reads more bytes. */
static int read_more(aoei_lines *l, aoe_error *err) {
    if (l->begin > 0) {
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    if (l->end == l->capacity) {
        size_t bytes;
        if (aoei_mul_size(l->capacity, 2, &bytes))
            return aoei_fail_nomem(err, l->capacity);
        char *grown = aoei_realloc(l->buffer, bytes);
        if (!grown)
            return aoei_fail_nomem(err, bytes);
        l->buffer = grown;
        l->capacity = bytes;
    }
    size_t got;
    int rc = aoei_stream_read(l->stream, l->buffer + l->end, l->capacity - l->end, &got, err);
    if (rc)
        return rc;
    l->end += got;
    l->eof = got == 0;
    return 0;
}

/* Finds the next line, which starts at buffer + begin. *len is set to its length in bytes, and *eol to the length of
 * the line end that follows it. Returns 1 for a line, 0 at the end of the file, or an error. */
static int find_line(aoei_lines *l, size_t *len, size_t *eol, aoe_error *err) {
    for (;;) {
        const char *start = l->buffer + l->begin;
        size_t available = l->end - l->begin;
        const char *lf = available > l->scanned ? memchr(start + l->scanned, '\n', available - l->scanned) : NULL;
        if (lf) {
            *len = (size_t)(lf - start);
            *eol = 1;
            if (*len > 0 && lf[-1] == '\r') {
                *len -= 1;
                *eol = 2;
            }
            return 1;
        }
        l->scanned = available;
        if (l->eof) {
            *len = available;
            *eol = 0;
            return available > 0;
        }
        int rc = read_more(l, err);
        if (rc)
            return rc;
    }
}

int aoei_lines_from(aoei_lines **out, aoei_stream *s, aoe_error *err) {
    *out = NULL;
    aoei_lines *l = aoei_calloc(1, sizeof *l);
    if (!l) {
        aoei_stream_close(s);
        return aoei_fail_nomem(err, sizeof *l);
    }
    l->stream = s;
    l->capacity = INITIAL_CAPACITY;
    l->buffer = aoei_malloc(l->capacity);
    if (!l->buffer) {
        aoei_lines_close(l);
        return aoei_fail_nomem(err, INITIAL_CAPACITY);
    }
    *out = l;
    return 0;
}

int aoei_lines_open(aoei_lines **out, const char *path, aoe_error *err) {
    *out = NULL;
    aoei_stream *s;
    int rc = aoei_stream_open(&s, path, err);
    return rc ? rc : aoei_lines_from(out, s, err);
}

void aoei_lines_close(aoei_lines *l) {
    if (!l)
        return;
    aoei_stream_close(l->stream);
    aoei_free(l->buffer);
    aoei_free(l);
}

const char *aoei_lines_name(const aoei_lines *l) {
    return aoei_stream_name(l->stream);
}

int aoei_lines_fail_cr(const aoei_lines *l, aoe_error *err) {
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: lines end in CR (old Mac OS) instead of LF or CRLF; convert the file, for example with tr '\\r' '\\n'",
        aoei_lines_name(l));
}

int aoei_lines_peek(aoei_lines *l, aoei_line *line, aoe_error *err) {
    const uint64_t offset = l->offset;
    const int rc = aoei_lines_next(l, line, err);
    if (rc == 1) {
        l->begin -= (size_t)(l->offset - offset);
        l->offset = offset;
        l->number--;
    }
    return rc;
}

int aoei_lines_next(aoei_lines *l, aoei_line *line, aoe_error *err) {
    size_t len = 0, eol = 0;
    int rc = find_line(l, &len, &eol, err);
    if (rc <= 0)
        return rc;
    const char *data = l->buffer + l->begin;
    if (l->number == 0 && (rc = aoei_format_check_bytes(data, l->end - l->begin, aoei_lines_name(l), err)))
        return rc;
    size_t bom = l->number == 0 && len >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (bom && len == 3 && !eol) /* a file that contains only a byte order mark is empty */
        return 0;
    *line = (aoei_line){data + bom, len - bom, eol, l->number + 1, l->offset + bom};
    l->begin += len + eol;
    l->offset += len + eol;
    l->scanned = 0;
    l->number++;
    const char *cr = l->number == 1 && !eol ? memchr(line->data, '\r', line->len) : NULL;
    if (cr && (size_t)(cr - line->data) + 1 < line->len)
        return aoei_lines_fail_cr(l, err);
    size_t valid = aoei_utf8_valid(line->data, line->len);
    if (valid < line->len && l->number == 1 && memchr(line->data, 0, line->len))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the file is binary: its first line contains NUL characters and is not valid UTF-8; give a text file",
            aoei_lines_name(l));
    if (valid < line->len)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: invalid UTF-8 at byte %" PRIu64
                         ", in line %zu; convert the file to UTF-8, for example with iconv",
                         aoei_lines_name(l), line->offset + valid, line->number);
    return 1;
}
