/* SPDX-License-Identifier: MIT
 * Lines of UTF-8 text from stdin or files. A line ends in LF or CRLF, the last
 * one may lack it; NUL is a character; a byte order mark at the start of a file
 * is dropped. No tables and no compressed files: the library reads those.
 */
#ifndef AOE_CLI_COMMON_TEXT_INPUT_H
#define AOE_CLI_COMMON_TEXT_INPUT_H

#include <stddef.h>
#include <stdio.h>

#include <aoe.h>

typedef struct cli_lines {
    const char *const *path; /* [n], borrowed; "-" is stdin */
    size_t n;
    size_t next;               /* file to open next */
    FILE *file;                /* being read, owned unless stdin */
    const char *name;          /* of it, for messages */
    size_t number;             /* of the last line, from 1 */
    unsigned long long offset; /* of the next line, bytes */
    char *text;                /* owned */
    size_t capacity;
} cli_lines;

/* Starts reading; n 0 is stdin. What can be read twice (files, stdin from a file) is checked now, whole, so that bad
 * input is known before anything is printed. 0, or 1 after reporting the error. */
int cli_lines_open(cli_lines *l, const char *const *path, size_t n);
/* 1: *line (borrowed until the next call) is the next one; 0: the end; -1 after reporting an error. */
int cli_lines_next(cli_lines *l, aoe_text *line);
void cli_lines_close(cli_lines *l); /* accepts a zeroed one */

/* Lines held in memory together, with the places they came from. */
typedef struct cli_window {
    char *bytes;       /* owned */
    size_t used, room; /* of bytes */
    size_t *offset;    /* [capacity + 1] owned */
    aoe_text *text;    /* [n] owned; valid after cli_window_read */
    const char **name; /* [n] owned array: file */
    size_t *number;    /* [n] owned: line in it */
    size_t n, capacity;
    size_t max_bytes;
    size_t empty; /* texts of no bytes among them */
} cli_window;

void cli_window_create(cli_window *w, size_t capacity, size_t max_bytes);
void cli_window_clear(cli_window *w);
int cli_window_is_full(const cli_window *w); /* 1 if the window has `capacity` texts, or max_bytes or more */
/* Copies a text into a window that is not full. name: its file, borrowed; number: its line or position in the file. */
void cli_window_add(cli_window *w, aoe_text text, const char *name, size_t number);
void cli_window_finish(cli_window *w); /* makes text[n] valid after the last cli_window_add */
/* Reads up to `capacity` lines, fewer once they are max_bytes or more together (one line may be longer); 1: there are some; 0:
 * the end; -1 after reporting an error. */
int cli_window_read(cli_window *w, cli_lines *l);
void cli_window_destroy(cli_window *w); /* accepts a zeroed one */

#endif
