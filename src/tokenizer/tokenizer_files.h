/* SPDX-License-Identifier: MIT
 * Opening tokenizers from directories and from memory, and saving copies of their files.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_FILES_H
#define AOEI_TOKENIZER_TOKENIZER_FILES_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/tokenizer_vocab.h"

/* As aoe_tokenizer_open, but a directory without tokenizer files is no error: 0 and *t NULL. */
int aoei_tokenizer_open_optional(aoe_tokenizer **t, const char *dir, aoe_error *err);

/* From memory; `name` stands for the file in messages. Nothing is kept of the arguments, and
 * aoei_tokenizer_save of the result writes `tokenizer.json` again. */
int aoei_tokenizer_parse_json(aoe_tokenizer **t, const char *data, size_t len, const char *name, aoe_error *err);

/* From memory, as aoei_tokenizer_parse_json; `dir` names the directory in messages. */
int aoei_tokenizer_parse_vocab(aoe_tokenizer **t, const aoei_vocab_files *files, const char *dir, aoe_error *err);

/* Writes byte-for-byte copies of the files the tokenizer was read from into dir, which exists. The
 * source may be gone by then: the bytes are kept in memory. */
int aoei_tokenizer_save(const aoe_tokenizer *t, const char *dir, aoe_error *err);

#endif
