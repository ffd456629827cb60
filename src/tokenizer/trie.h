/* SPDX-License-Identifier: MIT
 * A byte trie whose edges are stored in one hash table with open addressing. Following an edge takes one multiplication
 * and nearly always reads one cache line. An edge records only whether a key ends at its child node, so edges are small
 * and many of them fit in the caches. The values of the keys are in a separate array, indexed by node. Several threads
 * may read a trie concurrently.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

#define AOEI_TRIE_ROOT      0u
#define AOEI_TRIE_MAX_NODES (1u << 24) /* a node and a byte then fit in a 32-bit key */

typedef struct aoei_trie_edge {
    uint32_t key; /* parent node * 256 + byte */
    /* Child node. The bit AOEI_TRIE_END is set if a key ends at this node. 0 means that the slot is empty, because the
     * root (node 0) is never a child. */
    uint32_t node;
} aoei_trie_edge;
#define AOEI_TRIE_END (1u << 31)

typedef struct aoei_trie {
    aoei_trie_edge *edge; /* [mask + 1] hash table, owned; NULL if the trie is empty */
    int32_t *value;       /* [n + 1] value of the key that ends at each node, owned */
    size_t capacity;      /* number of allocated elements of `value` */
    uint32_t mask;        /* number of slots (a power of two) - 1 */
    uint32_t shift;       /* 32 - log2(number of slots) */
    uint32_t n;           /* number of nodes except the root */
} aoei_trie;

/* Adds key[len] to a trie, which may be zeroed. `len` must be positive. If the key exists, `keep` = 1 keeps its value,
 * and `keep` = 0 replaces its value. Errors: AOE_ENOMEM; AOE_EUNSUPPORTED for more than AOEI_TRIE_MAX_NODES nodes. */
int aoei_trie_add(aoei_trie *t, const char *key, size_t len, int32_t value, int keep, aoe_error *err);
int32_t aoei_trie_find(const aoei_trie *t, const char *key, size_t len); /* returns the value of key, or -1 */
/* Returns the node that the bytes of key[len] lead to; 0 if there is no such node or len is 0. */
uint32_t aoei_trie_node(const aoei_trie *t, const char *key, size_t len);
void aoei_trie_free(aoei_trie *t);

static inline uint32_t aoei_trie_slot(const aoei_trie *t, uint32_t key) {
    return (key * 0x9E3779B1u) >> t->shift;
}

/* Returns the child of a node for byte c. The bit AOEI_TRIE_END is set if a key ends at the child. Returns 0 if the
 * node has no such child. The trie must not be empty. */
static inline uint32_t aoei_trie_step(const aoei_trie *t, uint32_t node, unsigned char c) {
    uint32_t key = node << 8 | c; /* shifting removes AOEI_TRIE_END */
    for (uint32_t i = aoei_trie_slot(t, key);; i = (i + 1) & t->mask) {
        const aoei_trie_edge *e = &t->edge[i];
        if (e->node == 0 || e->key == key)
            return e->node;
    }
}

/* Returns the value of the key that ends at a node returned by aoei_trie_step. */
static inline int32_t aoei_trie_value(const aoei_trie *t, uint32_t node) {
    return t->value[node & ~AOEI_TRIE_END];
}
