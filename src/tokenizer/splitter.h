/* SPDX-License-Identifier: MIT
 * Cutting a text where something matches, with the five things that can be done
 * with the matches. A walk, a piece at a time: nothing is allocated but what
 * regular expressions need, and it can stop anywhere.
 */
#ifndef AOEI_TOKENIZER_SPLITTER_H
#define AOEI_TOKENIZER_SPLITTER_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/pattern.h"

typedef enum aoei_split_at {
    AOEI_SPLIT_NOWHERE,
    AOEI_SPLIT_PATTERN,     /* a match of the pattern */
    AOEI_SPLIT_SPACE,       /* a white-space character */
    AOEI_SPLIT_PUNCTUATION, /* a punctuation character, as BERT has it */
    AOEI_SPLIT_NUMERIC,     /* a character of the categories N* */
    AOEI_SPLIT_WORD         /* a word character (\w) */
} aoei_split_at;

typedef enum aoei_split_behavior {
    AOEI_SPLIT_REMOVED,              /* matches are left out */
    AOEI_SPLIT_ISOLATED,             /* a match is a piece */
    AOEI_SPLIT_MERGED_WITH_PREVIOUS, /* and goes to the piece before it, unless that is a match */
    AOEI_SPLIT_MERGED_WITH_NEXT,     /* or to the one behind it, likewise */
    AOEI_SPLIT_CONTIGUOUS            /* matches in a row are one piece */
} aoei_split_behavior;

typedef struct aoei_split {
    aoei_split_at at;
    aoei_split_behavior behavior;
    int invert;           /* what does not match counts as a match, and what does not */
    aoei_pattern pattern; /* owned, of AOEI_SPLIT_PATTERN */
} aoei_split;

/* Zeroed at first. */
typedef struct aoei_splitter {
    const aoei_split *split;
    const char *s;              /* [len], borrowed */
    size_t len, at;             /* bytes; those before `at` have been seen */
    aoei_pattern_search search; /* owned */
    size_t match_start, match_end;
    int matched;       /* the match has been found, but what is before it comes first */
    size_t start, end; /* the piece that is waiting for what comes next */
    int waiting;       /* there is one */
    int was_match;     /* the last part was a match */
} aoei_splitter;

/* Reads "Removed" and so on. */
int aoei_split_behavior_read(aoei_split_behavior *b, const char *name, const char *file, aoe_error *err);
void aoei_splitter_begin(aoei_splitter *p, const aoei_split *split, const char *s, size_t len);
/* 1 and the next piece, s[*start, *end), never empty; 0: no more. Errors of aoei_pattern_next. */
int aoei_splitter_next(aoei_splitter *p, size_t *start, size_t *end, aoe_error *err);
void aoei_splitter_end(aoei_splitter *p); /* frees; a new aoei_splitter_begin may follow */

#endif
