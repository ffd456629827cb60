/* SPDX-License-Identifier: MIT
 * The trainer's insides, shared by training and saving.
 */
#ifndef AOEI_TOKENIZER_WORDPIECE_TRAINER_PARTS_H
#define AOEI_TOKENIZER_WORDPIECE_TRAINER_PARTS_H

#include "tokenizer/normalizer.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/words.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_counts.h"
#include "tokenizer/wordpiece_trainer.h"

/* [PAD] [UNK] [CLS] [SEP] [MASK] have the ids 0 to 4. */
enum { AOEI_PAD, AOEI_UNK, AOEI_CLS, AOEI_SEP, AOEI_MASK, AOEI_SPECIAL_COUNT };
const char *aoei_wordpiece_special(int which); /* static */

struct aoei_wordpiece_trainer {
    aoei_wordpiece_options options;
    aoei_normalizer normalizer;
    aoei_normalized normalized; /* scratch of aoei_wordpiece_trainer_add */
    aoei_word_counts words;
    aoei_pair_merger merger; /* while training */
    aoei_vocab vocab;        /* dense ids; filled by aoei_wordpiece_train */
};

#endif
