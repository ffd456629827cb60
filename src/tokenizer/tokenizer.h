/* SPDX-License-Identifier: MIT
 * Encodes texts without a chat template, and returns properties of tokens.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_tokenizer.h"
#include "tokenizer/token_list.h"

/* Encodes a text or a text pair as aoe_tokenizer_encode and aoe_tokenizer_encode_pair do without a chat template. If
 * `before` is not NULL, also sets *before and *after to the number of ids before and after the tokens of the text
 * itself, which belong to special tokens and to the prompt. */
int aoei_tokenizer_encode_plain(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                size_t *before, size_t *after, aoe_error *err);
/* Encodes a text as aoei_tokenizer_encode_plain does, and sets *span to the spans of the ids->n tokens, which the
 * caller frees with aoei_free. A span is a byte range of the text, or, with a prompt, of the prompt in which the text
 * was inserted. The spans of special tokens are [0, 0). */
int aoei_tokenizer_encode_tracked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                  aoei_span **span, aoe_error *err);
int aoei_tokenizer_encode_plain_pair(const aoe_tokenizer *t, aoe_text first, aoe_text second,
                                     const aoe_encode_options *o, int left, aoe_ids *ids, aoe_error *err);

/* Returns the id of the token token[len], or -1 if the tokenizer has no such token. Added tokens take precedence over
 * the vocabulary. */
int32_t aoei_tokenizer_id(const aoe_tokenizer *t, const char *token, size_t len);
/* Returns the id of the token [MASK] or <mask>, or -1 if the tokenizer has neither. */
int32_t aoei_tokenizer_mask_id(const aoe_tokenizer *t);
/* The kind of a token. Whole-word masking uses the kinds to find the tokens of a word. */
typedef enum aoei_token_kind {
    AOEI_TOKEN_NONE,         /* no token has this id */
    AOEI_TOKEN_SPECIAL,      /* special added tokens such as [CLS] and [MASK], and the unknown token */
    AOEI_TOKEN_WORD,         /* begins a word */
    AOEI_TOKEN_CONTINUATION, /* continues a word, such as "##ing" */
} aoei_token_kind;
/* Sets kind[i] to the aoei_token_kind of the token with id i, for all i below n. */
void aoei_tokenizer_kinds(const aoe_tokenizer *t, uint8_t *kind, size_t n);

/* Completes a tokenizer after its subword model, normalizer, pre-tokenizer and added tokens have been read. Some
 * components need settings of other components, such as the letter that replaces spaces. This function copies these
 * settings. `path` names the file in messages. */
int aoei_tokenizer_finish(aoe_tokenizer *t, const char *path, aoe_error *err);
