/* SPDX-License-Identifier: MIT
 * Trains a BERT WordPiece vocabulary on texts: counts words, then merges the
 * most frequent pair of neighbouring pieces until the vocabulary is full, as
 * the WordPieceTrainer of Hugging Face does. The result is a pure function of
 * the multiset of words: the order of the texts does not matter.
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
    size_t vocab_size;       /* specials included; default 8000; at least 7 */
    int lowercase;           /* lower case and no accents; default 1 */
    uint64_t min_frequency;  /* pairs seen less often are not merged; default 2 */
    size_t limit_alphabet;   /* most frequent characters kept; default 1000 */
    size_t model_max_length; /* written to tokenizer_config.json; 0: left out (default) */
} aoei_wordpiece_options;

/* [PAD] [UNK] [CLS] [SEP] [MASK] have the ids 0 to 4. */
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
/* o NULL: defaults. AOE_EARG: vocab_size too small. */
int aoei_wordpiece_trainer_create(aoei_wordpiece_trainer **tr, const aoei_wordpiece_options *o, aoe_error *err);
/* Counts the words of one text; before aoei_wordpiece_train. AOE_EFORMAT: invalid UTF-8, with the byte offset. */
int aoei_wordpiece_trainer_add(aoei_wordpiece_trainer *tr, const char *data, size_t len, aoe_error *err);
/* Builds the vocabulary, once. AOE_EARG: the texts hold no word. */
int aoei_wordpiece_train(aoei_wordpiece_trainer *tr, aoe_error *err);
/* After training: tokens in the vocabulary (ids 0 to n-1); a small text can give fewer than asked for. */
size_t aoei_wordpiece_trainer_size(const aoei_wordpiece_trainer *tr);
aoe_text aoei_wordpiece_trainer_token(const aoei_wordpiece_trainer *tr, size_t id); /* borrowed */
void aoei_wordpiece_trainer_destroy(aoei_wordpiece_trainer *tr);                    /* NULL accepted */

#endif
