/* SPDX-License-Identifier: MIT
 * A vocabulary consists of a hash table that maps tokens to ids, and an array that maps ids to tokens. Some ids may be
 * unused. A token has only one id: if a token is added again, the new id replaces the old id. Subword models that
 * search for the tokens at the beginning of a text copy the vocabulary to a trie (aoei_vocab_fill_trie).
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "tokenizer/trie.h"

/* The maximum id. Larger ids occur only in corrupt files, and could require an array of several gigabytes. */
#define AOEI_VOCAB_MAX_ID ((1 << 22) - 1)

typedef struct aoei_token_place {
    uint32_t offset; /* byte offset of the token in aoei_vocab.text */
    uint32_t len;    /* length in bytes; 0: no token has this id */
} aoei_token_place;

/* A distinct token. The entries of a vocabulary are in the order in which their tokens were first added. */
typedef struct aoei_vocab_entry {
    uint32_t offset, len; /* byte offset of the token in aoei_vocab.text; length in bytes */
    int32_t id;
} aoei_vocab_entry;

typedef struct aoei_vocab_slot {
    uint32_t hash;  /* hash of the token */
    uint32_t entry; /* index in aoei_vocab.entry plus 1; 0: empty slot */
} aoei_vocab_slot;

typedef struct aoei_vocab {
    aoei_buffer text;        /* concatenated token texts; owned */
    aoei_token_place *place; /* [n_ids] position of each token in text, owned */
    size_t n_ids;            /* largest id + 1 */
    size_t capacity;         /* number of allocated elements of `place` */
    size_t n_tokens; /* number of distinct tokens, including the empty token; the vocabulary size in Hugging Face
                        tokenizers */
    int has_empty;   /* 1: the empty token was added; the empty token never matches */
    aoei_vocab_entry *entry; /* [n_entries] distinct tokens except the empty token, owned */
    size_t n_entries, entry_capacity;
    aoei_vocab_slot *slot; /* [slots] hash table; after a collision, the next empty slot is used; owned */
    size_t slots;          /* a power of two, at least twice n_entries; 0: no tokens */
} aoei_vocab;

/* Adds a token, or changes the id of a token that was added before. Errors: AOE_ENOMEM; AOE_EFORMAT if the id is out of
 * range or the token is not valid UTF-8. The caller adds the file name to the message. */
int aoei_vocab_add(aoei_vocab *v, const char *token, size_t len, int64_t id, aoe_error *err);
/* Adds the tokens of the JSON object {token: id} of a model in tokenizer.json. */
int aoei_vocab_read(aoei_vocab *v, const json_t *object, const char *file, aoe_error *err);
int32_t aoei_vocab_id(const aoei_vocab *v, const char *token, size_t len); /* returns -1 for an unknown token */
/* Returns the id of the token that consists of the bytes of a and then those of b, or -1 if it is unknown. */
int32_t aoei_vocab_joined_id(const aoei_vocab *v, aoe_text a, aoe_text b);
aoe_text aoei_vocab_token(const aoei_vocab *v, int32_t id); /* data is NULL if no token has this id */
/* Adds all tokens and their ids to a zeroed trie. Errors: AOE_ENOMEM; AOE_EUNSUPPORTED for more than
 * AOEI_TRIE_MAX_NODES nodes. The caller frees the trie, also after an error. */
int aoei_vocab_fill_trie(const aoei_vocab *v, aoei_trie *trie, aoe_error *err);
void aoei_vocab_free(aoei_vocab *v); /* accepts a zeroed struct */
