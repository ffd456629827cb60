/* SPDX-License-Identifier: MIT
 * Added tokens, such as "[CLS]", are searched for as whole strings before the text is split into words. Tokens with the
 * flag `normalized` are searched for in the normalized text, and all other tokens in the raw text. The text between two
 * matches is tokenized separately.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/trie.h"
#include "tokenizer/vocab.h"

typedef struct aoei_added_flags {
    unsigned char single_word; /* 1: a match next to a word character is ignored */
    unsigned char lstrip;      /* 1: the match includes the white space on its left */
    unsigned char rstrip;      /* 1: the match includes the white space on its right */
    unsigned char normalized;  /* 1: the token is normalized and searched for in the normalized text; 0: in the raw
                                  text */
    unsigned char special;     /* 1: the token is a special token */
} aoei_added_flags;

typedef struct aoei_added_token {
    char *content; /* [len] text of the token, owned */
    size_t len;    /* length of content in bytes, not 0 */
    aoei_added_flags flags;
    int32_t id; /* token id */
} aoei_added_token;

/* A set of strings that are searched for together. The leftmost match is used. If several strings match at one
 * position, the longest string is used. */
typedef struct aoei_patterns {
    aoei_trie trie;            /* maps each pattern to the index of its token in aoei_added_tokens.token */
    unsigned char starts[256]; /* 1: a pattern starts with this byte */
    int n_starts;              /* number of elements of `starts` that are 1 */
    unsigned char only_start;  /* the only start byte, if n_starts is 1 */
} aoei_patterns;

typedef struct aoei_added_tokens {
    aoei_added_token *token; /* [n] added tokens in the order in which they were added; owned */
    size_t n, capacity;
    int32_t max_id;           /* largest id of an added token; -1 if n is 0 */
    aoei_trie by_content;     /* maps the content of each token to its index in token */
    aoei_patterns raw;        /* contents of the tokens whose flag `normalized` is 0 */
    aoei_patterns normalized; /* normalized contents of the tokens whose flag `normalized` is 1 */
    aoei_patterns lowercased; /* the same, normalized by the normalizer that lowercases first */
} aoei_added_tokens;

/* Adds the token `content`. If the token was added before, only changes its flags. The id of the token is its id in the
 * vocabulary v. If v does not contain the token, the id is max(v->n_tokens, a->max_id + 1). The ids in tokenizer.json
 * are ignored, as in Hugging Face tokenizers. An empty token is ignored. Errors: AOE_ENOMEM, AOE_EFORMAT. */
int aoei_added_tokens_add(aoei_added_tokens *a, const aoei_vocab *v, const char *content, size_t len,
                          aoei_added_flags flags, aoe_error *err);
/* Reads the "added_tokens" array of tokenizer.json. If the array is NULL or JSON null, no tokens are added. */
int aoei_added_tokens_read(aoei_added_tokens *a, const aoei_vocab *v, const json_t *array, const char *file,
                           aoe_error *err);
/* Reads the flags of an added-token object of tokenizer.json or tokenizer_config.json. A missing
 * key leaves its flag unchanged, except that a missing "normalized" sets the flag to the opposite of `special`. */
int aoei_added_flags_read(aoei_added_flags *flags, const json_t *object, const char *file, aoe_error *err);
/* Builds a->raw, a->normalized and a->lowercased. n: normalizer of the tokenizer; lowercased: the normalizer that
 * lowercases first. Must be called after the last token has been added. `file` is the path for messages. */
int aoei_added_tokens_finish(aoei_added_tokens *a, const aoei_normalizer *n, const aoei_normalizer *lowercased,
                             const char *file, aoe_error *err);
/* aoei_added_tokens_find searches for the added token with the text content[len], and aoei_added_tokens_find_id for the
 * added token with the id `id`. Both return the index of the token in a->token, or (size_t)-1 if there is no such
 * token. */
size_t aoei_added_tokens_find(const aoei_added_tokens *a, const char *content, size_t len);
size_t aoei_added_tokens_find_id(const aoei_added_tokens *a, int32_t id);
void aoei_added_tokens_free(aoei_added_tokens *a);

/* Iterates over the matches in one text. */
typedef struct aoei_matches {
    const aoei_added_tokens *tokens; /* all added tokens, borrowed */
    const aoei_patterns *patterns;   /* patterns to search for: tokens->raw, tokens->normalized or tokens->lowercased */
    const char *s;                   /* [len] text, borrowed */
    size_t len;                      /* length in bytes */
    size_t search;                   /* byte offset from which to search */
    size_t last_end;                 /* byte offset of the end of the last match, including stripped white space */
} aoei_matches;

typedef struct aoei_match {
    const aoei_added_token *token;   /* matched token, borrowed */
    size_t before_start, before_end; /* byte range of the text between the previous match and this one; may be empty */
    size_t start, end;               /* byte range of the match without stripped white space */
} aoei_match;

/* Finds the next match and returns 1. Returns 0 if there is no further match; the text after the last match is then
 * m->s[m->last_end, m->len). */
int aoei_matches_next(aoei_matches *m, aoei_match *match);
