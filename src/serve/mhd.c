/* SPDX-License-Identifier: MIT
 * Loads libmicrohttpd. It is never closed, because its threads and those of GnuTLS may still use it.
 */
#include "serve/mhd.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "base/mutex.h"

static aoei_mutex lock = AOEI_MUTEX_INIT; /* held while the library is loaded; protects `started` */
static int started;

aoei_mhd_functions aoei_mhd;

int aoei_mhd_load(aoei_mhd_functions *f, const char *name, aoe_error *err) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return aoei_fail(err, AOE_EIO,
                         "libmicrohttpd cannot be loaded: %s; install it (Debian: apt-get install libmicrohttpd12)",
                         dlerror());
    const char *missing = NULL;
    void *p;
#define AOEI_X(function)                                                                                               \
    p = dlsym(library, "MHD_" #function);                                                                              \
    missing = p || missing ? missing : "MHD_" #function;                                                               \
    memcpy(&f->function, &p, sizeof p);
    AOEI_MHD_FUNCTIONS(AOEI_X)
#undef AOEI_X
    if (!missing)
        return 0;
    dlclose(library);
    return aoei_fail(err, AOE_EIO,
                     "%s is not libmicrohttpd, or is too old: it has no %s; install version 0.9.75 or newer (Debian: "
                     "apt-get install libmicrohttpd12)",
                     name, missing);
}

int aoei_mhd_start(aoe_error *err) {
    aoei_mutex_lock(&lock);
    const int rc = started ? 0 : aoei_mhd_load(&aoei_mhd, "libmicrohttpd.so.12", err);
    started |= rc == 0;
    aoei_mutex_unlock(&lock);
    return rc;
}
