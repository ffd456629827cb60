/* SPDX-License-Identifier: MIT
 * Adds keys to byte tries and searches for whole keys. The hash table of edges is at most half full, so the search for
 * an edge that does not exist is short.
 */
#include "tokenizer/trie.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

enum { FIRST_SLOTS_LOG2 = 8 };

static void insert(aoei_trie *t, aoei_trie_edge e) {
    uint32_t i = aoei_trie_slot(t, e.key);
    while (t->edge[i].node != 0)
        i = (i + 1) & t->mask;
    t->edge[i] = e;
}

static int grow_edges(aoei_trie *t, aoe_error *err) {
    uint32_t log2 = t->edge ? 32 - t->shift + 1 : FIRST_SLOTS_LOG2;
    size_t slots = (size_t)1 << log2;
    aoei_trie bigger = *t;
    bigger.edge = aoei_calloc(slots, sizeof *bigger.edge);
    bigger.mask = (uint32_t)(slots - 1);
    bigger.shift = 32 - log2;
    if (!bigger.edge)
        return aoei_fail_nomem(err, slots * sizeof *bigger.edge);
    for (size_t i = 0; t->edge && i <= t->mask; i++)
        if (t->edge[i].node != 0)
            insert(&bigger, t->edge[i]);
    aoei_free(t->edge);
    *t = bigger;
    return 0;
}

/* Reserves memory for one more node and its edge. */
static int reserve(aoei_trie *t, aoe_error *err) {
    if (t->n + 1 >= AOEI_TRIE_MAX_NODES)
        return aoei_fail(err, AOE_EUNSUPPORTED, "the vocabulary needs more than %u trie nodes, which is not supported",
                         AOEI_TRIE_MAX_NODES);
    if (aoei_grow((void **)&t->value, &t->capacity, (size_t)t->n + 1, sizeof *t->value))
        return aoei_fail_nomem(err, 2 * t->capacity * sizeof *t->value);
    return !t->edge || (size_t)t->n * 2 >= t->mask ? grow_edges(t, err) : 0;
}

/* Returns the edge with this key, which must exist. */
static aoei_trie_edge *edge_of(const aoei_trie *t, uint32_t key) {
    uint32_t i = aoei_trie_slot(t, key);
    while (t->edge[i].key != key || t->edge[i].node == 0)
        i = (i + 1) & t->mask;
    return &t->edge[i];
}

int aoei_trie_add(aoei_trie *t, const char *key, size_t len, int32_t value, int keep, aoe_error *err) {
    uint32_t node = AOEI_TRIE_ROOT, last = 0;
    for (size_t i = 0; i < len; i++) {
        last = node << 8 | (unsigned char)key[i];
        node = t->edge ? aoei_trie_step(t, node, (unsigned char)key[i]) : 0;
        if (node == 0) {
            int rc = reserve(t, err);
            if (rc)
                return rc;
            node = ++t->n;
            insert(t, (aoei_trie_edge){.key = last, .node = node});
        }
    }
    const int known = (node & AOEI_TRIE_END) != 0;
    if (len == 0 || (known && keep))
        return 0;
    if (!known)
        edge_of(t, last)->node |= AOEI_TRIE_END;
    t->value[node & ~AOEI_TRIE_END] = value;
    return 0;
}

int32_t aoei_trie_find(const aoei_trie *t, const char *key, size_t len) {
    uint32_t node = AOEI_TRIE_ROOT;
    for (size_t i = 0; i < len && t->edge; i++) {
        node = aoei_trie_step(t, node, (unsigned char)key[i]);
        if (node == 0)
            return -1;
    }
    return node & AOEI_TRIE_END ? aoei_trie_value(t, node) : -1;
}

uint32_t aoei_trie_node(const aoei_trie *t, const char *key, size_t len) {
    uint32_t node = AOEI_TRIE_ROOT;
    for (size_t i = 0; i < len; i++) {
        node = t->edge ? aoei_trie_step(t, node, (unsigned char)key[i]) : 0;
        if (node == 0)
            return AOEI_TRIE_ROOT;
    }
    return node & ~AOEI_TRIE_END;
}

void aoei_trie_free(aoei_trie *t) {
    aoei_free(t->edge);
    aoei_free(t->value);
    memset(t, 0, sizeof *t);
}
