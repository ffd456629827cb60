/* SPDX-License-Identifier: MIT
 * A byte trie whose edges live in one open-addressing hash table: a step is
 * one multiplication and, nearly always, one cache line. Values sit on the
 * edge that ends a key. Grows by adding keys; stepping is read-only and safe to share.
 */
#ifndef AOEI_TEXT_TRIE_H
#define AOEI_TEXT_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

#define AOEI_TRIE_ROOT      0u
#define AOEI_TRIE_MAX_NODES (1u << 24) /* a node and a byte make a 32-bit key */

typedef struct aoei_trie_edge {
    uint32_t key;  /* parent node * 256 + byte */
    uint32_t node; /* child; 0: the slot is empty (the root is nobody's child) */
    int32_t value; /* of the key that ends here, -1: none */
} aoei_trie_edge;

typedef struct aoei_trie {
    aoei_trie_edge *edge; /* [mask + 1], owned; NULL while empty */
    uint32_t mask;        /* slots - 1, slots a power of two */
    uint32_t shift;       /* 32 - log2(slots) */
    uint32_t n;           /* nodes beside the root */
} aoei_trie;

/* Adds a key (len > 0). `keep`: an existing value stays, else it is replaced.
 * AOE_ENOMEM; AOE_EUNSUPPORTED: more than AOEI_TRIE_MAX_NODES nodes. A zeroed trie is empty. */
int aoei_trie_add(aoei_trie *t, const char *key, size_t len, int32_t value, int keep, aoe_error *err);
int32_t aoei_trie_find(const aoei_trie *t, const char *key, size_t len); /* the value, or -1 */
/* The node that key leads to; 0 when there is none (or len is 0). */
uint32_t aoei_trie_node(const aoei_trie *t, const char *key, size_t len);
void aoei_trie_free(aoei_trie *t);

static inline uint32_t aoei_trie_slot(const aoei_trie *t, uint32_t key) {
    return (key * 0x9E3779B1u) >> t->shift;
}

/* The edge from node over byte c, or NULL. The trie is not empty. */
static inline const aoei_trie_edge *aoei_trie_step(const aoei_trie *t, uint32_t node, unsigned char c) {
    uint32_t key = node << 8 | c;
    for (uint32_t i = aoei_trie_slot(t, key);; i = (i + 1) & t->mask) {
        const aoei_trie_edge *e = &t->edge[i];
        if (e->node == 0)
            return NULL;
        if (e->key == key)
            return e;
    }
}

#endif
