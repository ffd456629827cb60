/* SPDX-License-Identifier: MIT
 * Reads lines of UTF-8 text from stdin or files. A line ends with LF or CRLF, or at the end of the file. A line may contain NUL
 * characters. A byte order mark at the start of a file is skipped. These functions do not read tables and compressed files;
 * aoe_texts_read does.
 */
#ifndef AOE_CLI_COMMON_TEXT_INPUT_H
#define AOE_CLI_COMMON_TEXT_INPUT_H

#include <stddef.h>
#include <stdio.h>

#include <aoe.h>

/* State while the lines of several files are read, one file after the other. */
typedef struct cli_lines {
    const char *const *path; /* [n] paths, borrowed; "-" is stdin */
    size_t n;
    size_t next;               /* index of the next file */
    FILE *file;                /* the open file, owned unless it is stdin */
    const char *name;          /* name of the open file for messages ("stdin" for stdin), borrowed */
    size_t number;             /* number of the last line that was read, counted from 1 */
    unsigned long long offset; /* offset in bytes of the next line in the file */
    char *text;                /* line buffer, owned */
    size_t capacity;           /* size of the line buffer in bytes */
} cli_lines;

/* Starts reading the files path[n], or stdin if n is 0. Regular files are first read completely, so that invalid UTF-8 is
 * reported before the command prints any output. Returns 0, or 1 after reporting the error. */
int cli_lines_open(cli_lines *l, const char *const *path, size_t n);
/* Sets *line to the next line without its line end; *line is valid until the next call. Returns 1 if a line was read, 0 after
 * the last line, or -1 after reporting an error. */
int cli_lines_next(cli_lines *l, aoe_text *line);
void cli_lines_close(cli_lines *l); /* accepts a zeroed struct */

/* A batch of texts in memory, with the file and the line number of each text. */
typedef struct cli_batch {
    char *bytes;            /* the bytes of all texts, owned */
    size_t used, allocated; /* used: number of bytes of the texts; allocated: size of `bytes` */
    size_t *offset;         /* [capacity + 1] offset of the start of each text in `bytes`, owned */
    aoe_text *text;         /* [n] texts; the array is owned; valid after cli_batch_read or cli_batch_finish */
    const char **name;      /* [n] file of each text; the array is owned, the strings are borrowed */
    size_t *number;         /* [n] line number (or other position) of each text in its file, owned */
    size_t n, capacity;     /* n: number of texts; capacity: maximum number of texts */
    size_t max_bytes;       /* number of bytes of texts at which the batch is full */
    size_t empty;           /* number of empty texts */
} cli_batch;

/* Creates an empty batch. The arguments are the values of the fields `capacity` and `max_bytes`. */
void cli_batch_create(cli_batch *b, size_t capacity, size_t max_bytes);
void cli_batch_clear(cli_batch *b);        /* removes all texts and keeps the memory */
int cli_batch_is_full(const cli_batch *b); /* returns 1 if the batch contains `capacity` texts or at least max_bytes bytes */
/* Copies a text into the batch, which must not be full. name: file of the text, borrowed; number: line number (or other
 * position) of the text in the file. */
void cli_batch_add(cli_batch *b, aoe_text text, const char *name, size_t number);
void cli_batch_finish(cli_batch *b); /* sets the field `text`; called after the last cli_batch_add */
/* Clears the batch and reads lines until it is full or no line remains. Returns 1 if at least one line was read, 0 if no line
 * remained, or -1 after reporting an error. */
int cli_batch_read(cli_batch *b, cli_lines *l);
void cli_batch_destroy(cli_batch *b); /* accepts a zeroed struct */

#endif
