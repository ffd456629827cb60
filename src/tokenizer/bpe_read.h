/* SPDX-License-Identifier: MIT
 * Builds byte-pair encoding models from tokenizer files.
 */
#ifndef AOEI_TOKENIZER_BPE_READ_H
#define AOEI_TOKENIZER_BPE_READ_H

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/bpe.h"

/* Reads a "model" section of tokenizer.json with type BPE. If `scanned` is not empty, it is the vocabulary, read earlier,
 * and the section's own vocabulary is empty. The function takes ownership of it. */
int aoei_bpe_read(aoei_bpe *b, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err);
/* Reads vocab.json (parsed) and merges.txt. The model has no options and no unknown token. */
int aoei_bpe_read_files(aoei_bpe *b, const json_t *vocab, const char *vocab_file, aoe_text merges, const char *merges_file,
                        aoe_error *err);
/* If the model can process the raw bytes of words, enables that and returns 1; otherwise returns 0. */
int aoei_bpe_take_bytes(aoei_bpe *b);
/* Sets the letter that replaces spaces; "": none. Long words are split before it if no merge crosses it. */
void aoei_bpe_set_space(aoei_bpe *b, const char *letter);
/* Accepts a zeroed model and a model that could not be read. */
void aoei_bpe_free(aoei_bpe *b);

#endif
