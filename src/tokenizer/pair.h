/* SPDX-License-Identifier: MIT
 * Joins the tokens of two texts to the input of a cross-encoder.
 */
#pragma once

#include "aoe_tokenizer.h"
#include "tokenizer/postprocessor.h"

/* Replaces the tokens in *first by those of the pair, with their token types. *first and *second contain the tokens of
 * the two texts without special tokens. The template of `post` adds special tokens; if no_specials is 1, special tokens
 * are omitted. If max_length is not 0, the texts are truncated so that the pair has at most max_length tokens: first
 * the longer text, until both have the same length, then both. left: 1 if the first tokens of a text are removed, 0 if
 * the last tokens are removed. Errors: AOE_EARG (max_length is less than the number of special tokens),
 * AOE_EUNSUPPORTED (the tokenizer has two templates), AOE_ENOMEM.
 */
int aoei_pair_join(aoe_ids *first, const aoe_ids *second, const aoei_postprocessor *post, int no_specials,
                   size_t max_length, int left, aoe_error *err);
