/* SPDX-License-Identifier: MIT
 * Trains a BERT WordPiece vocabulary on texts. Like the WordPieceTrainer of Hugging Face, it counts words and then
 * merges the most frequent pair of adjacent pieces until the vocabulary is full. The result depends only on the
 * multiset of words, not on the order of the texts.
 *
 *     aoei_wordpiece_trainer_create(&tr, &options, err);
 *     aoei_wordpiece_trainer_add(tr, data, len, err);        // once per text
 *     aoei_wordpiece_train(tr, err);
 *     ... save the vocabulary: tokenizer/wordpiece_save.h
 *     aoei_wordpiece_trainer_destroy(tr);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_counts.h"

typedef struct aoei_wordpiece_options {
    size_t vocab_size;       /* maximum number of tokens, including special tokens; at least 7; default 8000 */
    int lowercase;           /* 1: convert to lower case and strip accents; default 1 */
    uint64_t min_frequency;  /* minimum count of a pair for merging; default 2 */
    size_t limit_alphabet;   /* maximum number of distinct characters; the most frequent ones are kept; default 1000 */
    int pad_id;              /* 0 or 1: id of [PAD]; [UNK] has the other id; default 0 */
    size_t model_max_length; /* value of model_max_length in tokenizer_config.json; default 0: not written */
} aoei_wordpiece_options;

/* Special tokens [PAD] [UNK] [CLS] [SEP] [MASK]. Their values are their ids, unless options.pad_id is 1. */
enum { AOEI_PAD, AOEI_UNK, AOEI_CLS, AOEI_SEP, AOEI_MASK, AOEI_SPECIAL_COUNT };
/* Returns the text of a special token, such as "[CLS]"; static. */
const char *aoei_wordpiece_special(int which);

/* Returns the text of the special token with the id `id`, which is below AOEI_SPECIAL_COUNT; static. */
const char *aoei_wordpiece_special_at(const aoei_wordpiece_options *o, int id);

/* A trainer. Only wordpiece_trainer.c and wordpiece_save.c use its fields. */
typedef struct aoei_wordpiece_trainer {
    aoei_wordpiece_options options;
    aoei_normalizer normalizer;
    aoei_normalized normalized; /* buffer of aoei_wordpiece_trainer_add */
    aoei_word_counts words;
    aoei_pair_merger merger; /* used during training */
    aoei_vocab vocab;        /* trained vocabulary, without unused ids; filled by aoei_wordpiece_train */
} aoei_wordpiece_trainer;

void aoei_wordpiece_options_defaults(aoei_wordpiece_options *o);
/* Creates a trainer. If `o` is NULL, the default options are used. Errors: AOE_EARG if vocab_size is too small or too
 * large; AOE_ENOMEM. */
int aoei_wordpiece_trainer_create(aoei_wordpiece_trainer **tr, const aoei_wordpiece_options *o, aoe_error *err);
/* Counts the words of one text. All texts must be added before aoei_wordpiece_train is called. Errors: AOE_ENOMEM;
 * AOE_EFORMAT if the text is not valid UTF-8. The message contains the offset of the first invalid byte. */
int aoei_wordpiece_trainer_add(aoei_wordpiece_trainer *tr, const char *data, size_t len, aoe_error *err);
/* Builds the vocabulary. Must be called only once. Errors: AOE_EARG if the texts contain no words; AOE_ENOMEM. */
int aoei_wordpiece_train(aoei_wordpiece_trainer *tr, aoe_error *err);
/* Returns the number n of tokens after training. The ids of the tokens are 0 to n - 1. n can be less than vocab_size if
 * there are few texts.
 */
size_t aoei_wordpiece_trainer_size(const aoei_wordpiece_trainer *tr);
aoe_text aoei_wordpiece_trainer_token(const aoei_wordpiece_trainer *tr, size_t id); /* token text, borrowed */
void aoei_wordpiece_trainer_destroy(aoei_wordpiece_trainer *tr);                    /* NULL accepted */
