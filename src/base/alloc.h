/* SPDX-License-Identifier: MIT
 * Memory allocation. The library allocates all its memory with these functions. Other libraries use them if their
 * allocation functions are set for one object (PCRE2). Allocation functions of a whole process, such as those of
 * jansson, belong to the program. Tests can make the n-th allocation fail (tests/support/allocators.c also does so in
 * jansson, SQLite and libcurl).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AOEI_ALIGN 64 /* alignment in bytes: the size of a cache line and of a zmm register */

void *aoei_malloc(size_t bytes);              /* returns NULL on failure; returns a unique pointer if bytes is 0 */
void *aoei_calloc(size_t count, size_t size); /* returns zeroed memory; NULL on failure or if count * size overflows */
void *aoei_realloc(void *p, size_t bytes);    /* returns NULL on failure; p then stays valid */
void *aoei_malloc_array(size_t count, size_t size); /* returns NULL on failure or if count * size overflows */
void *aoei_realloc_array(void *p, size_t count, size_t size);
char *aoei_strndup(const char *s, size_t len); /* copies len bytes and appends a NUL */
char *aoei_strdup(const char *s);
void aoei_free(void *p);          /* frees memory of all functions above */
void *aoei_aligned(size_t bytes); /* returns memory aligned to AOEI_ALIGN; requests huge pages for large blocks */
void aoei_aligned_free(void *p);  /* frees memory of aoei_aligned */
/* Returns unused memory to the system, as far as the allocator of the process can. Takes milliseconds. */
void aoei_alloc_trim(void);

/* Returns 1 if an allocation of these functions has failed in this thread since the last call of this function.
 * Libraries often report failed allocations with other errors. */
int aoei_alloc_failed(void);

/* Fault injection for tests. aoei_alloc_fail_at(n) makes the n-th allocation after the call fail (n = 1: the next
 * allocation); n = 0 turns fault injection off. aoei_alloc_count returns the number of allocations requested since the
 * last aoei_alloc_fail_at, and aoei_alloc_live returns the number of blocks that are not yet freed. */
void aoei_alloc_fail_at(uint64_t n);
uint64_t aoei_alloc_count(void);
int64_t aoei_alloc_live(void);

/* aoei_mul_size multiplies and aoei_add_size adds two sizes. Both set *out to the result and return 0, or return -1 if
 * the result overflows. */
int aoei_mul_size(size_t a, size_t b, size_t *out);
int aoei_add_size(size_t a, size_t b, size_t *out);
