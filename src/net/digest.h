/* SPDX-License-Identifier: MIT
 * SHA-1 and SHA-256, computed by libcrypto of OpenSSL, which uses the SHA instructions of the CPU. libcrypto is loaded
 * when it is first used. Debian's libcurl4 depends on it, so it is present wherever requests can be sent.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

#define AOEI_DIGEST_HEX 65 /* bytes of the text of the longest digest, with its NUL */

typedef struct aoei_digest aoei_digest;

/* Creates the state of a digest. name: "SHA1" or "SHA256". The caller calls aoei_digest_free. Errors: AOE_EIO
 * (libcrypto is not installed), AOE_ENOMEM. */
int aoei_digest_create(aoei_digest **d, const char *name, aoe_error *err);
/* The three functions return 0, or AOE_ENOMEM if libcrypto failed. aoei_digest_restart begins a new digest.
 * aoei_digest_end writes the digest in lower-case hexadecimal digits; aoei_digest_restart must be called before the
 * state is used again. */
int aoei_digest_restart(aoei_digest *d);
int aoei_digest_add(aoei_digest *d, const void *data, size_t len);
int aoei_digest_end(aoei_digest *d, char hex[AOEI_DIGEST_HEX]);
void aoei_digest_free(aoei_digest *d); /* accepts NULL */
