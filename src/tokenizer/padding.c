/* SPDX-License-Identifier: MIT
 * Selects the padding token of a tokenizer.
 */
#include "tokenizer/padding.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_parts.h"

/* Returns 1 if the tokenizer adds the token `id` to texts or pairs. */
static int is_added_to_texts(const aoe_tokenizer *t, int32_t id) {
    aoe_ids ids = {0};
    int found = 0;
    if (aoe_tokenizer_encode_pair(t, aoe_text_of(""), aoe_text_of(""), NULL, &ids, NULL))
        ids.n = 0;
    for (size_t i = 0; i < ids.n; i++)
        found |= ids.id[i] == id;
    aoe_ids_free(&ids);
    return found;
}

/* Returns 1 if the text of token `id` is `name`. */
static int is_named(const aoe_tokenizer *t, size_t id, const char *name) {
    const aoe_text token = aoe_tokenizer_token(t, (int32_t)id);
    return name && token.len == strlen(name) && !memcmp(token.data, name, token.len);
}

/* Returns "pad_token" of `config`, the contents of tokenizer_config.json, or NULL. The string is borrowed. */
static const char *pad_token_of(const json_t *config) {
    const json_t *v = json_object_get(config, "pad_token");
    return json_string_value(json_is_object(v) ? json_object_get(v, "content") : v);
}

int32_t aoei_tokenizer_padding(const aoe_tokenizer *t) {
    const size_t n = aoe_tokenizer_vocab_size(t);
    const aoei_kept_file *file = &t->file[AOEI_FILE_CONFIG];
    json_t *config = NULL;
    int32_t chosen = -1, first = -1;
    uint8_t *kind = aoei_malloc_array(n + 1, sizeof *kind);
    if (file->data && aoei_json_parse(&config, file->data, file->size, "tokenizer_config.json", NULL))
        config = NULL;
    const char *name = pad_token_of(config);
    if (kind)
        aoei_tokenizer_kinds(t, kind, n);
    /* Searches for the token that tokenizer_config.json names. `first` is the first special token, which is used if
     * there is no such token. Tokens that are added to texts cannot be padding. */
    for (size_t id = 0; id < n && kind && chosen < 0; id++) {
        const int named = is_named(t, id, name);
        if ((!named && (first >= 0 || kind[id] != AOEI_TOKEN_SPECIAL)) || is_added_to_texts(t, (int32_t)id))
            continue;
        if (named)
            chosen = (int32_t)id;
        else
            first = (int32_t)id;
    }
    json_decref(config);
    aoei_free(kind);
    return chosen >= 0 ? chosen : first;
}
