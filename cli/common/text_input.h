/* SPDX-License-Identifier: MIT
 * Reads lines of UTF-8 text from stdin or files. A line ends in LF or CRLF, or at the end of the file. NUL is an
 * ordinary character, and a byte order mark at the start of a file is skipped. Tables and compressed files are read by
 * aoe_texts_read instead.
 */
#ifndef AOE_CLI_COMMON_TEXT_INPUT_H
#define AOE_CLI_COMMON_TEXT_INPUT_H

#include <stddef.h>
#include <stdio.h>

#include <aoe.h>

/* Lines of several files, which are read one after another. */
typedef struct cli_lines {
    const char *const *path; /* [n] paths, borrowed; "-" is stdin */
    size_t n;
    size_t next;               /* index of the next file */
    FILE *file;                /* open file, owned unless it is stdin */
    const char *name;          /* name of the open file for messages, borrowed; "stdin" for stdin */
    size_t number;             /* number of the last line read, counted from 1 */
    unsigned long long offset; /* offset of the next line in the file, in bytes */
    char *text;                /* line buffer, owned */
    size_t capacity;           /* size of the line buffer in bytes */
} cli_lines;

/* Opens path[n], or stdin if n is 0. Regular files are first read completely, so that invalid UTF-8 is reported before any
 * output. Returns 0, or 1 after reporting the error. */
int cli_lines_open(cli_lines *l, const char *const *path, size_t n);
/* Reads the next line into *line, which is valid until the next call. Returns 1 if a line was read, 0 at the end, or -1 after
 * reporting an error. */
int cli_lines_next(cli_lines *l, aoe_text *line);
void cli_lines_close(cli_lines *l); /* accepts a zeroed struct */

/* A batch of texts in memory, with their files and line numbers. */
typedef struct cli_batch {
    char *bytes;            /* the bytes of all texts, owned */
    size_t used, allocated; /* bytes used and allocated */
    size_t *offset;         /* [capacity + 1] start of each text in bytes, owned */
    aoe_text *text;         /* [n] texts, owned array; valid after cli_batch_read or cli_batch_finish */
    const char **name;      /* [n] file of each text, owned array of borrowed strings */
    size_t *number;         /* [n] line number or position of each text in its file, owned */
    size_t n, capacity;     /* number of texts, and maximum number */
    size_t max_bytes;       /* size in bytes at which the batch is full */
    size_t empty;           /* number of empty texts */
} cli_batch;

void cli_batch_create(cli_batch *b, size_t capacity, size_t max_bytes);
void cli_batch_clear(cli_batch *b);
int cli_batch_is_full(const cli_batch *b); /* returns 1 if the batch has `capacity` texts, or at least max_bytes bytes */
/* Copies a text into a batch that is not full. name: file of the text, borrowed; number: line number or position of the text
 * in the file. */
void cli_batch_add(cli_batch *b, aoe_text text, const char *name, size_t number);
void cli_batch_finish(cli_batch *b); /* sets text[n] after the last cli_batch_add */
/* Clears the batch and fills it with lines. Returns 1 if any line was read, 0 at the end, or -1 after reporting an error. */
int cli_batch_read(cli_batch *b, cli_lines *l);
void cli_batch_destroy(cli_batch *b); /* accepts a zeroed struct */

#endif
