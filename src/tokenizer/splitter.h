/* SPDX-License-Identifier: MIT
 * Splits a text at the matches of a pattern or a character class, with the five behaviors of the pre-tokenizer Split of
 * Hugging Face tokenizers. The splitter returns one piece per call. It allocates memory only for regular expressions.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/pattern.h"

/* The kinds of matches at which a text can be split. */
typedef enum aoei_split_at {
    AOEI_SPLIT_NOWHERE,     /* nothing, so the text is one piece */
    AOEI_SPLIT_PATTERN,     /* a match of the pattern */
    AOEI_SPLIT_SPACE,       /* a white-space character */
    AOEI_SPLIT_PUNCTUATION, /* a punctuation character as defined by BERT */
    AOEI_SPLIT_NUMERIC,     /* a character of the category Nd, Nl or No */
    AOEI_SPLIT_WORD         /* a word character (\w) */
} aoei_split_at;

typedef enum aoei_split_behavior {
    AOEI_SPLIT_REMOVED,              /* matches are dropped */
    AOEI_SPLIT_ISOLATED,             /* each match is a piece */
    AOEI_SPLIT_MERGED_WITH_PREVIOUS, /* each match is appended to the preceding piece, unless that piece is a match */
    AOEI_SPLIT_MERGED_WITH_NEXT,     /* each match is prepended to the following piece, unless that piece is a match */
    AOEI_SPLIT_CONTIGUOUS            /* consecutive matches are one piece */
} aoei_split_behavior;

typedef struct aoei_split {
    aoei_split_at at;
    aoei_split_behavior behavior;
    int invert;           /* 1: text between matches counts as a match, and matches do not */
    aoei_pattern pattern; /* pattern of AOEI_SPLIT_PATTERN, owned */
} aoei_split;

/* The state of a splitter. The caller zeroes it before the first use. */
typedef struct aoei_splitter {
    const aoei_split *split;
    const char *s;                 /* [len] text, borrowed */
    size_t len;                    /* length in bytes */
    size_t at;                     /* number of bytes that have been processed */
    aoei_pattern_search search;    /* search for the matches of the pattern; owned */
    size_t match_start, match_end; /* byte range of the last match that was found */
    int matched; /* 1: this match has not been processed yet, because the text before the match is processed first */
    size_t start, end; /* byte range of the pending piece, which may have to be merged with the next part */
    int has_pending;   /* 1: there is a pending piece */
    int was_match;     /* 1: the last processed part of the text was a match */
} aoei_splitter;

/* Parses the name of a behavior, such as "Removed". */
int aoei_split_behavior_read(aoei_split_behavior *b, const char *name, const char *file, aoe_error *err);
void aoei_splitter_begin(aoei_splitter *p, const aoei_split *split, const char *s, size_t len);
/* Finds the next piece s[*start, *end), which is not empty, and returns 1. Returns 0 if there are no more pieces.
 * Errors: AOE_ENOMEM; AOE_EFORMAT if a regular expression exceeds PCRE2's match limit. */
int aoei_splitter_next(aoei_splitter *p, size_t *start, size_t *end, aoe_error *err);
void aoei_splitter_end(aoei_splitter *p); /* frees memory; the splitter can be used again */
