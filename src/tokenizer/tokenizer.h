/* SPDX-License-Identifier: MIT
 * Encoding texts with a tokenizer, and queries about its tokens, in addition to aoe.h.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_H
#define AOEI_TOKENIZER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* As aoe_tokenizer_encode; besides, how many of the ids come before the text's own tokens and after them: specials, and those
 * of the prompt. */
int aoei_tokenizer_encode_marked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                 size_t *before, size_t *after, aoe_error *err);

/* The id of a token (added tokens first, then the vocabulary), -1 when there is none. */
int32_t aoei_tokenizer_id(const aoe_tokenizer *t, const char *token, size_t len);
/* What whole-word masking needs to know of every id below n. kind: [n]. */
typedef enum aoei_token_kind {
    AOEI_TOKEN_NONE,         /* no token has this id */
    AOEI_TOKEN_SPECIAL,      /* [CLS], [MASK] ...: added tokens and the unknown token */
    AOEI_TOKEN_WORD,         /* begins a word */
    AOEI_TOKEN_CONTINUATION, /* goes on with one: "##ing" */
} aoei_token_kind;
void aoei_tokenizer_kinds(const aoe_tokenizer *t, uint8_t *kind, size_t n);

/* Completes a tokenizer whose subword model, normalizer, pre-tokenizer and added tokens are read: sets what they need to know
 * of each other. `path` names the file in messages. */
int aoei_tokenizer_finish(aoe_tokenizer *t, const char *path, aoe_error *err);

#endif
