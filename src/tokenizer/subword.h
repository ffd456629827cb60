/* SPDX-License-Identifier: MIT
 * A common interface to the subword models WordPiece, BPE and Unigram, which convert words to tokens, and to
 * vocabularies of words.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/bpe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_lookup.h"
#include "tokenizer/wordpiece.h"
#include "tokenizer/words.h"

typedef enum aoei_subword_type {
    AOEI_SUBWORD_WORDPIECE,
    AOEI_SUBWORD_BPE,
    AOEI_SUBWORD_UNIGRAM,
    AOEI_SUBWORD_WORDS /* whole words, which aoei_word_lookup_encode finds in a text; aoei_subword_encode is not
                          called */
} aoei_subword_type;

/* A subword model. A zeroed struct is a WordPiece model without a vocabulary. */
typedef struct aoei_subword {
    aoei_subword_type type;
    aoei_wordpiece wordpiece; /* used if type is AOEI_SUBWORD_WORDPIECE; owned */
    aoei_bpe bpe;             /* used if type is AOEI_SUBWORD_BPE; owned */
    aoei_unigram unigram;     /* used if type is AOEI_SUBWORD_UNIGRAM; owned */
    aoei_word_lookup words;   /* used if type is AOEI_SUBWORD_WORDS; owned */
    char space[5]; /* letter at the start of every token that begins a word, NUL-terminated; "" if there is none */
} aoei_subword;

/* The workspace for encoding. The caller zeroes it before the first use, and can use one workspace for many texts. */
typedef struct aoei_subword_scratch {
    aoei_bpe_scratch bpe;
    aoei_unigram_scratch unigram;
} aoei_subword_scratch;

/* Reads the "model" section of tokenizer.json. If aoei_vocab_scan has read the vocabulary, `scanned` contains it
 * and the section's "vocab" is empty; otherwise `scanned` is empty. The function takes ownership of the contents of
 * `scanned`. */
int aoei_subword_read(aoei_subword *m, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err);
/* Sets the letter that replaces spaces in the model's input. An empty letter means that the letter is unknown. */
void aoei_subword_set_space(aoei_subword *m, const char *letter, size_t len);
const char *aoei_subword_name(const aoei_subword *m); /* name such as "BPE"; static */
const aoei_vocab *aoei_subword_vocab(const aoei_subword *m);
int32_t aoei_subword_unknown(const aoei_subword *m);                     /* id of the unknown token; -1: none */
int aoei_subword_is_continuation(const aoei_subword *m, aoe_text token); /* 1: the token continues a word */
/* Appends the tokens of the words to out. Encoding may stop when out has at least `stop` tokens. The span of a token is
 * its byte range in words->s. Errors: AOE_ENOMEM; AOE_EFORMAT if a word is unknown and the model has no unknown
 * token. */
int aoei_subword_encode(const aoei_subword *m, const aoei_words *words, size_t stop, aoei_token_list *out,
                        aoei_subword_scratch *scratch, aoe_error *err);
void aoei_subword_scratch_free(aoei_subword_scratch *s);
void aoei_subword_free(aoei_subword *m);
