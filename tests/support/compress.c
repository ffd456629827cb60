/* SPDX-License-Identifier: MIT
 * gzip and zstd in one call each. A failure exits: the fuzz drivers use this outside of cmocka.
 */
#include "compress.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>
#include <zstd.h>

static void *room_for(size_t bytes) {
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
    size_t room = deflateBound(&z, size) + 64;
    char *out = room_for(room);
    z.next_in = (Bytef *)(size_t)data;
    z.avail_in = (uInt)size;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        exit(2);
    *out_size = room - z.avail_out;
    deflateEnd(&z);
    return out;
}

char *test_zstd(const void *data, size_t size, size_t *out_size) {
    size_t room = ZSTD_compressBound(size);
    char *out = room_for(room);
    *out_size = ZSTD_compress(out, room, data, size, 3);
    if (ZSTD_isError(*out_size))
        exit(2);
    return out;
}
