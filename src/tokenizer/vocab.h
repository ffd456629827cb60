/* SPDX-License-Identifier: MIT
 * A vocabulary: a byte trie that maps tokens to ids, in which models search for the longest match, and an array that maps ids
 * to tokens. Ids may have gaps. A token has one id: if it is added again, the new id replaces the old one.
 */
#ifndef AOEI_TOKENIZER_VOCAB_H
#define AOEI_TOKENIZER_VOCAB_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "tokenizer/trie.h"

/* Maximum id. A larger id occurs only in corrupt files and could require an array of gigabytes. */
#define AOEI_VOCAB_MAX_ID ((1 << 22) - 1)

typedef struct aoei_token_place {
    uint32_t offset; /* offset in the vocabulary's text */
    uint32_t len;    /* length in bytes; 0: no token has this id */
} aoei_token_place;

typedef struct aoei_vocab {
    aoei_buffer text;        /* concatenated token texts; owned */
    aoei_token_place *place; /* [n_ids] position of each token in text, owned */
    size_t n_ids;            /* largest id + 1 */
    size_t capacity;         /* capacity of place */
    size_t n_tokens;         /* number of distinct tokens including the empty one, which is Hugging Face's vocabulary size */
    int has_empty;           /* 1: the empty token was added; it never matches */
    aoei_trie trie;          /* maps tokens to ids; owned */
} aoei_vocab;

/* Adds a token, or changes its id. Errors: AOE_ENOMEM; AOE_EFORMAT if the id is out of range or the token is not UTF-8,
 * with a message without the file name, which the caller adds. */
int aoei_vocab_add(aoei_vocab *v, const char *token, size_t len, int64_t id, aoe_error *err);
/* Adds the {token: id} object of a tokenizer.json model. */
int aoei_vocab_read(aoei_vocab *v, const json_t *object, const char *file, aoe_error *err);
int32_t aoei_vocab_id(const aoei_vocab *v, const char *token, size_t len); /* -1: unknown token */
aoe_text aoei_vocab_token(const aoei_vocab *v, int32_t id);                /* data is NULL if no token has this id */
void aoei_vocab_free(aoei_vocab *v);                                       /* accepts a zeroed struct */

#endif
