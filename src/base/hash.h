/* SPDX-License-Identifier: MIT
 * FNV-1a, 64 bits (Fowler, Noll, Vo): tells changed inputs apart and places keys in tables. Not for adversaries.
 */
#ifndef AOEI_BASE_HASH_H
#define AOEI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define AOEI_HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash of `bytes` more bytes after a hash h of those before (AOEI_HASH_START at first). */
static inline uint64_t aoei_hash(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
