/* SPDX-License-Identifier: MIT
 * Reads and adds the tokens that tokenizer_config.json and added_tokens.json list.
 */
#include "tokenizer/listed_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"

static int by_id(const void *a, const void *b) {
    const aoei_listed_token *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

int aoei_listed_tokens_add(aoei_added_tokens *a, const aoei_vocab *v, aoei_listed_token *list, size_t n,
                           const char *file, aoe_error *err) {
    qsort(list, n, sizeof *list, by_id);
    for (size_t i = 0; i < n; i++) {
        const int rc = aoei_added_tokens_add(a, v, list[i].content, list[i].len, list[i].flags, err);
        if (rc) {
            aoei_error_prefix(err, "%s", file);
            return rc;
        }
    }
    return 0;
}

/* Reads the entry "key": {"content": ...} of added_tokens_decoder. */
static int read_entry(aoei_listed_token *t, const char *key, const json_t *value, const char *file, aoe_error *err) {
    *t = (aoei_listed_token){.id = strtoll(key, NULL, 10)};
    int rc = json_is_object(value) ? aoei_json_string(value, "content", &t->content, &t->len, file, err) : 0;
    if (rc || (t->content && (rc = aoei_added_flags_read(&t->flags, value, file, err))))
        return rc;
    return t->content
               ? 0
               : aoei_fail(err, AOE_EFORMAT,
                           "%s: entry \"%.80s\" of \"added_tokens_decoder\" has no \"content\"; correct it", file, key);
}

int aoei_listed_tokens_add_decoder(aoei_added_tokens *a, const aoei_vocab *v, json_t *decoder, const char *file,
                                   aoe_error *err) {
    const size_t n = json_object_size(decoder);
    size_t i = 0;
    int rc = 0;
    if (decoder && !json_is_null(decoder) && !json_is_object(decoder))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"added_tokens_decoder\" is not an object {id: token}; correct or remove it", file);
    if (n == 0)
        return 0;
    aoei_listed_token *list = aoei_malloc_array(n, sizeof *list);
    if (!list)
        return aoei_fail_nomem(err, n * sizeof *list);
    for (void *it = json_object_iter(decoder); it && !rc; it = json_object_iter_next(decoder, it))
        rc = read_entry(&list[i++], json_object_iter_key(it), json_object_iter_value(it), file, err);
    if (!rc)
        rc = aoei_listed_tokens_add(a, v, list, n, file, err);
    aoei_free(list);
    return rc;
}

int aoei_listed_tokens_add_ids(aoei_added_tokens *a, const aoei_vocab *v, json_t *object,
                               int (*is_special)(const void *user, const char *content, size_t len), const void *user,
                               const char *file, aoe_error *err) {
    const char *content;
    json_t *id;
    size_t n = 0;
    int rc = 0;
    if (!json_object_size(object))
        return 0;
    aoei_listed_token *list = aoei_malloc_array(json_object_size(object), sizeof *list);
    if (!list)
        return aoei_fail_nomem(err, json_object_size(object) * sizeof *list);
    json_object_foreach(object, content, id) {
        const size_t len = strlen(content);
        const int special = is_special(user, content, len);
        if (!rc && !json_is_integer(id))
            rc = aoei_fail(err, AOE_EFORMAT, "%s: the id of \"%.80s\" is not an integer; correct the value", file,
                           content);
        if (aoei_added_tokens_find(a, content, len) == (size_t)-1)
            list[n++] = (aoei_listed_token){.id = json_integer_value(id),
                                            .content = content,
                                            .len = len,
                                            .flags = {.special = special != 0, .normalized = special == 0}};
    }
    if (!rc)
        rc = aoei_listed_tokens_add(a, v, list, n, file, err);
    aoei_free(list);
    return rc;
}

int aoei_listed_token_read_special(aoei_listed_token *t, const json_t *value, aoei_added_flags flags, const char *key,
                                   const char *file, aoe_error *err) {
    const json_t *content = json_is_object(value) ? json_object_get(value, "content") : value;
    if (!json_is_string(content))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"%s\" is neither a token nor an object with \"content\"; correct the value", file, key);
    if (json_is_object(value)) {
        flags = (aoei_added_flags){.special = 1};
        const int rc = aoei_added_flags_read(&flags, value, file, err);
        if (rc)
            return rc;
    }
    flags.special = 1;
    *t = (aoei_listed_token){.content = json_string_value(content), .len = json_string_length(content), .flags = flags};
    return 0;
}
