/* SPDX-License-Identifier: MIT
 * Loads libpq. It is never closed, because another part of the program may use it.
 */
#include "postgres/libpq.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/mutex.h"

static aoei_mutex lock = AOEI_MUTEX_INIT; /* held while libpq is loaded; protects `started` */
static int started;

aoei_pq_functions aoei_pq;

int aoei_pq_load(aoei_pq_functions *f, const char *name, aoe_error *err) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return aoei_fail(err, AOE_EIO,
                         "the client library of PostgreSQL cannot be loaded: %s; install it (Debian: apt-get install "
                         "libpq5)",
                         dlerror());
    const char *missing = NULL;
    void *p;
#define AOEI_X(result, function, arguments)                                                                            \
    p = dlsym(library, "PQ" #function);                                                                                \
    missing = p || missing ? missing : "PQ" #function;                                                                 \
    memcpy(&f->function, &p, sizeof p);
    AOEI_PQ_FUNCTIONS(AOEI_X)
#undef AOEI_X
    if (!missing)
        return 0;
    dlclose(library);
    return aoei_fail(err, AOE_EIO,
                     "%s is not the client library of PostgreSQL, or is too old: it has no %s; install version 12 or "
                     "newer (Debian: apt-get install libpq5)",
                     name, missing);
}

int aoei_pq_start(aoe_error *err) {
    aoei_mutex_lock(&lock);
    const int rc = started ? 0 : aoei_pq_load(&aoei_pq, "libpq.so.5", err);
    started |= rc == 0;
    aoei_mutex_unlock(&lock);
    return rc;
}

void aoei_pq_replace(const aoei_pq_functions *f) {
    aoei_mutex_lock(&lock);
    started = f != NULL;
    if (f)
        aoei_pq = *f;
    aoei_mutex_unlock(&lock);
}
