/* SPDX-License-Identifier: MIT
 * The passages of a document have consecutive ids and rows, so the document of a passage is the one with the largest
 * first passage that is not larger. Both columns have an index.
 */
#include "index/locate.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define COLUMNS "SELECT name, id, first_passage, first_row, n_passages FROM documents WHERE "

static const char by_passage[] = COLUMNS "first_passage <= ?1 ORDER BY first_passage DESC LIMIT 1";
static const char by_row[] = COLUMNS "first_row <= ?1 ORDER BY first_row DESC LIMIT 1";

#define MAX_ID (INT64_MAX / 4) /* ids of passages are smaller, so sums and keys do not overflow */

enum { FIRST_SLOTS = 512 };

void aoei_locator_init(aoei_locator *l, aoei_db *db) {
    *l = (aoei_locator){.db = db};
    aoei_mutex_init(&l->lock);
}

void aoei_locator_destroy(aoei_locator *l) {
    if (!l->db)
        return;
    aoei_mutex_destroy(&l->lock);
    aoei_free(l->slot);
    aoei_free(l->key);
    aoei_chunks_free(&l->chunks);
    *l = (aoei_locator){0};
}

/* Returns the slot of a key: the slot that contains it, or an empty slot. */
static size_t slot_of(const aoei_locator *l, int64_t key) {
    size_t i = (size_t)(((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (l->slots - 1);
    while (l->slot[i] && l->key[i] != key)
        i = (i + 1) & (l->slots - 1);
    return i;
}

/* Doubles the hash table if it is half full. */
static int grow(aoei_locator *l, aoe_error *err) {
    if (l->used * 2 < l->slots)
        return 0;
    const size_t slots = l->slots ? 2 * l->slots : FIRST_SLOTS;
    aoei_locator larger = *l;
    larger.slots = slots;
    larger.slot = aoei_calloc(slots, sizeof *l->slot);
    larger.key = aoei_calloc(slots, sizeof *l->key);
    if (!larger.slot || !larger.key) {
        aoei_free(larger.slot);
        aoei_free(larger.key);
        return aoei_fail_nomem(err, slots * (sizeof *l->slot + sizeof *l->key));
    }
    for (size_t i = 0; i < l->slots; i++)
        if (l->slot[i]) {
            const size_t to = slot_of(&larger, l->key[i]);
            larger.slot[to] = l->slot[i];
            larger.key[to] = l->key[i];
        }
    aoei_free(l->slot);
    aoei_free(l->key);
    l->slot = larger.slot;
    l->key = larger.key;
    l->slots = slots;
    return 0;
}

/* Reads the current row of a statement into a new element. */
static int read_document(aoei_locator *l, sqlite3_stmt *s, aoei_located **out, aoe_error *err) {
    const aoe_text name = aoei_column_text(s, 0);
    char *memory = aoei_chunks_take(&l->chunks, sizeof(aoei_located) + _Alignof(aoei_located) + name.len + 1);
    if (!memory)
        return aoei_fail_nomem(err, name.len);
    const size_t shift = (size_t)(-(uintptr_t)memory % _Alignof(aoei_located));
    aoei_located *x = (aoei_located *)(void *)(memory + shift);
    char *copy = memory + shift + sizeof *x;
    memcpy(copy, name.data, name.len);
    copy[name.len] = 0;
    *x = (aoei_located){.name = copy,
                        .document = sqlite3_column_int64(s, 1),
                        .first_passage = sqlite3_column_int64(s, 2),
                        .first_row = sqlite3_column_int64(s, 3),
                        .n = sqlite3_column_int64(s, 4)};
    *out = x;
    return 0;
}

static int query(aoei_locator *l, int is_row, int64_t id, aoei_located **out, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(l->db, is_row ? by_row : by_passage, &s, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(s, 1, id);
    code = aoei_db_step(l->db, s, err);
    if (code < 0)
        return code;
    aoei_located *x = NULL;
    const int found = code;
    code = found ? read_document(l, s, &x, err) : 0;
    aoei_db_reset(s);
    if (code)
        return code;
    if (!found || x->first_row < 0 || x->first_passage < 0 || x->first_passage > MAX_ID ||
        id - (is_row ? x->first_row : x->first_passage) >= x->n)
        return aoei_db_damaged(l->db, is_row ? "a vector belongs to no document" : "a passage belongs to no document",
                               err);
    *out = x;
    return 0;
}

/* The caller holds the lock. */
static int locate(aoei_locator *l, int is_row, int64_t id, const aoei_located **out, aoe_error *err) {
    if (id < 0 || id > MAX_ID)
        return aoei_db_damaged(l->db, is_row ? "a vector belongs to no document" : "a passage belongs to no document",
                               err);
    const int64_t key = 2 * id + is_row;
    int code = grow(l, err);
    if (code)
        return code;
    const size_t i = slot_of(l, key);
    if (!l->slot[i]) {
        aoei_located *x = NULL;
        code = query(l, is_row, id, &x, err);
        if (code)
            return code;
        l->slot[i] = x;
        l->key[i] = key;
        l->used++;
    }
    *out = l->slot[i];
    return 0;
}

int aoei_locate_passage(aoei_locator *l, int64_t passage, const aoei_located **out, aoe_error *err) {
    aoei_mutex_lock(&l->lock);
    const int code = locate(l, 0, passage, out, err);
    aoei_mutex_unlock(&l->lock);
    return code;
}

int aoei_locate_row(aoei_locator *l, int64_t row, const aoei_located **out, aoe_error *err) {
    aoei_mutex_lock(&l->lock);
    const int code = locate(l, 1, row, out, err);
    aoei_mutex_unlock(&l->lock);
    return code;
}

int aoei_locate_order(void *user, uint32_t a, uint32_t b) {
    aoei_locator *l = user;
    const aoei_located *x = NULL, *y = NULL;
    aoei_mutex_lock(&l->lock);
    if (!l->code)
        l->code = locate(l, 1, a, &x, &l->err);
    if (!l->code)
        l->code = locate(l, 1, b, &y, &l->err);
    const int order = x && y ? strcmp(x->name, y->name) : 0;
    aoei_mutex_unlock(&l->lock);
    return order ? order < 0 : a < b;
}
