/* SPDX-License-Identifier: MIT
 * Reads and stores vocabularies. Every id and every token is validated when it is added, so the models do not need to
 * check them.
 */
#include "tokenizer/vocab.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/utf8.h"

enum { FIRST_SLOTS = 256 };

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

/* Returns the hash of the bytes of a and then those of b. */
static uint32_t hash_of(aoe_text a, aoe_text b) {
    const uint64_t h = aoei_hash(aoei_hash(AOEI_HASH_START, a.data, a.len), b.data, b.len);
    return (uint32_t)(h ^ (h >> 32));
}

/* Returns 1 if the token of the entry consists of the bytes of a and then those of b. */
static int equals(const aoei_vocab *v, const aoei_vocab_entry *e, aoe_text a, aoe_text b) {
    const char *token = v->text.data + e->offset;
    return e->len == a.len + b.len && (a.len == 0 || memcmp(token, a.data, a.len) == 0) &&
           (b.len == 0 || memcmp(token + a.len, b.data, b.len) == 0);
}

/* Returns the slot of the token that consists of the bytes of a and then those of b, or the empty slot in which it can
 * be inserted. v->slots must be positive. */
static aoei_vocab_slot *find_slot(const aoei_vocab *v, uint32_t hash, aoe_text a, aoe_text b) {
    size_t i = hash & (v->slots - 1);
    while (v->slot[i].entry && (v->slot[i].hash != hash || !equals(v, &v->entry[v->slot[i].entry - 1], a, b)))
        i = (i + 1) & (v->slots - 1);
    return &v->slot[i];
}

/* Doubles the number of slots. */
static int grow_slots(aoei_vocab *v, aoe_error *err) {
    const size_t slots = v->slots ? 2 * v->slots : FIRST_SLOTS;
    aoei_vocab_slot *slot = aoei_calloc(slots, sizeof *slot);
    if (!slot)
        return aoei_fail_nomem(err, slots * sizeof *slot);
    for (size_t i = 0; i < v->slots; i++) {
        size_t at = v->slot[i].hash & (slots - 1);
        while (v->slot[i].entry && slot[at].entry)
            at = (at + 1) & (slots - 1);
        if (v->slot[i].entry)
            slot[at] = v->slot[i];
    }
    aoei_free(v->slot);
    v->slot = slot;
    v->slots = slots;
    return 0;
}

/* Appends a token to v->text and v->entry, and inserts it in the hash table. */
static int append_token(aoei_vocab *v, aoei_vocab_slot *slot, uint32_t hash, const char *token, size_t len, int32_t id,
                        aoe_error *err) {
    const size_t offset = v->text.len;
    if (aoei_grow((void **)&v->entry, &v->entry_capacity, v->n_entries, sizeof *v->entry) ||
        aoei_buffer_append(&v->text, token, len))
        return aoei_fail_nomem(err, len + v->n_entries * sizeof *v->entry);
    v->entry[v->n_entries++] = (aoei_vocab_entry){.offset = (uint32_t)offset, .len = (uint32_t)len, .id = id};
    *slot = (aoei_vocab_slot){.hash = hash, .entry = (uint32_t)v->n_entries};
    v->n_tokens++;
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
                         "token %" PRId64 " is not valid UTF-8 (byte %zu of it); write the file again as UTF-8", id,
                         bad);
    if (len > UINT32_MAX / 2 || v->text.len > UINT32_MAX / 2)
        return aoei_fail(err, AOE_EUNSUPPORTED, "the vocabulary has more than 2 GiB of text");
    if ((rc = reserve_ids(v, (size_t)id + 1, err)))
        return rc;
    if (len == 0) {
        v->n_tokens += !v->has_empty;
        v->has_empty = 1;
        return 0;
    }
    if (2 * (v->n_entries + 1) > v->slots && (rc = grow_slots(v, err)))
        return rc;
    const aoe_text text = {token, len}, none = {NULL, 0};
    const uint32_t hash = hash_of(text, none);
    aoei_vocab_slot *slot = find_slot(v, hash, text, none);
    if (!slot->entry) {
        if ((rc = append_token(v, slot, hash, token, len, (int32_t)id, err)))
            return rc;
    } else {
        const int32_t before = v->entry[slot->entry - 1].id;
        const aoe_text old = aoei_vocab_token(v, before);
        if (old.len == len && memcmp(old.data, token, len) == 0)
            v->place[before] = (aoei_token_place){0};
        v->entry[slot->entry - 1].id = (int32_t)id;
    }
    const aoei_vocab_entry *e = &v->entry[slot->entry - 1];
    v->place[id] = (aoei_token_place){.offset = e->offset, .len = e->len};
    return 0;
}

int aoei_vocab_read(aoei_vocab *v, const json_t *object, const char *file, aoe_error *err) {
    if (!json_is_object(object))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"vocab\" of the model is not an object {token: id}; download the file again", file);
    /* jansson's iterator needs a mutable object but does not change it */
    json_t *o = (json_t *)object;
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        const char *token = json_object_iter_key(it);
        const json_t *id = json_object_iter_value(it);
        if (!json_is_integer(id))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: the id of token \"%.80s\" is not an integer; download the file again", file, token);
        int rc = aoei_vocab_add(v, token, strlen(token), json_integer_value(id), err);
        if (rc) {
            aoei_error_prefix(err, "%s", file);
            return rc;
        }
    }
    return 0;
}

int32_t aoei_vocab_joined_id(const aoei_vocab *v, aoe_text a, aoe_text b) {
    if (!v->slots || !(a.len + b.len))
        return -1;
    const aoei_vocab_slot *slot = find_slot(v, hash_of(a, b), a, b);
    return slot->entry ? v->entry[slot->entry - 1].id : -1;
}

int32_t aoei_vocab_id(const aoei_vocab *v, const char *token, size_t len) {
    return aoei_vocab_joined_id(v, (aoe_text){token, len}, (aoe_text){NULL, 0});
}

int aoei_vocab_fill_trie(const aoei_vocab *v, aoei_trie *trie, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < v->n_entries && !rc; i++)
        rc = aoei_trie_add(trie, v->text.data + v->entry[i].offset, v->entry[i].len, v->entry[i].id, 0, err);
    return rc;
}

aoe_text aoei_vocab_token(const aoei_vocab *v, int32_t id) {
    if (id < 0 || (size_t)id >= v->n_ids || v->place[id].len == 0)
        return (aoe_text){NULL, 0};
    return (aoe_text){v->text.data + v->place[id].offset, v->place[id].len};
}

void aoei_vocab_free(aoei_vocab *v) {
    aoei_buffer_free(&v->text);
    aoei_free(v->place);
    aoei_free(v->entry);
    aoei_free(v->slot);
    memset(v, 0, sizeof *v);
}
