/* SPDX-License-Identifier: MIT
 * The patterns of tokenizer.json: literal strings, and regular expressions in
 * Oniguruma's syntax, which PCRE2 runs (compiled to machine code where the system
 * allows) after what the two write differently has been rewritten. Matching is by
 * leftmost first alternative, in one text, from its start on. A pattern is read-only and safe to share.
 */
#ifndef AOEI_TOKENIZER_PATTERN_H
#define AOEI_TOKENIZER_PATTERN_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

typedef struct aoei_pattern {
    char *literal;                  /* [literal_len], owned; NULL: a regular expression, or nothing yet */
    size_t literal_len;             /* bytes, not 0 */
    struct pcre2_real_code_8 *code; /* owned */
    int jit;                        /* there is machine code */
} aoei_pattern;

/* Into a zeroed pattern, which is to be freed also after a failure. AOE_ENOMEM; AOE_EUNSUPPORTED says what of the expression
 * is not supported, without the file. */
int aoei_pattern_literal(aoei_pattern *p, const char *s, size_t len, aoe_error *err);
int aoei_pattern_regex(aoei_pattern *p, const char *expression, size_t len, aoe_error *err);
/* {"String": s} or {"Regex": s}. */
int aoei_pattern_read(aoei_pattern *p, const json_t *pattern, const char *file, aoe_error *err);
void aoei_pattern_free(aoei_pattern *p);

/* A walk over the matches in one text after the other. Zeroed at first. */
typedef struct aoei_pattern_search {
    const aoei_pattern *pattern;           /* borrowed */
    const char *s;                         /* [len], valid UTF-8, borrowed */
    size_t len;                            /* bytes */
    size_t at;                             /* where the search goes on */
    size_t n_matches;                      /* found so far */
    size_t last_end;                       /* end of the last match when n_matches is not 0 */
    struct pcre2_real_match_data_8 *match; /* owned; NULL until it is needed */
} aoei_pattern_search;

void aoei_pattern_begin(aoei_pattern_search *search, const aoei_pattern *p, const char *s, size_t len);
/* 1 and the next match, s[*start, *end); 0: no more. An empty match right behind a match is passed over. There is none in an
 * empty text. AOE_ENOMEM; AOE_EFORMAT: the expression backtracks without end. */
int aoei_pattern_next(aoei_pattern_search *search, size_t *start, size_t *end, aoe_error *err);
void aoei_pattern_end(aoei_pattern_search *search); /* frees; a new aoei_pattern_begin may follow */

#endif
