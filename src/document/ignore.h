/* SPDX-License-Identifier: MIT
 * Patterns of the files .gitignore and .aoeignore, with the rules of gitignore(5): comments, negation with !, anchors,
 * *, ?, [...], **, patterns for directories only, and escapes. A list contains the patterns of one file; the caller
 * combines the lists of a folder and its parents (document/folder.c).
 * The time of a match is at most proportional to the length of the pattern times the length of the path; there is no
 * recursion and no exponential backtracking.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

enum {
    AOEI_IGNORE_LONGEST = 4096,    /* maximum length of a pattern in bytes; no path is longer (PATH_MAX) */
    AOEI_IGNORE_LARGEST = 1 << 20, /* maximum size of a file of patterns in bytes */
};

/* Result of a comparison. The last pattern of a list that matches determines the result. */
typedef enum aoei_ignore_match {
    AOEI_IGNORE_NONE,     /* no pattern matches */
    AOEI_IGNORE_EXCLUDED, /* the path is excluded */
    AOEI_IGNORE_INCLUDED, /* a pattern with ! includes the path again */
} aoei_ignore_match;

typedef struct aoei_ignore_segment aoei_ignore_segment;
typedef struct aoei_ignore_pattern aoei_ignore_pattern;

/* A list of patterns. A zeroed struct contains no patterns. */
typedef struct aoei_ignore {
    aoei_ignore_pattern *pattern; /* [n] owned */
    size_t n, capacity;
    aoei_ignore_segment *segment; /* [n_segments] parts of all patterns between slashes, owned */
    size_t n_segments, segment_capacity;
} aoei_ignore;

/* Adds one pattern: a line of a .gitignore file without its line end. Blank lines and comments add nothing. A pattern
 * that gitignore(5) declares invalid, such as "[a", matches nothing. Errors: AOE_EFORMAT (the pattern has more than
 * AOEI_IGNORE_LONGEST bytes), AOE_ENOMEM. After an error, the list is unchanged. */
int aoei_ignore_add(aoei_ignore *list, aoe_text line, aoe_error *err);
/* Adds the patterns of a file, whose contents are `text`. A byte order mark and CR before LF are ignored. name: name of
 * the file for messages. Errors: as aoei_ignore_add, with file and line; the list then contains the patterns before
 * this line. */
int aoei_ignore_add_file(aoei_ignore *list, aoe_text text, const char *name, aoe_error *err);
/* Compares a path with the patterns. path: relative to the folder of the list, with single slashes and without "." and
 * "..". is_dir: 1 if the path is a directory. The caller compares the parents of the path first: a path inside an
 * excluded directory is excluded, whatever the patterns say about it. */
aoei_ignore_match aoei_ignore_find(const aoei_ignore *list, aoe_text path, int is_dir);
void aoei_ignore_free(aoei_ignore *list); /* accepts a zeroed struct */
