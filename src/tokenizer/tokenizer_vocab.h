/* SPDX-License-Identifier: MIT
 * Reading tokenizers from the older set of files: vocab.txt (WordPiece), or vocab.json with
 * merges.txt (byte-level BPE), with the optional configuration files.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_VOCAB_H
#define AOEI_TOKENIZER_TOKENIZER_VOCAB_H

#include "aoe.h"

/* The older set of files, each as data and length; a file that does not exist has data NULL. */
typedef struct aoei_vocab_files {
    aoe_text vocab;        /* vocab.txt: a token a line */
    aoe_text vocab_json;   /* vocab.json: {token: id}; where there is no vocab.txt */
    aoe_text merges;       /* merges.txt, which goes with it: two tokens a line */
    aoe_text config;       /* tokenizer_config.json */
    aoe_text special_map;  /* special_tokens_map.json */
    aoe_text added_tokens; /* added_tokens.json: {token: id} */
} aoei_vocab_files;

/* Fills a zeroed tokenizer. After a failure the caller passes it to aoe_tokenizer_close. `dir` names the directory in
 * messages. */
int aoei_tokenizer_read_vocab(aoe_tokenizer *t, const aoei_vocab_files *files, const char *dir, aoe_error *err);

#endif
