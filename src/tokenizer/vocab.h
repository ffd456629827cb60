/* SPDX-License-Identifier: MIT
 * A vocabulary: token to id (a byte trie, which models walk for their longest
 * match) and id to token. Ids need not be dense; a token has one id, the last given.
 */
#ifndef AOEI_TOKENIZER_VOCAB_H
#define AOEI_TOKENIZER_VOCAB_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "tokenizer/trie.h"

#define AOEI_VOCAB_MAX_ID ((1 << 22) - 1) /* an id far outside any vocabulary is a broken file, not a table of gigabytes */

typedef struct aoei_token_place {
    uint32_t offset; /* in text */
    uint32_t len;    /* bytes; 0: no token has this id */
} aoei_token_place;

typedef struct aoei_vocab {
    aoei_buffer text;        /* token texts end to end */
    aoei_token_place *place; /* [n_ids], owned */
    size_t n_ids;            /* largest id + 1 */
    size_t capacity;         /* of place */
    size_t n_tokens;         /* distinct tokens, the empty one included: Hugging Face's vocabulary size */
    int has_empty;           /* the empty token was given; it can never match */
    aoei_trie trie;
} aoei_vocab;

/* Adds a token, or gives it another id. AOE_EFORMAT: id out of range, text not UTF-8. The message lacks the file name. */
int aoei_vocab_add(aoei_vocab *v, const char *token, size_t len, int64_t id, aoe_error *err);
/* Adds the {token: id} object of a tokenizer.json model. */
int aoei_vocab_read(aoei_vocab *v, const json_t *object, const char *file, aoe_error *err);
int32_t aoei_vocab_id(const aoei_vocab *v, const char *token, size_t len); /* -1: unknown */
aoe_text aoei_vocab_token(const aoei_vocab *v, int32_t id);                /* data NULL: none */
void aoei_vocab_free(aoei_vocab *v);                                       /* accepts a zeroed one */

#endif
