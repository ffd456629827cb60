/* SPDX-License-Identifier: MIT
 * Reads and stores vocabularies. Every id and every token is validated when it is added, so the models do not need to check
 * them.
 */
#include "tokenizer/vocab.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

static int reserve_ids(aoei_vocab *v, size_t n, aoe_error *err) {
    if (n > v->capacity) {
        size_t wanted = v->capacity * 2 > n ? v->capacity * 2 : n < 1024 ? 1024 : n;
        aoei_token_place *grown = aoei_realloc_array(v->place, wanted, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, wanted * sizeof *grown);
        v->place = grown;
        v->capacity = wanted;
    }
    if (n > v->n_ids) {
        memset(v->place + v->n_ids, 0, (n - v->n_ids) * sizeof *v->place);
        v->n_ids = n;
    }
    return 0;
}

int aoei_vocab_add(aoei_vocab *v, const char *token, size_t len, int64_t id, aoe_error *err) {
    int rc;
    if (id < 0 || id > AOEI_VOCAB_MAX_ID)
        return aoei_fail(err, AOE_EFORMAT, "token \"%.*s\" has id %" PRId64 "; ids must be between 0 and %d",
                         (int)(len < 80 ? len : 80), token, id, AOEI_VOCAB_MAX_ID);
    size_t bad = aoei_utf8_valid(token, len);
    if (bad < len)
        return aoei_fail(err, AOE_EFORMAT,
                         "token %" PRId64 " is not valid UTF-8 (byte %zu of it); write the file again as UTF-8", id, bad);
    if (len > UINT32_MAX / 2 || v->text.len > UINT32_MAX / 2)
        return aoei_fail(err, AOE_EUNSUPPORTED, "the vocabulary has more than 2 GiB of text");
    if ((rc = reserve_ids(v, (size_t)id + 1, err)))
        return rc;
    if (len == 0) {
        v->n_tokens += !v->has_empty;
        v->has_empty = 1;
        return 0;
    }
    int32_t before;
    if ((rc = aoei_trie_add(&v->trie, token, len, (int32_t)id, 0, &before, err)))
        return rc;
    size_t offset = v->text.len;
    if (aoei_buffer_append(&v->text, token, len))
        return aoei_fail_nomem(err, len);
    if (before < 0) {
        v->n_tokens++;
    } else if (before != id) {
        aoe_text old = aoei_vocab_token(v, before);
        if (old.len == len && memcmp(old.data, token, len) == 0)
            v->place[before] = (aoei_token_place){0};
    }
    v->place[id] = (aoei_token_place){.offset = (uint32_t)offset, .len = (uint32_t)len};
    return 0;
}

int aoei_vocab_read(aoei_vocab *v, const json_t *object, const char *file, aoe_error *err) {
    if (!json_is_object(object))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"vocab\" of the model is not an object {token: id}; download the file again",
                         file);
    /* jansson's iterator needs a mutable object but does not change it */
    json_t *o = (json_t *)object;
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        const char *token = json_object_iter_key(it);
        const json_t *id = json_object_iter_value(it);
        if (!json_is_integer(id))
            return aoei_fail(err, AOE_EFORMAT, "%s: the id of token \"%.80s\" is not an integer; download the file again", file,
                             token);
        int rc = aoei_vocab_add(v, token, strlen(token), json_integer_value(id), err);
        if (rc) {
            aoei_error_prefix(err, "%s", file);
            return rc;
        }
    }
    return 0;
}

int32_t aoei_vocab_id(const aoei_vocab *v, const char *token, size_t len) {
    return aoei_trie_find(&v->trie, token, len);
}

aoe_text aoei_vocab_token(const aoei_vocab *v, int32_t id) {
    if (id < 0 || (size_t)id >= v->n_ids || v->place[id].len == 0)
        return (aoe_text){NULL, 0};
    return (aoe_text){v->text.data + v->place[id].offset, v->place[id].len};
}

void aoei_vocab_free(aoei_vocab *v) {
    aoei_buffer_free(&v->text);
    aoei_free(v->place);
    aoei_trie_free(&v->trie);
    memset(v, 0, sizeof *v);
}
