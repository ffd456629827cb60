/* SPDX-License-Identifier: MIT
 * Selects the padding token that other programs use with a tokenizer. aoe itself does not pad texts.
 */
#pragma once

#include "aoe_tokenizer.h"

/* Returns the id of a padding token that the tokenizer does not add to texts, or -1 if there is none: "pad_token" of
 * tokenizer_config.json if possible, otherwise the first such special token. The classification head of a causal model
 * in transformers reads the last token of a text that is not the padding token. */
int32_t aoei_tokenizer_padding(const aoe_tokenizer *t);
