/* SPDX-License-Identifier: MIT
 * Searches texts for the patterns in tokenizer.json. A pattern is a literal string or a regular expression. Regular
 * expressions are written in Oniguruma's syntax and translated to PCRE2's syntax. They are compiled to machine code if
 * the system allows it. A search proceeds from left to right. At each position, the first alternative that matches is
 * used. A pattern is read-only and can be shared between threads.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;

typedef struct aoei_pattern {
    char *literal;      /* [literal_len] literal string, owned; NULL if the pattern is a regular expression or empty */
    size_t literal_len; /* length of literal in bytes; 0 if literal is NULL */
    struct pcre2_real_code_8 *code; /* compiled regular expression, owned */
    int jit;                        /* 1: compiled to machine code */
} aoei_pattern;

/* Initialize a zeroed pattern from the literal string s[len] or from the regular expression expression[len]. The caller
 * frees the pattern with aoei_pattern_free, even after an error. Errors: AOE_ENOMEM; AOE_EUNSUPPORTED if a construct of
 * the expression is not supported. The message names the construct but not the file. */
int aoei_pattern_literal(aoei_pattern *p, const char *s, size_t len, aoe_error *err);
int aoei_pattern_regex(aoei_pattern *p, const char *expression, size_t len, aoe_error *err);
/* Initializes a zeroed pattern from a JSON object {"String": literal} or {"Regex": expression}. */
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
/* Finds the next match search->s[*start, *end) and returns 1. Returns 0 if there is no further match. An empty match
 * directly after another match is skipped. An empty text has no match. Errors: AOE_ENOMEM; AOE_EFORMAT if the
 * expression exceeds PCRE2's match limit. */
int aoei_pattern_next(aoei_pattern_search *search, size_t *start, size_t *end, aoe_error *err);
void aoei_pattern_end(aoei_pattern_search *search); /* frees memory; the search can be used again */
