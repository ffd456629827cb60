/* SPDX-License-Identifier: MIT
 * Small tokenizers for tests, and encodings as readable strings.
 */
#ifndef AOE_TESTS_TOKENIZERS_H
#define AOE_TESTS_TOKENIZERS_H

#include <stddef.h>

#include "aoe.h"

/* A tokenizer.json with BertNormalizer, BertPreTokenizer, [CLS] $A [SEP] and WordPiece over [PAD] [UNK] [CLS] [SEP] [MASK]
 * (ids 0 to 4) and then `words`, separated by spaces. Parts are JSON or NULL for the usual: the uncased normaliser, the
 * specials as added tokens, the template. free() it. */
typedef struct test_tokenizer_spec {
    const char *words;
    const char *normalizer;
    const char *added_tokens;
    const char *post_processor;
} test_tokenizer_spec;
char *test_tokenizer_json(const test_tokenizer_spec *spec);

/* Opens it; a failure ends the test. */
aoe_tokenizer *test_tokenizer(const test_tokenizer_spec *spec);

/* From a whole tokenizer.json; a failure ends the test. */
aoe_tokenizer *test_tokenizer_of(const char *json);

/* The tokens of a text with spaces between them, or "error CODE". In static memory, until the next call. */
const char *test_tokens(const aoe_tokenizer *t, const char *text, const aoe_encode_options *o);
const char *test_tokens_n(const aoe_tokenizer *t, const char *text, size_t len, const aoe_encode_options *o);

#endif
