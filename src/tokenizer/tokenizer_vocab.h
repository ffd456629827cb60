/* SPDX-License-Identifier: MIT
 * Reads the tokenizer of a model directory without tokenizer.json. The vocabulary is in vocab.txt (WordPiece), or in
 * vocab.json and merges.txt (byte-level BPE). There are also optional configuration files.
 */
#pragma once

#include "aoe_tokenizer.h"

/* The contents of the files of a tokenizer without tokenizer.json. If a file does not exist, its `data` is NULL. */
typedef struct aoei_vocab_files {
    aoe_text vocab;        /* vocab.txt: one token per line */
    aoe_text vocab_json;   /* vocab.json: {token: id}; used if vocab.txt does not exist */
    aoe_text merges;       /* merges.txt: two tokens per line; required with vocab.json */
    aoe_text config;       /* tokenizer_config.json */
    aoe_text special_map;  /* special_tokens_map.json */
    aoe_text added_tokens; /* added_tokens.json: {token: id} */
} aoei_vocab_files;

/* Builds a zeroed tokenizer from the contents of the files. After an error, the caller must pass the tokenizer to
 * aoe_tokenizer_close. `dir` names the directory in messages. */
int aoei_tokenizer_read_vocab(aoe_tokenizer *t, const aoei_vocab_files *files, const char *dir, aoe_error *err);
