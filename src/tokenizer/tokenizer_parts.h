/* SPDX-License-Identifier: MIT
 * The tokenizer's insides, for the files of this folder: the steps in the order
 * a text goes through them, and the bytes of the files they were read from.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_PARTS_H
#define AOEI_TOKENIZER_TOKENIZER_PARTS_H

#include "tokenizer/added_tokens.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocessor.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/subword.h"
#include "tokenizer/tokenizer.h"

enum {
    AOEI_FILE_TOKENIZER_JSON,
    AOEI_FILE_VOCAB_TXT,
    AOEI_FILE_CONFIG,
    AOEI_FILE_SPECIAL_MAP,
    AOEI_FILE_ADDED_TOKENS,
    AOEI_FILE_VOCAB_JSON,
    AOEI_FILE_MERGES,
    AOEI_FILE_COUNT
};

/* "tokenizer.json" and so on; static. */
const char *aoei_tokenizer_file_name(int which);

typedef struct aoei_kept_file {
    char *data;  /* [size], owned; NULL: the directory had no such file */
    size_t size; /* bytes */
} aoei_kept_file;

struct aoe_tokenizer {
    aoei_normalizer normalizer;
    aoei_added_tokens added;
    aoei_pretokenizer pretokenizer;
    aoei_subword model;
    aoei_postprocessor post;
    aoei_kept_file file[AOEI_FILE_COUNT];
};

/* After model, normaliser, pre-tokenizer and added tokens are there: what they must know of each other. `path` is for
 * messages. */
int aoei_tokenizer_finish(aoe_tokenizer *t, const char *path, aoe_error *err);

/* Fill a zeroed tokenizer; on failure it is left half-built for aoe_tokenizer_close. `path` names the file in messages. */
int aoei_tokenizer_read_json(aoe_tokenizer *t, const char *data, size_t len, const char *path, aoe_error *err);
int aoei_tokenizer_read_vocab(aoe_tokenizer *t, const aoei_vocab_files *files, const char *dir, aoe_error *err);

#endif
