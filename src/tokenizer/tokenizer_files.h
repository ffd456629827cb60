/* SPDX-License-Identifier: MIT
 * Opens tokenizers from directories and from memory, and saves copies of their files.
 */
#pragma once

#include <stddef.h>

#include "aoe_tokenizer.h"
#include "base/log.h"
#include "base/file_cache.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/tokenizer_vocab.h"

/* Opens the tokenizer in `dir` as aoe_tokenizer_open does. If the directory contains no tokenizer files, however, sets
 * *t to NULL and returns 0. */
int aoei_tokenizer_open_optional(aoe_tokenizer **t, aoei_model_dir dir, aoe_error *err);

/* Builds a tokenizer from data[len], the contents of a tokenizer.json, and from `config`, the contents of
 * tokenizer_config.json; config.data may be NULL. The function copies the contents, and aoei_tokenizer_save writes the
 * copies. Messages contain `name` instead of a path. */
int aoei_tokenizer_parse_json(aoe_tokenizer **t, const char *data, size_t len, aoe_text config, const char *name,
                              aoe_error *err);

/* Builds a tokenizer from the contents of vocabulary files, without tokenizer.json. The function copies the contents.
 * `dir` names the directory in messages. */
int aoei_tokenizer_parse_vocab(aoe_tokenizer **t, const aoei_vocab_files *files, const char *dir, aoe_error *err);

/* Builds a tokenizer from the contents of its files, in the order of tokenizer_file_names.h. The function takes
 * ownership of the contents, even if it fails. `dir` names the directory in messages. Errors: see
 * aoe_tokenizer_open. */
int aoei_tokenizer_from_files(aoe_tokenizer **t, const aoei_kept_file file[AOEI_FILE_COUNT], const char *dir,
                              aoe_error *err);

/* Writes byte-for-byte copies of the tokenizer's files into the directory dir, which must exist. The contents are in
 * memory, so the original files need not exist any more. */
int aoei_tokenizer_save(const aoe_tokenizer *t, const char *dir, aoe_error *err);

/* Writes a warning that names the unknown keys of the tokenizer.json of t to `log`, if there are any. dir: directory of
 * the file, for the message. */
void aoei_tokenizer_warn(const aoe_tokenizer *t, const char *dir, const aoei_log *log);
