/* SPDX-License-Identifier: MIT
 * Compresses data with gzip and zstd; see compress.h. If a function fails, it ends the program, because the fuzz
 * drivers call it outside of cmocka.
 */
#include "compress.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

static void *allocate(size_t bytes) {
    void *p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

char *test_gzip(const void *data, size_t size, size_t *out_size) {
    z_stream z = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        exit(2);
    size_t capacity = deflateBound(&z, size) + 64;
    char *out = allocate(capacity);
    z.next_in = (Bytef *)(size_t)data;
    z.avail_in = (uInt)size;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)capacity;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        exit(2);
    *out_size = capacity - z.avail_out;
    deflateEnd(&z);
    return out;
}

char *test_zstd(const void *data, size_t size, size_t *out_size) {
    size_t capacity = ZSTD_compressBound(size);
    char *out = allocate(capacity);
    *out_size = ZSTD_compress(out, capacity, data, size, 3);
    if (ZSTD_isError(*out_size))
        exit(2);
    return out;
}
