/* SPDX-License-Identifier: MIT
 * Building byte-pair encoding models from tokenizer files.
 */
#ifndef AOEI_TOKENIZER_BPE_READ_H
#define AOEI_TOKENIZER_BPE_READ_H

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/bpe.h"

/* The "model" section of tokenizer.json, of type BPE. `scanned` is its vocabulary when it was read before (and then empty in
 * the section); it is taken over. */
int aoei_bpe_read(aoei_bpe *b, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err);
/* vocab.json as a JSON value and merges.txt; no options, no unknown token. */
int aoei_bpe_read_files(aoei_bpe *b, const json_t *vocab, const char *vocab_file, aoe_text merges, const char *merges_file,
                        aoe_error *err);
/* Whether the model can take the bytes of words itself; then it is told to. */
int aoei_bpe_take_bytes(aoei_bpe *b);
/* Tells which letter spaces have become, "" for none: long words are cut there where no merge forbids it. */
void aoei_bpe_set_space(aoei_bpe *b, const char *letter);
/* Accepts a zeroed model, and one that could not be read. */
void aoei_bpe_free(aoei_bpe *b);

#endif
