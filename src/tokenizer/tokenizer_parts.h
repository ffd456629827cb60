/* SPDX-License-Identifier: MIT
 * Defines struct aoe_tokenizer. Its fields are the components of the tokenizer, in the order in which they process a
 * text, and the contents of the files from which the tokenizer was read.
 */
#pragma once

#include "aoe_tokenizer.h"
#include "base/json_keys.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/decoder.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocessor.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/subword.h"
#include "tokenizer/tokenizer_file_names.h"

typedef struct aoei_kept_file {
    char *data;  /* [size], owned; NULL if the directory has no such file */
    size_t size; /* size in bytes */
} aoei_kept_file;

struct aoe_tokenizer {
    aoei_normalizer normalizer;
    aoei_normalizer lowercased; /* normalizer for aoe_encode_options.lowercase; its steps are borrowed from
                                   `normalizer` */
    aoei_added_tokens added;
    aoei_pretokenizer pretokenizer;
    aoei_subword model;
    aoei_postprocessor post;
    aoei_token_decoder decoder; /* converts tokens back to text */
    int truncate_left;          /* 1: texts that are too long are truncated at their start; 0: at their end */
    int token_types; /* 1: transformers passes token types of pairs to the model, 0: it does not; AOE_AUTO: see
                        input_names.h */
    aoei_kept_file file[AOEI_FILE_COUNT];
    struct aoei_chat *chat;           /* parsed chat template (chat_template.h), owned; NULL: not in use */
    struct aoei_chat_ends *chat_ends; /* ends of this template (chat_encode.h), owned; NULL: not in use */
    aoei_unknown_keys unknown;        /* keys of tokenizer.json that are ignored */
};
