/* SPDX-License-Identifier: MIT
 * Calls the EVP functions of libcrypto. Their interface has been stable since OpenSSL 1.1, so they are declared here,
 * and no header of OpenSSL is needed to build aoe.
 */
#include "net/digest.h"

#include <dlfcn.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/mutex.h"

typedef struct evp_functions {
    void *(*EVP_MD_CTX_new)(void);
    void (*EVP_MD_CTX_free)(void *ctx);
    const void *(*EVP_get_digestbyname)(const char *name);
    int (*EVP_DigestInit_ex)(void *ctx, const void *type, void *engine);
    int (*EVP_DigestUpdate)(void *ctx, const void *data, size_t len);
    int (*EVP_DigestFinal_ex)(void *ctx, unsigned char *out, unsigned *len);
} evp_functions;

struct aoei_digest {
    void *ctx;        /* EVP_MD_CTX, owned */
    const void *type; /* EVP_MD, borrowed from libcrypto */
};

static aoei_mutex lock = AOEI_MUTEX_INIT; /* protects `loaded` and `evp` while libcrypto is loaded */
static int loaded;
static evp_functions evp;

/* Loads libcrypto. The caller holds the lock. */
static int load(aoe_error *err) {
    static const char *const names[] = {"EVP_MD_CTX_new",    "EVP_MD_CTX_free",  "EVP_get_digestbyname",
                                        "EVP_DigestInit_ex", "EVP_DigestUpdate", "EVP_DigestFinal_ex"};
    void *library = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcrypto.so.1.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return aoei_fail(err, AOE_EIO, "libcrypto cannot be loaded: %s; install it (apt-get install libssl3)",
                         dlerror());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *p = dlsym(library, names[i]);
        if (!p) {
            dlclose(library);
            return aoei_fail(err, AOE_EIO, "the installed libcrypto has no %s; install OpenSSL 1.1 or newer", names[i]);
        }
        memcpy((char *)&evp + i * sizeof p, &p, sizeof p);
    }
    loaded = 1;
    return 0;
}

int aoei_digest_create(aoei_digest **out, const char *name, aoe_error *err) {
    *out = NULL;
    aoei_mutex_lock(&lock);
    const int rc = loaded ? 0 : load(err);
    aoei_mutex_unlock(&lock);
    if (rc)
        return rc;
    aoei_digest *d = aoei_calloc(1, sizeof *d);
    if (!d)
        return aoei_fail_nomem(err, sizeof *d);
    d->type = evp.EVP_get_digestbyname(name);
    d->ctx = evp.EVP_MD_CTX_new();
    if (!d->type || !d->ctx || aoei_digest_restart(d)) {
        const int known = d->type != NULL;
        aoei_digest_free(d);
        return known ? aoei_fail_nomem(err, 0)
                     : aoei_fail(err, AOE_EIO,
                                 "libcrypto does not provide %s; enable it in the configuration of OpenSSL", name);
    }
    *out = d;
    return 0;
}

int aoei_digest_restart(aoei_digest *d) {
    return evp.EVP_DigestInit_ex(d->ctx, d->type, NULL) == 1 ? 0 : AOE_ENOMEM;
}

int aoei_digest_add(aoei_digest *d, const void *data, size_t len) {
    return evp.EVP_DigestUpdate(d->ctx, data, len) == 1 ? 0 : AOE_ENOMEM;
}

int aoei_digest_end(aoei_digest *d, char hex[AOEI_DIGEST_HEX]) {
    unsigned char bytes[64]; /* EVP_MAX_MD_SIZE */
    unsigned n = 0;
    if (evp.EVP_DigestFinal_ex(d->ctx, bytes, &n) != 1)
        return AOE_ENOMEM;
    for (unsigned i = 0; i < n && 2 * i + 2 < AOEI_DIGEST_HEX; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
        hex[2 * i + 2] = 0;
    }
    return 0;
}

void aoei_digest_free(aoei_digest *d) {
    if (!d)
        return;
    evp.EVP_MD_CTX_free(d->ctx);
    aoei_free(d);
}
