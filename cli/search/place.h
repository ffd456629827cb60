/* SPDX-License-Identifier: MIT
 * Places in an index: a document or lines of it, or a passage with its surroundings. The text of some documents, such
 * as web pages, is not that of the lines of their file; their passages are returned whole.
 */
#pragma once

#include <stddef.h>

#include <aoe_index.h>

#include "base/buffer.h"
#include "cli/search/hit_output.h"

typedef struct cli_place {
    char *text;   /* the place as given; owned */
    char *name;   /* name of a document, or id of a passage; owned */
    size_t line;  /* first line, counted from 1; 0: the whole document, or the passage with an id */
    size_t count; /* number of lines; 0: those of the passages with the line */
} cli_place;

/* Returns the absolute path of a file, which may have been removed. The caller frees it with free(). */
char *cli_absolute_path(const char *name);
/* Parses "NAME:LINE", "NAME:LINE:COUNT", "NAME" or "ID". */
void cli_place_parse(cli_place *p, const char *text);
void cli_place_free(cli_place *p); /* accepts a zeroed struct */

/* The passages of a place. */
typedef struct cli_lines {
    aoe_index_hits hits; /* at least one; owned */
    size_t begin, end;   /* the passages [begin, end) of the hits belong to the place */
    int may_read;       /* 1: the files may be read to join passages, because their recorded paths are the user's own */
    size_t first, last; /* lines that were asked for, with their context */
} cli_lines;

/* Gets the passages of a place with `context` additional lines before and after it. A document whose name is the whole
 * place has priority. A file may also be named by its path relative to the current folder. Returns the error codes of
 * aoe_index_get; AOE_ENOENT also if the document is empty, and AOE_EARG if several documents have a passage with the
 * id, or if the text after a document's name is not a place. The caller frees *l even after an error. */
int cli_lines_get(cli_lines *l, aoe_index *index, cli_place *p, size_t context, aoe_error *err);
/* Appends the lines as text, with the name and the heading of each passage. Text that two passages share is written
 * once. numbers: 1: each line begins with its number, if the text of its passage has the lines of the document. */
void cli_append_lines(aoei_buffer *b, const cli_hit_output *o, const cli_lines *l, int numbers);
void cli_lines_free(cli_lines *l); /* accepts a zeroed struct */
