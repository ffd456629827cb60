/* SPDX-License-Identifier: MIT
 * Builds byte-pair encoding models from tokenizer files.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/bpe.h"

/* Reads a "model" section of tokenizer.json whose type is BPE. If aoei_vocab_scan has read the vocabulary, `scanned`
 * contains it and the section's "vocab" is empty; otherwise `scanned` is empty. The function takes ownership of the
 * contents of `scanned`. */
int aoei_bpe_read(aoei_bpe *b, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err);
/* Builds a model from `vocab`, the parsed vocab.json, and `merges`, the contents of merges.txt. These files store no
 * options, so the model has no unknown token and no byte fallback. */
int aoei_bpe_read_files(aoei_bpe *b, const json_t *vocab, const char *vocab_file, aoe_text merges,
                        const char *merges_file, aoe_error *err);
/* Sets b->raw_bytes to 1, so that words contain raw bytes instead of the letters that represent bytes (byte_letters.h),
 * and returns 1. Returns 0 if the vocabulary or the options of the model do not allow raw bytes. */
int aoei_bpe_enable_raw_bytes(aoei_bpe *b);
/* Sets the letter that replaces spaces in words; "" means that there is none. If no merge joins this letter to a
 * different preceding character, words are split before each such letter. The tokens are the same, but encoding is
 * faster. */
void aoei_bpe_set_space(aoei_bpe *b, const char *letter);
/* Frees the memory of a model. The model may be zeroed, or incomplete because it could not be read. */
void aoei_bpe_free(aoei_bpe *b);
