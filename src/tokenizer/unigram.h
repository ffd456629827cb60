/* SPDX-License-Identifier: MIT
 * Step four of a tokenizer, the Unigram model: of all ways to write a word in
 * tokens the one whose scores add up to most, found in one pass from left to right.
 */
#ifndef AOEI_TOKENIZER_UNIGRAM_H
#define AOEI_TOKENIZER_UNIGRAM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/words.h"

typedef struct aoei_unigram {
    aoei_vocab vocab;      /* owned; the id is the place in the list */
    double *score;         /* [vocab.n_ids], owned */
    double unk_score;      /* of an unknown character: 10 below the lowest score */
    int32_t unk;           /* id of the unknown token, -1: none, and an unknown character is an error */
    int byte_fallback;     /* what is no token is spelled in bytes, <0x41> */
    int32_t fallback[256]; /* ids of <0x00> to <0xFF>; -1: none */
    aoei_word_cache cache; /* owned */
} aoei_unigram;

/* The best way to write the word up to a place. */
typedef struct aoei_unigram_node {
    double score;
    size_t start; /* where its last token begins */
    int32_t id;   /* of that token; -1: the place has not been reached */
} aoei_unigram_node;

/* What encoding works in; zeroed at first, kept from word to word. */
typedef struct aoei_unigram_scratch {
    aoei_unigram_node *node; /* [capacity], owned */
    size_t capacity;
    aoei_span *part; /* [n_parts], owned: of a word, from its end */
    size_t n_parts, part_capacity;
} aoei_unigram_scratch;

/* The "model" section of tokenizer.json, of type Unigram. */
int aoei_unigram_read(aoei_unigram *u, const json_t *section, const char *file, aoe_error *err);
/* As aoei_wordpiece_encode. AOE_ENOMEM; AOE_EFORMAT: an unknown character and no unknown token. */
int aoei_unigram_encode(const aoei_unigram *u, const aoei_words *words, size_t stop, aoei_token_list *out,
                        aoei_unigram_scratch *scratch, aoe_error *err);
void aoei_unigram_scratch_free(aoei_unigram_scratch *s);
void aoei_unigram_free(aoei_unigram *u);

#endif
