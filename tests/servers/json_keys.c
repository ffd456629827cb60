/* SPDX-License-Identifier: MIT
 * Prints the lists of keys of JSON files (src/base/json_keys.c): kind, subject or "-", and the keys, one list per line,
 * separated by tabs. tests/peers/test_key_values.py compares the effect of every key with other libraries.
 */
#include <stdio.h>

#include "base/json_keys.h"

int main(void) {
    static const char *const kinds[] = {
        [AOEI_KEYS_CONFIG] = "config",
        [AOEI_KEYS_ADAPTERS] = "adapters",
        [AOEI_KEYS_MODULE_LIST] = "module_list",
        [AOEI_KEYS_MODULE] = "module",
        [AOEI_KEYS_TRANSFORMER] = "transformer",
        [AOEI_KEYS_SENTENCE_TRANSFORMERS] = "sentence_transformers",
        [AOEI_KEYS_TOKENIZER] = "tokenizer",
        [AOEI_KEYS_SPECIAL_TOKENS] = "special_tokens",
        [AOEI_KEYS_ROPE] = "rope",
        [AOEI_KEYS_AOE] = "aoe",
        [AOEI_KEYS_TOKENIZER_JSON] = "tokenizer_json",
        [AOEI_KEYS_ADDED_TOKEN] = "added_token",
        [AOEI_KEYS_COMPONENT] = "component",
    };
    aoei_key_list list;
    for (size_t i = 0; aoei_json_keys_list(&list, i); i++)
        if (*list.keys)
            printf("%s\t%s\t%s\n", kinds[list.kind], list.subject ? list.subject : "-", list.keys);
    return 0;
}
