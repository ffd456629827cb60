/* SPDX-License-Identifier: MIT
 * What other layers need of tokenizers beside aoe.h: opening a directory that
 * may hold none, reading from memory, copying the files into another model
 * directory, and looking up a token's id.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_H
#define AOEI_TOKENIZER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* As aoe_tokenizer_open, but a directory without tokenizer files is no error: 0 and *t NULL. */
int aoei_tokenizer_open_optional(aoe_tokenizer **t, const char *dir, aoe_error *err);

/* From memory; `name` stands for the file in messages. Nothing is kept of the arguments, and
 * aoei_tokenizer_save of the result writes `tokenizer.json` again. */
int aoei_tokenizer_parse_json(aoe_tokenizer **t, const char *data, size_t len, const char *name, aoe_error *err);

/* The older set of files, each as data and length; a file that does not exist has data NULL. */
typedef struct aoei_vocab_files {
    aoe_text vocab;        /* vocab.txt: a token a line */
    aoe_text vocab_json;   /* vocab.json: {token: id}; where there is no vocab.txt */
    aoe_text merges;       /* merges.txt, which goes with it: two tokens a line */
    aoe_text config;       /* tokenizer_config.json */
    aoe_text special_map;  /* special_tokens_map.json */
    aoe_text added_tokens; /* added_tokens.json: {token: id} */
} aoei_vocab_files;
int aoei_tokenizer_parse_vocab(aoe_tokenizer **t, const aoei_vocab_files *files, const char *dir, aoe_error *err);

/* As aoe_tokenizer_encode; besides, how many of the ids come before the text's own tokens and after them: specials, and those
 * of the prompt. */
int aoei_tokenizer_encode_marked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                 size_t *before, size_t *after, aoe_error *err);

/* Writes byte-for-byte copies of the files the tokenizer was read from into dir, which exists. The
 * source may be gone by then: the bytes are kept in memory. */
int aoei_tokenizer_save(const aoe_tokenizer *t, const char *dir, aoe_error *err);

/* The id of a token (added tokens first, then the vocabulary), -1 when there is none. */
int32_t aoei_tokenizer_id(const aoe_tokenizer *t, const char *token, size_t len);
/* What whole-word masking needs to know of every id below n. kind: [n]. */
typedef enum aoei_token_kind {
    AOEI_TOKEN_NONE,         /* no token has this id */
    AOEI_TOKEN_SPECIAL,      /* [CLS], [MASK] ...: added tokens and the unknown token */
    AOEI_TOKEN_WORD,         /* begins a word */
    AOEI_TOKEN_CONTINUATION, /* goes on with one: "##ing" */
} aoei_token_kind;
void aoei_tokenizer_kinds(const aoe_tokenizer *t, uint8_t *kind, size_t n);

#endif
