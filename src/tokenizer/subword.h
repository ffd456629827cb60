/* SPDX-License-Identifier: MIT
 * Step four of a tokenizer: words into tokens, by one of three models. What they
 * have in common, and nothing of how they work.
 */
#ifndef AOEI_TOKENIZER_SUBWORD_H
#define AOEI_TOKENIZER_SUBWORD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/bpe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"
#include "tokenizer/wordpiece.h"
#include "tokenizer/words.h"

typedef enum aoei_subword_type { AOEI_SUBWORD_WORDPIECE, AOEI_SUBWORD_BPE, AOEI_SUBWORD_UNIGRAM } aoei_subword_type;

/* Zeroed: a WordPiece model without a vocabulary. */
typedef struct aoei_subword {
    aoei_subword_type type;
    aoei_wordpiece wordpiece; /* of the three the one of the type is in use; owned */
    aoei_bpe bpe;
    aoei_unigram unigram;
    char space[5]; /* the letter that begins a token that begins a word; "": there is none. NUL-terminated */
} aoei_subword;

/* Zeroed at first, kept from text to text or freed. */
typedef struct aoei_subword_scratch {
    aoei_bpe_scratch bpe;
    aoei_unigram_scratch unigram;
} aoei_subword_scratch;

/* The "model" section of tokenizer.json. `scanned`: its vocabulary, when it was read before; it is taken over or freed. */
int aoei_subword_read(aoei_subword *m, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err);
/* Tells what spaces have become when the model sees them; "": nothing that could be recognised. */
void aoei_subword_set_space(aoei_subword *m, const char *letter, size_t len);
const char *aoei_subword_name(const aoei_subword *m); /* "BPE"; static */
const aoei_vocab *aoei_subword_vocab(const aoei_subword *m);
int32_t aoei_subword_unknown(const aoei_subword *m);                     /* id of the unknown token; -1: none */
int aoei_subword_is_continuation(const aoei_subword *m, aoe_text token); /* 1: the token goes on with a word */
/* Appends the tokens of the words, one after the other, until out holds `stop` of them or more; there may be some beyond.
 * Spans count in words->s. AOE_ENOMEM; AOE_EFORMAT: something unknown, and no token for it. */
int aoei_subword_encode(const aoei_subword *m, const aoei_words *words, size_t stop, aoei_token_list *out,
                        aoei_subword_scratch *scratch, aoe_error *err);
void aoei_subword_scratch_free(aoei_subword_scratch *s);
void aoei_subword_free(aoei_subword *m);

#endif
