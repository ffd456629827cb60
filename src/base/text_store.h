/* SPDX-License-Identifier: MIT
 * Bytes in large chunks that do not move: what texts that are read one by one are kept in.
 * They are given back all at once.
 */
#ifndef AOEI_BASE_TEXT_STORE_H
#define AOEI_BASE_TEXT_STORE_H

#include <stddef.h>

typedef struct aoei_chunks {
    char **chunk; /* owned [n], each owned */
    size_t n, capacity;
    size_t room; /* bytes left at the end of the last chunk */
    char *free;  /* where they begin */
} aoei_chunks;

char *aoei_chunks_take(aoei_chunks *c, size_t bytes); /* NULL: no memory */
void aoei_chunks_free(aoei_chunks *c);                /* accepts a zeroed one */

#endif
