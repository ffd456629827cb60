/* SPDX-License-Identifier: MIT
 * Loads and initializes libcurl, and initializes SQLite. The libraries are never shut down, because another part of the
 * program may use them.
 */
#include "net/libraries.h"

#include <dlfcn.h>
#include <string.h>

#include <sqlite3.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/mutex.h"

static aoei_mutex lock = AOEI_MUTEX_INIT; /* held while a library is initialized; protects the two flags below */
static int curl_started, sqlite_started;

/* -------------------------------------------------------------------- curl */

static _Thread_local int out_of_memory; /* 1: an allocation of libcurl failed in this thread */

/* Sets out_of_memory if p is NULL. */
static void *record_failure(void *p) {
    out_of_memory |= !p;
    return p;
}

static void *curl_malloc(size_t bytes) {
    return record_failure(aoei_malloc(bytes));
}

static void *curl_realloc(void *p, size_t bytes) {
    return record_failure(aoei_realloc(p, bytes));
}

static void *curl_calloc(size_t count, size_t size) {
    return record_failure(aoei_calloc(count, size));
}

static char *curl_strdup(const char *s) {
    return record_failure(aoei_strdup(s));
}

int aoei_curl_out_of_memory(void) {
    const int was = out_of_memory;
    out_of_memory = 0;
    return was;
}

aoei_curl_functions aoei_curl;

/* Loads libcurl and finds its functions. The caller holds the lock. */
static int load_curl(aoe_error *err) {
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return aoei_fail(err, AOE_EIO, "libcurl cannot be loaded: %s; install it (apt-get install libcurl4)",
                         dlerror());
    const char *missing = NULL;
    void *p;
#define AOEI_X(name)                                                                                                   \
    p = dlsym(library, "curl_" #name);                                                                                 \
    missing = p ? missing : "curl_" #name;                                                                             \
    memcpy(&aoei_curl.name, &p, sizeof p);
    AOEI_CURL_FUNCTIONS(AOEI_X)
#undef AOEI_X
    if (!missing)
        return 0;
    dlclose(library);
    return aoei_fail(err, AOE_EIO, "the installed libcurl is too old: it has no %s; install 7.66 or newer", missing);
}

static int start_curl(aoe_error *err) {
    const int rc = load_curl(err);
    if (rc)
        return rc;
    (void)aoei_curl_out_of_memory();
    if (aoei_curl.global_init_mem(CURL_GLOBAL_DEFAULT, curl_malloc, aoei_free, curl_realloc, curl_strdup,
                                  curl_calloc) == CURLE_OK)
        return 0;
    if (aoei_curl_out_of_memory())
        return aoei_fail_nomem(err, 0);
    return aoei_fail(err, AOE_EIO, "libcurl cannot be initialized; reinstall the libcurl package");
}

int aoei_start_curl(aoe_error *err) {
    aoei_mutex_lock(&lock);
    const int rc = curl_started ? 0 : start_curl(err);
    curl_started |= rc == 0;
    aoei_mutex_unlock(&lock);
    return rc;
}

time_t aoei_curl_date(const char *text) {
    return aoei_start_curl(NULL) ? -1 : aoei_curl.getdate(text, NULL);
}

/* ------------------------------------------------------------------ SQLite */

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

int aoei_start_sqlite(aoe_error *err) {
    static const sqlite3_mem_methods memory = {
        sqlite_malloc,   sqlite_free,         sqlite_realloc,     sqlite_size,
        sqlite_round_up, sqlite_memory_start, sqlite_memory_stop, NULL,
    };
    int rc = 0;
    aoei_mutex_lock(&lock);
    if (!sqlite_started) {
        (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &memory); /* fails if SQLite is already initialized */
        const int code = sqlite3_initialize();
        if (code == SQLITE_OK)
            sqlite_started = 1;
        else if (code == SQLITE_NOMEM)
            rc = aoei_fail_nomem(err, 0);
        else
            rc = aoei_fail(err, AOE_EIO, "SQLite cannot be initialized: %s; check its installation",
                           sqlite3_errstr(code));
    }
    aoei_mutex_unlock(&lock);
    return rc;
}
