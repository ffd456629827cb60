/* SPDX-License-Identifier: MIT
 * Compressed output, the inverse of stream.h: passes bytes to an aoe_write_fn, uncompressed or compressed. Equal input
 * gives equal compressed output.
 */
#ifndef AOEI_TABLE_COMPRESS_H
#define AOEI_TABLE_COMPRESS_H

#include "aoe.h"
#include "aoe_data.h"
#include "table/stream.h"

typedef struct aoei_compressor {
    aoe_write_fn write;
    void *user;
    size_t part; /* output number, passed to write */
    aoei_codec codec;
    void *state; /* owned: z_stream or ZSTD_CCtx */
    char *out;   /* owned */
} aoei_compressor;

/* Opens *p, which must be freed in any case. Errors: AOE_ENOMEM. */
int aoei_compress_open(aoei_compressor *p, aoei_codec codec, aoe_write_fn write, void *user, size_t part, aoe_error *err);
/* Errors: AOE_ECANCELLED (write returned a value other than 0), AOE_ENOMEM. */
int aoei_compress_write(aoei_compressor *p, const char *data, size_t len, aoe_error *err);
int aoei_compress_end(aoei_compressor *p,
                      aoe_error *err); /* writes the remaining bytes; to be called once, after the last aoei_compress_write */
void aoei_compress_free(aoei_compressor *p); /* accepts a zeroed one */

#endif
