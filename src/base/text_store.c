/* SPDX-License-Identifier: MIT
 * Allocates memory for texts from large chunks.
 */
#include "base/text_store.h"

#include "base/alloc.h"
#include "base/buffer.h"

enum { CHUNK = 1 << 20 /* bytes per chunk; a longer text gets its own chunk */ };

char *aoei_chunks_take(aoei_chunks *c, size_t bytes) {
    if (bytes > c->left || !c->free) {
        const size_t size = bytes > CHUNK ? bytes : CHUNK;
        if (aoei_grow((void **)&c->chunk, &c->capacity, c->n, sizeof *c->chunk))
            return NULL;
        char *chunk = aoei_malloc(size);
        if (!chunk)
            return NULL;
        c->chunk[c->n++] = chunk;
        c->free = chunk;
        c->left = size;
    }
    char *text = c->free;
    c->free += bytes;
    c->left -= bytes;
    return text;
}

void aoei_chunks_free(aoei_chunks *c) {
    for (size_t i = 0; i < c->n; i++)
        aoei_free(c->chunk[i]);
    aoei_free(c->chunk);
    *c = (aoei_chunks){0};
}
