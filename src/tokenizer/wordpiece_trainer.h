/* SPDX-License-Identifier: MIT
 * Trains a BERT WordPiece vocabulary on texts: counts words, then merges the
 * most frequent pair of neighbouring pieces until the vocabulary is full, as
 * the WordPieceTrainer of Hugging Face does. The result is a pure function of
 * the multiset of words: the order of the texts does not matter.
 *
 *     aoei_wordpiece_trainer_create(&tr, &options, err);
 *     aoei_wordpiece_trainer_add(tr, data, len, err);        // once a text
 *     aoei_wordpiece_train(tr, err);
 *     aoei_wordpiece_save(tr, dir, err);
 *     aoei_wordpiece_trainer_destroy(tr);
 */
#ifndef AOEI_TOKENIZER_WORDPIECE_TRAINER_H
#define AOEI_TOKENIZER_WORDPIECE_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_wordpiece_options {
    size_t vocab_size;       /* specials included; default 8000; at least 7 */
    int lowercase;           /* lower case and no accents; default 1 */
    uint64_t min_frequency;  /* pairs seen less often are not merged; default 2 */
    size_t limit_alphabet;   /* most frequent characters kept; default 1000 */
    size_t model_max_length; /* written to tokenizer_config.json; 0: left out (default) */
} aoei_wordpiece_options;

typedef struct aoei_wordpiece_trainer aoei_wordpiece_trainer;

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
/* Writes vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json into dir, which exists. */
int aoei_wordpiece_save(const aoei_wordpiece_trainer *tr, const char *dir, aoe_error *err);
void aoei_wordpiece_trainer_destroy(aoei_wordpiece_trainer *tr); /* NULL accepted */

#endif
