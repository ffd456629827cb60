/* SPDX-License-Identifier: MIT
 * The patterns of tokenizer.json: literal strings and regular expressions. Regular expressions use Oniguruma's syntax, are
 * translated to PCRE2's syntax, and are compiled to machine code if the system allows it. A search proceeds from left to
 * right; at each position, the first alternative that matches is used. A pattern is read-only and can be shared between
 * threads.
 */
#ifndef AOEI_TOKENIZER_PATTERN_H
#define AOEI_TOKENIZER_PATTERN_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

typedef struct aoei_pattern {
    char *literal;                  /* [literal_len] literal to match, owned; NULL: a regular expression, or an empty pattern */
    size_t literal_len;             /* length of literal in bytes; 0 if literal is NULL */
    struct pcre2_real_code_8 *code; /* compiled regular expression, owned */
    int jit;                        /* 1: compiled to machine code */
} aoei_pattern;

/* Initialize a zeroed pattern. Call aoei_pattern_free even after an error. Errors: AOE_ENOMEM; AOE_EUNSUPPORTED, whose message
 * names the unsupported construct but not the file. */
int aoei_pattern_literal(aoei_pattern *p, const char *s, size_t len, aoe_error *err);
int aoei_pattern_regex(aoei_pattern *p, const char *expression, size_t len, aoe_error *err);
/* Reads {"String": s} or {"Regex": s}. */
int aoei_pattern_read(aoei_pattern *p, const json_t *pattern, const char *file, aoe_error *err);
void aoei_pattern_free(aoei_pattern *p);

/* Iterates over the matches in a text. The caller zeroes it before the first use and may reuse it for other texts. */
typedef struct aoei_pattern_search {
    const aoei_pattern *pattern;           /* pattern to search for, borrowed */
    const char *s;                         /* [len] text, valid UTF-8, borrowed */
    size_t len;                            /* length in bytes */
    size_t at;                             /* position from which to search */
    size_t n_matches;                      /* number of matches found so far */
    size_t last_end;                       /* end of the last match if n_matches is not 0 */
    struct pcre2_real_match_data_8 *match; /* workspace of PCRE2, owned; NULL until it is needed */
} aoei_pattern_search;

void aoei_pattern_begin(aoei_pattern_search *search, const aoei_pattern *p, const char *s, size_t len);
/* Finds the next match s[*start, *end) and returns 1, or returns 0 if there is none. An empty match directly after another
 * match is skipped. An empty text has no match. Errors: AOE_ENOMEM; AOE_EFORMAT if the expression exceeds PCRE2's match
 * limit. */
int aoei_pattern_next(aoei_pattern_search *search, size_t *start, size_t *end, aoe_error *err);
void aoei_pattern_end(aoei_pattern_search *search); /* frees memory; aoei_pattern_begin may follow */

#endif
