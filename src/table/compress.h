/* SPDX-License-Identifier: MIT
 * Bytes on their way to a caller's aoe_write_fn: as they are, or compressed. The way back of stream.h; the same
 * bytes are always compressed to the same ones.
 */
#ifndef AOEI_TABLE_COMPRESS_H
#define AOEI_TABLE_COMPRESS_H

#include "aoe.h"
#include "aoe_data.h"
#include "table/stream.h"

typedef struct aoei_compressor {
    aoe_write_fn write;
    void *user;
    size_t part; /* argument of write */
    aoei_codec codec;
    void *state; /* owned: z_stream or ZSTD_CCtx */
    char *out;   /* owned */
} aoei_compressor;

/* Errors: AOE_ENOMEM. *p is to be freed either way. */
int aoei_compress_open(aoei_compressor *p, aoei_codec codec, aoe_write_fn write, void *user, size_t part, aoe_error *err);
/* Errors: AOE_ECANCELLED (write said so), AOE_ENOMEM. */
int aoei_compress_write(aoei_compressor *p, const char *data, size_t len, aoe_error *err);
int aoei_compress_end(aoei_compressor *p, aoe_error *err); /* what is still held; once, after the last write */
void aoei_compress_free(aoei_compressor *p);               /* accepts a zeroed one */

#endif
