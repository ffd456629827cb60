/* SPDX-License-Identifier: MIT
 * Passes output to an aoe_write_fn. The output is compressed with gzip or zstd, or not compressed. stream.h reads such
 * output. Equal input gives equal compressed output.
 */
#pragma once

#include "aoe.h"
#include "aoe_data.h"
#include "table/stream.h"

typedef struct aoei_compressor {
    aoe_write_fn write; /* callback that receives the output */
    void *user;         /* passed to `write` */
    size_t part;        /* index of the output file, which is passed to `write` */
    aoei_codec codec;
    void *state; /* compressor, a z_stream or ZSTD_CCtx, owned; NULL for uncompressed output */
    char *out;   /* buffer for compressed bytes, owned; NULL for uncompressed output */
} aoei_compressor;

/* Opens *p. The caller calls aoei_compress_free even if this function fails. Errors: AOE_ENOMEM. */
int aoei_compress_open(aoei_compressor *p, aoei_codec codec, aoe_write_fn write, void *user, size_t part,
                       aoe_error *err);
/* Compresses data[len] and passes compressed bytes to the write function. Errors: AOE_ECANCELLED if the write function
 * returns a nonzero value, AOE_ENOMEM. */
int aoei_compress_write(aoei_compressor *p, const char *data, size_t len, aoe_error *err);
/* Writes the remaining compressed bytes. Call it once, after the last aoei_compress_write. Errors: see
 * aoei_compress_write. */
int aoei_compress_end(aoei_compressor *p, aoe_error *err);
void aoei_compress_free(aoei_compressor *p); /* accepts a zeroed struct */
