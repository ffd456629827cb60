/* SPDX-License-Identifier: MIT
 * Small tokenizers for tests, and encodings as readable strings.
 */
#ifndef AOE_TESTS_TOKENIZERS_H
#define AOE_TESTS_TOKENIZERS_H

#include <stddef.h>

#include "aoe.h"

/* The parts of a tokenizer.json. The file has BertNormalizer, BertPreTokenizer, the template [CLS] $A [SEP], and WordPiece with
 * the tokens [PAD] [UNK] [CLS] [SEP] [MASK] (ids 0 to 4) followed by `words`, which are separated by spaces. The other fields
 * are JSON values. NULL selects a default: the uncased normalizer, the special tokens as added tokens, and the template.
 * test_tokenizer_json returns the file, which the caller frees. */
typedef struct test_tokenizer_spec {
    const char *words;
    const char *normalizer;
    const char *added_tokens;
    const char *post_processor;
} test_tokenizer_spec;
char *test_tokenizer_json(const test_tokenizer_spec *spec);

/* Opens the tokenizer of a specification; fails the test on an error. */
aoe_tokenizer *test_tokenizer(const test_tokenizer_spec *spec);

/* Opens a complete tokenizer.json; fails the test on an error. */
aoe_tokenizer *test_tokenizer_of(const char *json);

/* Return the tokens of a text, separated by spaces. If encoding fails, return "error CODE". The next call overwrites the
 * result. */
const char *test_tokens(const aoe_tokenizer *t, const char *text, const aoe_encode_options *o);
const char *test_tokens_n(const aoe_tokenizer *t, const char *text, size_t len, const aoe_encode_options *o);

#endif
