/* SPDX-License-Identifier: MIT
 * The Unigram model. A word is divided into the tokens that have the largest sum of scores. They are found in one pass
 * from left to right with the Viterbi algorithm.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/words.h"

typedef struct aoei_unigram {
    aoei_vocab vocab;      /* vocabulary; a token's id is its index in "vocab" of tokenizer.json; owned */
    aoei_trie trie;        /* the tokens of the vocabulary; owned */
    double *score;         /* [vocab.n_ids] scores of the tokens, owned */
    double unk_score;      /* score of an unknown character: lowest score of a token minus 10 */
    int32_t unk;           /* id of the unknown token; -1: no unknown token, so encoding an unknown character fails */
    int byte_fallback;     /* 1: a character without a token is encoded as byte tokens such as <0x41> */
    int32_t fallback[256]; /* ids of the byte tokens <0x00> to <0xFF>; -1: not in the vocabulary */
    aoei_word_cache cache; /* tokens of words that were encoded before; owned */
} aoei_unigram;

/* The best segmentation of the part of a word before a given position. */
typedef struct aoei_unigram_node {
    double score; /* sum of the scores of the tokens of the segmentation */
    size_t start; /* start of the last token of the segmentation, in bytes from the start of the word */
    int32_t id;   /* id of the last token of the segmentation; -1: no segmentation ends at this position */
} aoei_unigram_node;

/* The workspace for encoding. The caller zeroes it before the first use. All words use the same buffers. */
typedef struct aoei_unigram_scratch {
    aoei_unigram_node *node; /* [capacity] one node per position of a word; owned */
    size_t capacity;
    aoei_span *part; /* [n_parts] byte ranges of the tokens of a word, the last token first; owned */
    size_t n_parts, part_capacity;
} aoei_unigram_scratch;

/* Reads a "model" section of tokenizer.json whose type is Unigram. */
int aoei_unigram_read(aoei_unigram *u, const json_t *section, const char *file, aoe_error *err);
/* Appends the tokens of the words to `out` and stops as soon as `out` has at least `stop` tokens. Errors: AOE_ENOMEM;
 * AOE_EFORMAT if a character is unknown and the model has no unknown token. */
int aoei_unigram_encode(const aoei_unigram *u, const aoei_words *words, size_t stop, aoei_token_list *out,
                        aoei_unigram_scratch *scratch, aoe_error *err);
void aoei_unigram_scratch_free(aoei_unigram_scratch *s);
void aoei_unigram_free(aoei_unigram *u);
