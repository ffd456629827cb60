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
    (void)aoei_alloc_failed(); /* resets the flag of earlier allocations */
    const CURLcode code = aoei_curl.global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OK)
        return 0;
    if (code == CURLE_OUT_OF_MEMORY || aoei_alloc_failed())
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

int aoei_start_sqlite(aoe_error *err) {
    int rc = 0;
    aoei_mutex_lock(&lock);
    if (!sqlite_started) {
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
