/* SPDX-License-Identifier: MIT
 * Trains a BERT WordPiece vocabulary on texts. Like the WordPieceTrainer of Hugging Face, it counts words and then merges
 * the most frequent pair of adjacent pieces until the vocabulary is full. The result depends only on the multiset of words,
 * not on the order of the texts.
 *
 *     aoei_wordpiece_trainer_create(&tr, &options, err);
 *     aoei_wordpiece_trainer_add(tr, data, len, err);        // once a text
 *     aoei_wordpiece_train(tr, err);
 *     ... save the vocabulary: tokenizer/wordpiece_save.h
 *     aoei_wordpiece_trainer_destroy(tr);
 */
#ifndef AOEI_TOKENIZER_WORDPIECE_TRAINER_H
#define AOEI_TOKENIZER_WORDPIECE_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_counts.h"

typedef struct aoei_wordpiece_options {
    size_t vocab_size;       /* including special tokens; at least 7; default 8000 */
    int lowercase;           /* 1: convert to lower case and strip accents; default 1 */
    uint64_t min_frequency;  /* minimum count of a pair for merging; default 2 */
    size_t limit_alphabet;   /* maximum number of characters, the most frequent ones are kept; default 1000 */
    size_t model_max_length; /* value for tokenizer_config.json; 0: not written (default) */
} aoei_wordpiece_options;

/* Ids of the special tokens [PAD] [UNK] [CLS] [SEP] [MASK]. */
enum { AOEI_PAD, AOEI_UNK, AOEI_CLS, AOEI_SEP, AOEI_MASK, AOEI_SPECIAL_COUNT };
/* The text of a special token; static. */
const char *aoei_wordpiece_special(int which);

/* A trainer. Only wordpiece_trainer.c and wordpiece_save.c use its fields. */
typedef struct aoei_wordpiece_trainer {
    aoei_wordpiece_options options;
    aoei_normalizer normalizer;
    aoei_normalized normalized; /* buffer of aoei_wordpiece_trainer_add */
    aoei_word_counts words;
    aoei_pair_merger merger; /* used during training */
    aoei_vocab vocab;        /* dense ids; filled by aoei_wordpiece_train */
} aoei_wordpiece_trainer;

void aoei_wordpiece_options_defaults(aoei_wordpiece_options *o);
/* o may be NULL for defaults. Errors: AOE_EARG if vocab_size is too small. */
int aoei_wordpiece_trainer_create(aoei_wordpiece_trainer **tr, const aoei_wordpiece_options *o, aoe_error *err);
/* Counts the words of one text. Call it before aoei_wordpiece_train. AOE_EFORMAT: invalid UTF-8; the message has the byte
 * offset. */
int aoei_wordpiece_trainer_add(aoei_wordpiece_trainer *tr, const char *data, size_t len, aoe_error *err);
/* Builds the vocabulary. Call it once. Errors: AOE_EARG if the texts contain no words. */
int aoei_wordpiece_train(aoei_wordpiece_trainer *tr, aoe_error *err);
/* The number of tokens after training, with ids 0 to n - 1. Small texts can give fewer than requested. */
size_t aoei_wordpiece_trainer_size(const aoei_wordpiece_trainer *tr);
aoe_text aoei_wordpiece_trainer_token(const aoei_wordpiece_trainer *tr, size_t id); /* borrowed */
void aoei_wordpiece_trainer_destroy(aoei_wordpiece_trainer *tr);                    /* NULL accepted */

#endif
