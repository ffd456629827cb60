/* SPDX-License-Identifier: MIT
 * Compresses output with zlib (gzip) or zstd. Each codec uses its default compression level.
 */
#include "table/compress.h"

#include <limits.h>

#include <zlib.h>
#include <zstd.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"

enum { OUT_SIZE = 1 << 17 /* bytes of the output buffer */, GZIP_LEVEL = 6, ZSTD_LEVEL = 3 };

static void *zlib_alloc(void *opaque, unsigned count, unsigned size) {
    (void)opaque;
    return aoei_malloc_array(count, size);
}

static void zlib_free(void *opaque, void *p) {
    (void)opaque;
    aoei_free(p);
}

int aoei_compress_open(aoei_compressor *p, aoei_codec codec, aoe_write_fn write, void *user, size_t part,
                       aoe_error *err) {
    *p = (aoei_compressor){.write = write, .user = user, .part = part, .codec = codec};
    if (codec == AOEI_CODEC_PLAIN)
        return 0;
    p->out = aoei_malloc(OUT_SIZE);
    if (codec == AOEI_CODEC_ZSTD && p->out) {
        ZSTD_CCtx *zstd = ZSTD_createCCtx();
        p->state = zstd;
        if (zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)))
            return 0;
    } else if (p->out) {
        z_stream *gzip = aoei_calloc(1, sizeof *gzip);
        p->state = gzip;
        if (gzip) {
            gzip->zalloc = zlib_alloc;
            gzip->zfree = zlib_free;
            /* 15 selects the largest window, and adding 16 selects the gzip format; zlib writes no modification time */
            if (deflateInit2(gzip, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
                return 0;
        }
    }
    return aoei_fail_nomem(err, OUT_SIZE);
}

/* Passes data[len] to the caller's write function. */
static int call_write(const aoei_compressor *p, const char *data, size_t len, aoe_error *err) {
    return len && p->write(p->user, p->part, data, len)
               ? aoei_fail(err, AOE_ECANCELLED, "cancelled by the write callback")
               : 0;
}

/* Compresses data[len] with gzip and writes the compressed bytes. last: 1 to end the gzip member after the data. */
static int deflate_all(aoei_compressor *p, const char *data, size_t len, int last, aoe_error *err) {
    z_stream *gzip = p->state;
    for (;;) {
        const unsigned now = len > UINT_MAX ? UINT_MAX : (unsigned)len;
        gzip->next_in = (Bytef *)data;
        gzip->avail_in = now;
        gzip->next_out = (Bytef *)p->out;
        gzip->avail_out = OUT_SIZE;
        const int result = deflate(gzip, last && now == len ? Z_FINISH : Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return aoei_fail_nomem(err, OUT_SIZE);
        const int rc = call_write(p, p->out, OUT_SIZE - gzip->avail_out, err);
        if (rc)
            return rc;
        data += now - gzip->avail_in;
        len -= now - gzip->avail_in;
        if (last ? result == Z_STREAM_END : !len && gzip->avail_out)
            return 0;
    }
}

/* Compresses data[len] with zstd and writes the compressed bytes. last: 1 to end the zstd frame after the data. */
static int zstd_all(aoei_compressor *p, const char *data, size_t len, int last, aoe_error *err) {
    ZSTD_inBuffer in = {data, len, 0};
    for (;;) {
        ZSTD_outBuffer out = {p->out, OUT_SIZE, 0};
        const size_t left = ZSTD_compressStream2(p->state, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return aoei_fail_nomem(err, OUT_SIZE); /* all other error codes are programming errors */
        const int rc = call_write(p, p->out, out.pos, err);
        if (rc)
            return rc;
        if (last ? left == 0 : in.pos == in.size)
            return 0;
    }
}

int aoei_compress_write(aoei_compressor *p, const char *data, size_t len, aoe_error *err) {
    if (p->codec == AOEI_CODEC_PLAIN)
        return call_write(p, data, len, err);
    return p->codec == AOEI_CODEC_GZIP ? deflate_all(p, data, len, 0, err) : zstd_all(p, data, len, 0, err);
}

int aoei_compress_end(aoei_compressor *p, aoe_error *err) {
    if (p->codec == AOEI_CODEC_PLAIN)
        return 0;
    return p->codec == AOEI_CODEC_GZIP ? deflate_all(p, "", 0, 1, err) : zstd_all(p, "", 0, 1, err);
}

void aoei_compress_free(aoei_compressor *p) {
    if (p->state && p->codec == AOEI_CODEC_GZIP) {
        deflateEnd(p->state);
        aoei_free(p->state);
    } else if (p->state) {
        ZSTD_freeCCtx(p->state);
    }
    aoei_free(p->out);
    *p = (aoei_compressor){0};
}
