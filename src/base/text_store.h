/* SPDX-License-Identifier: MIT
 * Allocates memory for many texts from large chunks, which are never moved. All texts are freed together.
 */
#pragma once

#include <stddef.h>

/* Texts that are stored in chunks. A zeroed struct contains no texts. */
typedef struct aoei_chunks {
    char **chunk;       /* [n] owned chunks */
    size_t n, capacity; /* used and allocated elements of `chunk` */
    size_t left;        /* unused bytes at the end of the last chunk */
    char *free;         /* first unused byte of the last chunk */
} aoei_chunks;

char *aoei_chunks_take(aoei_chunks *c, size_t bytes); /* returns memory for a text of `bytes` bytes, or NULL if out of
                                                         memory */
void aoei_chunks_free(aoei_chunks *c);                /* frees all texts; accepts a zeroed struct */
