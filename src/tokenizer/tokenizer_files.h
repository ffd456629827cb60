/* SPDX-License-Identifier: MIT
 * Opens tokenizers from directories and from memory, and saves copies of their files.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_FILES_H
#define AOEI_TOKENIZER_TOKENIZER_FILES_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/tokenizer_vocab.h"

/* Like aoe_tokenizer_open, except that a directory without tokenizer files is not an error: returns 0 and sets *t to NULL. */
int aoei_tokenizer_open_optional(aoe_tokenizer **t, const char *dir, aoe_error *err);

/* Parses the contents of a tokenizer.json. The data is copied. `name` replaces the path in messages. aoei_tokenizer_save
 * writes the data as "tokenizer.json". */
int aoei_tokenizer_parse_json(aoe_tokenizer **t, const char *data, size_t len, const char *name, aoe_error *err);

/* Parses the contents of the files of a tokenizer without tokenizer.json. The data is copied. `dir` names the directory in
 * messages. */
int aoei_tokenizer_parse_vocab(aoe_tokenizer **t, const aoei_vocab_files *files, const char *dir, aoe_error *err);

/* Writes byte-for-byte copies of the tokenizer's files into the existing directory dir. The copies are made from memory, so
 * the source files may have been removed. */
int aoei_tokenizer_save(const aoe_tokenizer *t, const char *dir, aoe_error *err);

#endif
