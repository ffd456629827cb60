/* SPDX-License-Identifier: MIT
 * Step two of a tokenizer (and step zero): tokens that are found as they stand
 * inside a text, before and after normalisation, and cut it into pieces.
 */
#ifndef AOEI_TOKENIZER_ADDED_TOKENS_H
#define AOEI_TOKENIZER_ADDED_TOKENS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

typedef struct aoei_added_flags {
    unsigned char single_word; /* no match when a word character touches it */
    unsigned char lstrip;      /* takes the white space on its left along */
    unsigned char rstrip;      /* on its right */
    unsigned char normalized;  /* its normalised form is looked for in the normalised text, else as it is in the raw text */
    unsigned char special;
} aoei_added_flags;

typedef struct aoei_added_token {
    char *content; /* [len], owned */
    size_t len;    /* bytes, not 0 */
    aoei_added_flags flags;
    int32_t id;
} aoei_added_token;

/* A set of patterns, looked for leftmost and longest. */
typedef struct aoei_patterns {
    aoei_trie trie;            /* pattern to index of a token */
    unsigned char starts[256]; /* 1: a pattern starts with this byte */
    int n_starts;              /* bytes set in it */
    unsigned char only_start;  /* the one start byte when n_starts is 1 */
} aoei_patterns;

typedef struct aoei_added_tokens {
    aoei_added_token *token; /* [n], owned; in the order of the file */
    size_t n, capacity;
    int32_t max_id;           /* largest id of a token here; -1 when n is 0 */
    aoei_trie by_content;     /* content to index */
    aoei_patterns raw;        /* tokens with normalized off */
    aoei_patterns normalized; /* tokens with normalized on, normalised; filled by aoei_added_tokens_finish */
} aoei_added_tokens;

/* Adds a token, or changes the flags of one that is there. Its id is the vocabulary's; a token the vocabulary lacks is
 * numbered on from its end, as Hugging Face does (which ignores the id in the file; so the file's id is not asked for).
 * An empty token is ignored. AOE_ENOMEM, AOE_EFORMAT. */
int aoei_added_tokens_add(aoei_added_tokens *a, const aoei_vocab *v, const char *content, size_t len, aoei_added_flags flags,
                          aoe_error *err);
/* The "added_tokens" array of tokenizer.json; NULL or null for none. */
int aoei_added_tokens_read(aoei_added_tokens *a, const aoei_vocab *v, const json_t *array, const char *file, aoe_error *err);
/* The flags of one added-token object (as in tokenizer.json and tokenizer_config.json). `flags` holds the defaults. */
int aoei_added_flags_read(aoei_added_flags *flags, const json_t *object, const char *file, aoe_error *err);
/* After the last token: builds both sets of patterns. */
int aoei_added_tokens_finish(aoei_added_tokens *a, const aoei_normalizer *n, const char *file, aoe_error *err);
/* Index of the token with this content or id, or (size_t)-1. */
size_t aoei_added_tokens_find(const aoei_added_tokens *a, const char *content, size_t len);
size_t aoei_added_tokens_find_id(const aoei_added_tokens *a, int32_t id);
void aoei_added_tokens_free(aoei_added_tokens *a);

/* A walk over the matches in one text. */
typedef struct aoei_matches {
    const aoei_added_tokens *tokens;
    const aoei_patterns *patterns;
    const char *s; /* [len] */
    size_t len;
    size_t search; /* where the search goes on */
    size_t cut;    /* end of the last match, stripped white space included */
} aoei_matches;

typedef struct aoei_match {
    const aoei_added_token *token;
    size_t before_start, before_end; /* the piece between the last match and this one, may be empty */
    size_t start, end;               /* the match without the white space it takes along */
} aoei_match;

/* 1 and the next match, or 0: the rest of the text is s[m->cut, len). */
int aoei_matches_next(aoei_matches *m, aoei_match *match);

#endif
