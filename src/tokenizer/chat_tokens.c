/* SPDX-License-Identifier: MIT
 * A token is read from tokenizer_config.json, otherwise from special_tokens_map.json, and is otherwise the default of
 * the tokenizer class, as in transformers 5. If tokenizer_config.json has no added_tokens_decoder, the order of the two
 * files is reversed.
 */
#include "tokenizer/chat_tokens.h"

#include <string.h>

#include "base/error.h"
#include "base/json_decode.h"
#include "tokenizer/class_tokens.h"
#include "tokenizer/tokenizer_class.h"

/* Returns 1 if the defaults of the class are known. */
static int is_known(const json_t *config) {
    static const char *const without_defaults[] = {"PreTrainedTokenizer", "TokenizersBackend"};
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    for (size_t i = 0; i < sizeof without_defaults / sizeof *without_defaults; i++)
        if (aoei_tokenizer_class_is(class, without_defaults[i]))
            return 1;
    return aoei_class_tokens_known(config);
}

/* Returns the token, a string that is borrowed from `value`: a string, or an object with the key "content". NULL:
 * none. */
static const json_t *content_of(const json_t *value) {
    const json_t *content = json_is_object(value) ? json_object_get(value, "content") : value;
    return json_is_string(content) ? content : NULL;
}

/* Adds the token with the index `which` to the object. */
static int add_token(json_t *tokens, size_t which, const char *template, const json_t *config, const json_t *map,
                     const char *dir, aoe_error *err) {
    const char *key = aoei_class_token_keys[which], *missing = aoei_class_tokens_default(config, which);
    const int map_first = !json_object_get(config, "added_tokens_decoder");
    const json_t *first = json_object_get(map_first ? map : config, key),
                 *value = first ? first : json_object_get(map_first ? config : map, key);
    const json_t *content = content_of(value);
    json_t *added = content             ? json_stringn(json_string_value(content), json_string_length(content))
                    : !value && missing ? json_string(missing)
                                        : NULL;
    if (!value && !is_known(config) && strstr(template, key))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the chat template contains %s, which is not set in tokenizer_config.json and depends on the "
            "tokenizer class; add the token to tokenizer_config.json",
            dir, key);
    if (!content && (value || !missing))
        return 0;
    return json_object_set_new(tokens, key, added) ? aoei_fail_nomem(err, strlen(key)) : 0;
}

int aoei_chat_tokens_read(json_t **tokens, const char *template, aoe_text config, aoe_text map, const char *dir,
                          aoe_error *err) {
    json_error_t error;
    int no_memory[2] = {0};
    json_t *c = config.data ? aoei_json_decode(config.data, config.len, 0, &error, &no_memory[0]) : NULL,
           *m = map.data ? aoei_json_decode(map.data, map.len, 0, &error, &no_memory[1]) : NULL;
    *tokens = json_object();
    int rc = *tokens && !no_memory[0] && !no_memory[1] ? 0 : aoei_fail_nomem(err, config.len);
    for (size_t i = 0; i < AOEI_CLASS_TOKENS && !rc; i++)
        rc = add_token(*tokens, i, template, c, m, dir, err);
    json_decref(c);
    json_decref(m);
    return rc;
}
