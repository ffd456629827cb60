/* SPDX-License-Identifier: MIT
 * Building and exact look-up of the byte trie. The table is at most half full,
 * so that the probe for an absent edge is short.
 */
#include "text/trie.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FIRST_SLOTS_LOG2 = 8 };

static void insert(aoei_trie *t, aoei_trie_edge e) {
    uint32_t i = aoei_trie_slot(t, e.key);
    while (t->edge[i].node != 0)
        i = (i + 1) & t->mask;
    t->edge[i] = e;
}

static int grow(aoei_trie *t, aoe_error *err) {
    uint32_t log2 = t->edge ? 32 - t->shift + 1 : FIRST_SLOTS_LOG2;
    size_t slots = (size_t)1 << log2;
    aoei_trie bigger = {
        .edge = aoei_calloc(slots, sizeof *bigger.edge), .mask = (uint32_t)(slots - 1), .shift = 32 - log2, .n = t->n};
    if (!bigger.edge)
        return aoei_fail_nomem(err, slots * sizeof *bigger.edge);
    for (size_t i = 0; t->edge && i <= t->mask; i++)
        if (t->edge[i].node != 0)
            insert(&bigger, t->edge[i]);
    aoei_free(t->edge);
    *t = bigger;
    return 0;
}

int aoei_trie_add(aoei_trie *t, const char *key, size_t len, int32_t value, int keep, aoe_error *err) {
    uint32_t node = AOEI_TRIE_ROOT;
    aoei_trie_edge *last = NULL;
    for (size_t i = 0; i < len; i++) {
        if (!t->edge || (size_t)t->n * 2 >= t->mask) {
            int rc = grow(t, err);
            if (rc)
                return rc;
        }
        unsigned char c = (unsigned char)key[i];
        last = (aoei_trie_edge *)aoei_trie_step(t, node, c);
        if (!last) {
            if (t->n + 1 >= AOEI_TRIE_MAX_NODES)
                return aoei_fail(err, AOE_EUNSUPPORTED, "a vocabulary of more than %u trie nodes", AOEI_TRIE_MAX_NODES);
            t->n++;
            insert(t, (aoei_trie_edge){.key = node << 8 | c, .node = t->n, .value = -1});
            last = (aoei_trie_edge *)aoei_trie_step(t, node, c);
        }
        node = last->node;
    }
    if (last && !(keep && last->value >= 0))
        last->value = value;
    return 0;
}

int32_t aoei_trie_find(const aoei_trie *t, const char *key, size_t len) {
    const aoei_trie_edge *e = NULL;
    uint32_t node = AOEI_TRIE_ROOT;
    for (size_t i = 0; i < len && t->edge; i++) {
        e = aoei_trie_step(t, node, (unsigned char)key[i]);
        if (!e)
            return -1;
        node = e->node;
    }
    return e ? e->value : -1;
}

uint32_t aoei_trie_node(const aoei_trie *t, const char *key, size_t len) {
    uint32_t node = AOEI_TRIE_ROOT;
    for (size_t i = 0; i < len; i++) {
        const aoei_trie_edge *e = t->edge ? aoei_trie_step(t, node, (unsigned char)key[i]) : NULL;
        if (!e)
            return AOEI_TRIE_ROOT;
        node = e->node;
    }
    return node;
}

void aoei_trie_free(aoei_trie *t) {
    aoei_free(t->edge);
    memset(t, 0, sizeof *t);
}
