/* SPDX-License-Identifier: MIT
 * Small tokenizers for tests, and a function that returns the tokens of a text as a string.
 */
#pragma once

#include <stddef.h>

#include "aoe_tokenizer.h"

/* The contents of a tokenizer.json with a WordPiece model and BertPreTokenizer. The vocabulary is [PAD] [UNK] [CLS]
 * [SEP] [MASK] (ids 0 to 4), followed by `words`, which are separated by spaces. All other fields are JSON values; NULL
 * selects the default. The defaults are an uncased BertNormalizer, the special tokens as added tokens, and the template
 * [CLS] $A [SEP]. test_tokenizer_json returns the contents as a string, which the caller frees. */
typedef struct test_tokenizer_spec {
    const char *words;
    const char *normalizer;
    const char *added_tokens;
    const char *post_processor;
} test_tokenizer_spec;
char *test_tokenizer_json(const test_tokenizer_spec *spec);

/* Opens a tokenizer with the given contents. Fails the test on an error. */
aoe_tokenizer *test_tokenizer(const test_tokenizer_spec *spec);

/* Opens a tokenizer; json is the contents of its tokenizer.json. Fails the test on an error. */
aoe_tokenizer *test_tokenizer_of(const char *json);

/* Creates a tokenizer with every second token of t and the tokens that a subset must contain. Returns NULL if the
 * library rejects the subset. Aborts if the result and the error contradict each other. dir: directory of t, with which
 * messages must begin. The caller closes the tokenizer. */
aoe_tokenizer *test_smaller_tokenizer(const aoe_tokenizer *t, const char *dir);

/* Both functions return the tokens of a text, separated by spaces. If encoding fails, they return "error CODE". The
 * next call overwrites the result. */
const char *test_tokens(const aoe_tokenizer *t, const char *text, const aoe_encode_options *o);
const char *test_tokens_n(const aoe_tokenizer *t, const char *text, size_t len, const aoe_encode_options *o);
