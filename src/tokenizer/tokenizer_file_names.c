/* SPDX-License-Identifier: MIT
 * The names of tokenizer files.
 */
#include "tokenizer/tokenizer_file_names.h"

const char *aoei_tokenizer_file_name(int which) {
    static const char *const names[AOEI_FILE_COUNT] = {"tokenizer.json",
                                                       "vocab.txt",
                                                       "tokenizer_config.json",
                                                       "special_tokens_map.json",
                                                       "added_tokens.json",
                                                       "vocab.json",
                                                       "merges.txt",
                                                       AOEI_WORDS_FILE,
                                                       AOEI_CHAT_FILE};
    return names[which];
}
