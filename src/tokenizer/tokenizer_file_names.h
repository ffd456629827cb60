/* SPDX-License-Identifier: MIT
 * The names of tokenizer files in a model directory.
 */
#pragma once

#define AOEI_WORDS_FILE "whitespacetokenizer_config.json" /* file of a vocabulary of words (word_lookup.h) */

#define AOEI_CHAT_FILE "chat_template.jinja" /* chat template (chat_template.h) */

/* Indices of the files of a tokenizer. */
enum {
    AOEI_FILE_TOKENIZER_JSON,
    AOEI_FILE_VOCAB_TXT,
    AOEI_FILE_CONFIG,
    AOEI_FILE_SPECIAL_MAP,
    AOEI_FILE_ADDED_TOKENS,
    AOEI_FILE_VOCAB_JSON,
    AOEI_FILE_MERGES,
    AOEI_FILE_WORDS,
    AOEI_FILE_CHAT_TEMPLATE,
    AOEI_FILE_COUNT
};

/* Returns the name of the file with this index, such as "tokenizer.json"; static. */
const char *aoei_tokenizer_file_name(int which);
