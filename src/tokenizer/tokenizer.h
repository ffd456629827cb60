/* SPDX-License-Identifier: MIT
 * Functions of tokenizers in addition to those of aoe.h: encoding that also returns which tokens are the text's own, and
 * properties of tokens.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_H
#define AOEI_TOKENIZER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* Encodes like aoe_tokenizer_encode and also sets *before and *after to the number of ids before and after the text's own
 * tokens. These ids are special tokens and tokens of the prompt. */
int aoei_tokenizer_encode_marked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                 size_t *before, size_t *after, aoe_error *err);

/* Returns the id of a token, or -1. Added tokens take precedence over the vocabulary. */
int32_t aoei_tokenizer_id(const aoe_tokenizer *t, const char *token, size_t len);
/* Kinds of tokens, used for whole-word masking. */
typedef enum aoei_token_kind {
    AOEI_TOKEN_NONE,         /* no token has this id */
    AOEI_TOKEN_SPECIAL,      /* special added tokens such as [CLS] and [MASK], and the unknown token */
    AOEI_TOKEN_WORD,         /* begins a word */
    AOEI_TOKEN_CONTINUATION, /* continues a word, such as "##ing" */
} aoei_token_kind;
/* Writes the kind of every id below n, an aoei_token_kind, to kind[n]. */
void aoei_tokenizer_kinds(const aoe_tokenizer *t, uint8_t *kind, size_t n);

/* Completes a tokenizer after its subword model, normalizer, pre-tokenizer and added tokens have been read. Each component gets
 * the settings of the other components that it needs. `path` names the file in messages. */
int aoei_tokenizer_finish(aoe_tokenizer *t, const char *path, aoe_error *err);

#endif
