/* SPDX-License-Identifier: MIT
 * Encodes texts, with or without a chat template. The functions aoe_tokenizer_encode and aoe_tokenizer_encode_pair of
 * aoe.h are also in this unit.
 */
#pragma once

#include <stddef.h>

#include "aoe_tokenizer.h"

/* Encodes a text as aoe_tokenizer_encode does. Also sets *before and *after to the number of ids before and after the
 * tokens of the text itself. These ids belong to special tokens, to tokens of the prompt and to the chat template. */
int aoei_tokenizer_encode_marked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                 size_t *before, size_t *after, aoe_error *err);
/* Encodes a pair as aoe_tokenizer_encode_pair does. left: 1: if the pair is too long, the first tokens of its texts are
 * removed; 0: as the tokenizer does. Without effect with a chat template. */
int aoei_tokenizer_encode_pair_side(const aoe_tokenizer *t, aoe_text first, aoe_text second,
                                    const aoe_encode_options *o, int left, aoe_ids *ids, aoe_error *err);
