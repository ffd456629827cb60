/* SPDX-License-Identifier: MIT
 * The only door to malloc. Tests make the n-th call fail; libraries that take
 * allocator hooks (jansson) are routed here too.
 */
#ifndef AOEI_BASE_ALLOC_H
#define AOEI_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#define AOEI_ALIGN 64 /* cache line and zmm width */

void *aoei_malloc(size_t bytes);                    /* NULL on failure; malloc(0) gives a unique pointer */
void *aoei_calloc(size_t count, size_t size);       /* checked multiplication, zeroed */
void *aoei_realloc(void *p, size_t bytes);          /* p stays valid on failure */
void *aoei_malloc_array(size_t count, size_t size); /* checked multiplication */
void *aoei_realloc_array(void *p, size_t count, size_t size);
char *aoei_strndup(const char *s, size_t len); /* adds the final NUL */
char *aoei_strdup(const char *s);
void aoei_free(void *p);          /* for all of the above */
void *aoei_aligned(size_t bytes); /* AOEI_ALIGN-aligned; large blocks ask for huge pages */
void aoei_aligned_free(void *p);

/* Fault injection for tests: the n-th allocation from now fails (1 = the next), 0 turns it off.
 * aoei_alloc_count() counts calls since the last aoei_alloc_fail_at(). aoei_alloc_live() counts
 * blocks not yet freed. */
void aoei_alloc_fail_at(uint64_t n);
uint64_t aoei_alloc_count(void);
int64_t aoei_alloc_live(void);

/* Checked size arithmetic: 0 and *out on success, -1 on overflow. */
int aoei_mul_size(size_t a, size_t b, size_t *out);
int aoei_add_size(size_t a, size_t b, size_t *out);

#endif
