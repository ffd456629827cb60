/* SPDX-License-Identifier: MIT
 * A byte trie whose edges live in one open-addressing hash table: a step is
 * one multiplication and, nearly always, one cache line. Edges are kept small, so
 * that more of them stay in the caches: they only tell whether a key ends here, and
 * the values are a table by node. Grows by adding keys; stepping is read-only and safe to share.
 */
#ifndef AOEI_TOKENIZER_TRIE_H
#define AOEI_TOKENIZER_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

#define AOEI_TRIE_ROOT      0u
#define AOEI_TRIE_MAX_NODES (1u << 24) /* a node and a byte make a 32-bit key */

typedef struct aoei_trie_edge {
    uint32_t key;  /* parent node * 256 + byte */
    uint32_t node; /* child, and AOEI_TRIE_END when a key ends there; 0: the slot is empty (the root is nobody's child) */
} aoei_trie_edge;
#define AOEI_TRIE_END (1u << 31)

typedef struct aoei_trie {
    aoei_trie_edge *edge; /* [mask + 1], owned; NULL while empty */
    int32_t *value;       /* [n + 1], owned: by node, of the keys that end there */
    size_t capacity;      /* of value */
    uint32_t mask;        /* slots - 1, slots a power of two */
    uint32_t shift;       /* 32 - log2(slots) */
    uint32_t n;           /* nodes beside the root */
} aoei_trie;

/* Adds a key (len > 0). `keep`: an existing value stays, else it is replaced. *before (may be NULL): that value, or -1.
 * AOE_ENOMEM; AOE_EUNSUPPORTED: more than AOEI_TRIE_MAX_NODES nodes. A zeroed trie is empty. */
int aoei_trie_add(aoei_trie *t, const char *key, size_t len, int32_t value, int keep, int32_t *before, aoe_error *err);
int32_t aoei_trie_find(const aoei_trie *t, const char *key, size_t len); /* the value, or -1 */
/* The node that key leads to; 0 when there is none (or len is 0). */
uint32_t aoei_trie_node(const aoei_trie *t, const char *key, size_t len);
void aoei_trie_free(aoei_trie *t);

static inline uint32_t aoei_trie_slot(const aoei_trie *t, uint32_t key) {
    return (key * 0x9E3779B1u) >> t->shift;
}

/* Where byte c leads from a node: a node with AOEI_TRIE_END in it when a key ends there, or 0. The trie is not empty. */
static inline uint32_t aoei_trie_step(const aoei_trie *t, uint32_t node, unsigned char c) {
    uint32_t key = node << 8 | c; /* the mark is shifted out */
    for (uint32_t i = aoei_trie_slot(t, key);; i = (i + 1) & t->mask) {
        const aoei_trie_edge *e = &t->edge[i];
        if (e->node == 0 || e->key == key)
            return e->node;
    }
}

/* The value of the key that ends at a node, as aoei_trie_step gave it. */
static inline int32_t aoei_trie_value(const aoei_trie *t, uint32_t node) {
    return t->value[node & ~AOEI_TRIE_END];
}

#endif
