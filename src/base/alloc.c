/* SPDX-License-Identifier: MIT
 * Allocation functions that call malloc, count the calls, and can make an allocation fail for tests. If fault injection
 * is off, counting costs one relaxed atomic increment per call. The counters are exact for any number of threads.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static _Atomic uint64_t calls;   /* allocations requested since the last aoei_alloc_fail_at */
static _Atomic uint64_t fail_at; /* value of `calls` at which an allocation is made to fail; 0: never */
static _Atomic int64_t live;     /* blocks allocated and not yet freed */
static _Thread_local int failed; /* 1: an allocation has failed in this thread */

/* Counts an allocation. Returns 1 if it must fail: fault injection selected it, or `bytes` exceeds the maximum size of
 * an object. */
static int must_fail(size_t bytes) {
    uint64_t n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    const int fails = n == atomic_load_explicit(&fail_at, memory_order_relaxed) || bytes > PTRDIFF_MAX;
    failed |= fails;
    return fails;
}

static void *counted(void *p) {
    if (p)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    else
        failed = 1;
    return p;
}

void *aoei_malloc(size_t bytes) {
    return must_fail(bytes) ? NULL : counted(malloc(bytes ? bytes : 1));
}

void *aoei_calloc(size_t count, size_t size) {
    size_t bytes;
    if (aoei_mul_size(count, size, &bytes))
        bytes = SIZE_MAX;
    return must_fail(bytes) ? NULL : counted(calloc(bytes ? bytes : 1, 1));
}

void *aoei_realloc(void *p, size_t bytes) {
    if (!p)
        return aoei_malloc(bytes);
    void *moved = must_fail(bytes) ? NULL : realloc(p, bytes ? bytes : 1);
    failed |= !moved;
    return moved;
}

void *aoei_malloc_array(size_t count, size_t size) {
    size_t bytes;
    return aoei_malloc(aoei_mul_size(count, size, &bytes) ? SIZE_MAX : bytes);
}

void *aoei_realloc_array(void *p, size_t count, size_t size) {
    size_t bytes;
    return aoei_realloc(p, aoei_mul_size(count, size, &bytes) ? SIZE_MAX : bytes);
}

char *aoei_strndup(const char *s, size_t len) {
    size_t bytes;
    char *copy = aoei_malloc(aoei_add_size(len, 1, &bytes) ? SIZE_MAX : bytes);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, s, len);
    copy[len] = 0;
    return copy;
}

char *aoei_strdup(const char *s) {
    return aoei_strndup(s, strlen(s));
}

void aoei_free(void *p) {
    if (p)
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    free(p);
}

void *aoei_aligned(size_t bytes) {
    if (must_fail(bytes))
        return NULL;
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : AOEI_ALIGN;
    void *p = NULL;
    if (posix_memalign(&p, align, bytes ? bytes : 1))
        return counted(NULL);
    /* huge pages reduce TLB misses in the matrix kernels; an error of madvise does not matter */
    if (align == HUGE_PAGE)
        (void)madvise(p, bytes & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    return counted(p);
}

void aoei_aligned_free(void *p) {
    aoei_free(p);
}

void aoei_alloc_fail_at(uint64_t n) {
    atomic_store(&calls, 0);
    atomic_store(&fail_at, n);
}

void aoei_alloc_trim(void) {
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

uint64_t aoei_alloc_count(void) {
    return atomic_load(&calls);
}

int aoei_alloc_failed(void) {
    const int was = failed;
    failed = 0;
    return was;
}

int64_t aoei_alloc_live(void) {
    return atomic_load(&live);
}

int aoei_mul_size(size_t a, size_t b, size_t *out) {
    if (b && a > SIZE_MAX / b)
        return -1;
    *out = a * b;
    return 0;
}

int aoei_add_size(size_t a, size_t b, size_t *out) {
    if (a > SIZE_MAX - b)
        return -1;
    *out = a + b;
    return 0;
}
