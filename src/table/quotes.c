/* SPDX-License-Identifier: MIT
 * Reads a .tsv file as if its fields were quoted as in CSV, and stops at the first contradiction. Most files without
 * such quotes contain no quote at the beginning of a field, or contain a quote that is not doubled, so they are read
 * quickly.
 */
#include "table/quotes.h"

#include <string.h>
#include <sys/stat.h>

#include "table/lines.h"

/* State of the reader. */
typedef struct scan {
    aoei_lines *lines;
    aoei_line line;       /* the current line */
    size_t at;            /* position in the line */
    size_t rows, columns; /* rows that were read; fields of the first row */
    size_t first;         /* line of the first quoted field; 0: none */
    size_t proven;        /* fields that contain a TAB, a line end or doubled quotes */
    size_t needless;      /* fields that are quoted without need */
    size_t bare;          /* unquoted fields that are neither empty nor numbers */
    int header_quoted;    /* 1: all fields of the first row are quoted */
    aoe_error err;        /* error of the reader */
} scan;

/* Reads the quoted field that begins at s->at. Returns 1, or 0 if the field is not quoted as in CSV. */
static int read_quoted(scan *s) {
    int proven = 0, comma = 0;
    s->first = s->first ? s->first : s->line.number;
    for (s->at++;; s->at++) {
        if (s->at >= s->line.len) {
            proven = 1;
            if (aoei_lines_next(s->lines, &s->line, &s->err) != 1)
                return 0;
            s->at = (size_t)-1; /* the loop increments it to 0 */
            continue;
        }
        const char c = s->line.data[s->at];
        if (c == '"' && s->at + 1 < s->line.len && s->line.data[s->at + 1] == '"') {
            proven = 1;
            s->at++;
        } else if (c == '"') {
            break;
        }
        proven |= c == '\t' || c == '\r';
        comma |= c == ',' || c == ';';
    }
    s->at++;
    s->proven += (size_t)proven;
    s->needless += !proven && !comma;
    return s->at == s->line.len || s->line.data[s->at] == '\t';
}

/* Reads the unquoted field that begins at s->at. Returns 1, or 0 if it contains a quote. */
static int read_bare(scan *s) {
    const char *start = s->line.data + s->at;
    const char *tab = memchr(start, '\t', s->line.len - s->at);
    const size_t len = tab ? (size_t)(tab - start) : s->line.len - s->at;
    size_t digits = 0;
    while (digits < len && start[digits] && strchr("0123456789+-.,eE", start[digits]))
        digits++;
    s->at += len;
    s->bare += digits < len && s->first;
    return !memchr(start, '"', len);
}

/* Reads a row. Returns 1, or 0 if the row is not consistent with quoting as in CSV. */
static int read_row(scan *s) {
    size_t n = 0;
    if (!s->line.len)
        return 1;
    if (!s->first && s->rows && !memchr(s->line.data, '"', s->line.len))
        return 1; /* rows before the first quote are not counted */
    for (s->at = 0;; s->at++) {
        const int is_quoted = s->at < s->line.len && s->line.data[s->at] == '"';
        if (!(is_quoted ? read_quoted(s) : read_bare(s)))
            return 0;
        n++;
        if (!s->rows)
            s->header_quoted = (n == 1 || s->header_quoted) && is_quoted;
        if (s->at >= s->line.len)
            break;
    }
    s->columns = s->rows++ ? s->columns : n;
    return n == s->columns;
}

int aoei_quotes_find(size_t *line, const char *path, aoe_error *err) {
    scan s = {0};
    struct stat st;
    *line = 0;
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return 0;
    int rc = aoei_lines_open(&s.lines, path, &s.err);
    int is_consistent = !rc;
    while (is_consistent && (rc = aoei_lines_next(s.lines, &s.line, &s.err)) == 1)
        is_consistent = read_row(&s);
    aoei_lines_close(s.lines);
    if (is_consistent && !rc && ((s.proven && !s.needless) || (s.header_quoted && !s.bare)))
        *line = s.first;
    if (s.err.code == AOE_ENOMEM && err)
        *err = s.err;
    return s.err.code == AOE_ENOMEM ? AOE_ENOMEM : 0;
}
