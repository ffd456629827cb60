/* SPDX-License-Identifier: MIT
 * FNV-1a with 64 bits (Fowler, Noll, Vo), for hash tables and for detecting changed inputs. FNV-1a is not a
 * cryptographic hash: it is easy to construct different inputs with equal hashes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AOEI_HASH_START UINT64_C(0xcbf29ce484222325)

/* Continues the hash h with `bytes` more bytes. The first call uses AOEI_HASH_START. */
static inline uint64_t aoei_hash(uint64_t h, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Continues the hash h with the bits of n floats, four bytes at a time: faster than aoei_hash, with other results. */
static inline uint64_t aoei_hash_words(uint64_t h, const float *data, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, data + i, sizeof bits);
        h = (h ^ bits) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* Returns the hash of the bytes with its high half combined into its low half by XOR. Hash tables use only the low
 * bits, and the low bits of FNV-1a alone depend on fewer bits of the input. */
static inline uint64_t aoei_hash_folded(const void *data, size_t bytes) {
    const uint64_t h = aoei_hash(AOEI_HASH_START, data, bytes);
    return h ^ (h >> 32);
}
