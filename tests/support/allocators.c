/* SPDX-License-Identifier: MIT
 * Makes jansson, SQLite and libcurl use the counted allocation functions of base/alloc.h, so that fault tests can also
 * make their allocations fail, and leaks of their blocks are found. The library itself never replaces allocation
 * functions. For jansson and SQLite, this happens before main. libcurl is loaded at run time, so tests that use it call
 * test_count_curl.
 */
#include <dlfcn.h>
#include <string.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <jansson.h>
#include <sqlite3.h>

#include "base/alloc.h"
#include "support.h"

void test_count_curl(void) {
    CURLcode (*init)(long, curl_malloc_callback, curl_free_callback, curl_realloc_callback, curl_strdup_callback,
                     curl_calloc_callback) = NULL;
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "curl_global_init_mem") : NULL;
    if (!symbol)
        fail_msg("%s", dlerror());
    memcpy(&init, &symbol, sizeof init);
    assert_int_equal(init(CURL_GLOBAL_DEFAULT, aoei_malloc, aoei_free, aoei_realloc, aoei_strdup, aoei_calloc),
                     CURLE_OK);
}

/* SQLite requires a function that returns the size of an allocated block, so the size is stored before each block. */
#define SIZE_BYTES 16 /* bytes before a block; a multiple of the alignment of malloc */

/* Stores the size at the start of the allocation and returns the address after it. */
static void *store_size(char *block, int bytes) {
    if (!block)
        return NULL;
    memcpy(block, &bytes, sizeof bytes);
    return block + SIZE_BYTES;
}

static void *sqlite_malloc(int bytes) {
    return store_size(aoei_malloc((size_t)bytes + SIZE_BYTES), bytes);
}

static void sqlite_free(void *p) {
    if (p)
        aoei_free((char *)p - SIZE_BYTES);
}

static void *sqlite_realloc(void *p, int bytes) {
    return store_size(aoei_realloc((char *)p - SIZE_BYTES, (size_t)bytes + SIZE_BYTES), bytes);
}

static int sqlite_size(void *p) {
    int bytes;
    memcpy(&bytes, (char *)p - SIZE_BYTES, sizeof bytes);
    return bytes;
}

static int sqlite_round_up(int bytes) {
    return (bytes + 7) & ~7;
}

static int sqlite_memory_start(void *unused) {
    (void)unused;
    return SQLITE_OK;
}

static void sqlite_memory_stop(void *unused) {
    (void)unused;
}

__attribute__((constructor)) static void set_allocators(void) {
    static const sqlite3_mem_methods memory = {
        sqlite_malloc,   sqlite_free,         sqlite_realloc,     sqlite_size,
        sqlite_round_up, sqlite_memory_start, sqlite_memory_stop, NULL,
    };
    json_set_alloc_funcs(aoei_malloc, aoei_free);
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
}
