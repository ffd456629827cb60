/* SPDX-License-Identifier: MIT
 * Compressed output, the inverse of stream.h: passes bytes to an aoe_write_fn, compressed or not. Equal input gives equal
 * compressed output.
 */
#ifndef AOEI_TABLE_COMPRESS_H
#define AOEI_TABLE_COMPRESS_H

#include "aoe.h"
#include "aoe_data.h"
#include "table/stream.h"

typedef struct aoei_compressor {
    aoe_write_fn write;
    void *user;
    size_t part; /* number of the output, passed to write */
    aoei_codec codec;
    void *state; /* owned: z_stream or ZSTD_CCtx */
    char *out;   /* owned output buffer */
} aoei_compressor;

/* Opens *p, which must be freed even if this fails. Errors: AOE_ENOMEM. */
int aoei_compress_open(aoei_compressor *p, aoei_codec codec, aoe_write_fn write, void *user, size_t part, aoe_error *err);
/* Errors: AOE_ECANCELLED (the callback returned a nonzero value), AOE_ENOMEM. */
int aoei_compress_write(aoei_compressor *p, const char *data, size_t len, aoe_error *err);
int aoei_compress_end(aoei_compressor *p,
                      aoe_error *err);       /* writes the remaining bytes; call once, after the last aoei_compress_write */
void aoei_compress_free(aoei_compressor *p); /* accepts a zeroed struct */

#endif
