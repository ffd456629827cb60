/* SPDX-License-Identifier: MIT
 * Reads plain, gzip and zstd files. Compressed input is read in blocks of IN_SIZE bytes and decompressed directly into
 * the caller's buffer. A .gz file may contain several gzip members, and a .zst file several zstd frames. Invariant:
 * `between` is 1 exactly if the last member or frame is complete and the next one has not begun. A file that ends while
 * `between` is 0 is truncated.
 */
#include "table/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/alloc.h"
#include "base/error.h"

enum { IN_SIZE = 1 << 16 };

struct aoei_stream {
    FILE *file;    /* open file; owned if owns_file is 1 */
    int owns_file; /* 1: aoei_stream_close closes the file */
    char *name;    /* file name for messages, owned */
    aoei_codec codec;
    char *in;       /* [IN_SIZE] compressed bytes, owned; NULL for plain files */
    size_t in_len;  /* number of compressed bytes in `in` */
    size_t in_pos;  /* number of bytes of `in` that are already decompressed */
    uint64_t read;  /* number of compressed bytes read from the file */
    int eof;        /* 1: the end of the file was reached */
    int between;    /* 1: a member or frame is complete and the next one has not begun */
    int gzip_ready; /* 1: inflateInit2 succeeded */
    z_stream gzip;
    ZSTD_DStream *zstd; /* decompressor of .zst files, owned; NULL for other files */
};

static const char *codec_name(aoei_codec codec) {
    return codec == AOEI_CODEC_GZIP ? "gzip" : "zstd";
}

static int has_suffix(const char *s, const char *suffix) {
    size_t n = strlen(s), k = strlen(suffix);
    return n > k && strcasecmp(s + n - k, suffix) == 0;
}

static void *zlib_alloc(void *opaque, unsigned count, unsigned size) {
    (void)opaque;
    return aoei_malloc_array(count, size);
}

static void zlib_free(void *opaque, void *p) {
    (void)opaque;
    aoei_free(p);
}

/* Reads up to `capacity` bytes from the file without decompressing them. *got is set to the number of bytes read. If
 * the file is a pipe or a terminal, the bytes that are available are returned without waiting for more. */
static int read_file(aoei_stream *s, char *out, size_t capacity, size_t *got, aoe_error *err) {
    const int fd = fileno(s->file); /* -1: a stream in memory */
    ssize_t n;
    do {
        errno = 0;
        n = fd >= 0 ? read(fd, out, capacity) : (ssize_t)fread(out, 1, capacity, s->file);
    } while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    if (n < 0 || (fd < 0 && ferror(s->file)))
        return aoei_fail_errno(err, errno, "%s: cannot read at byte %" PRIu64, s->name, s->read + *got);
    s->read += *got;
    return 0;
}

/* Checks that a compressed file begins with the signature of its format. A browser may have decompressed a file without
 * changing its name. */
static int check_signature(const aoei_stream *s, aoe_error *err) {
    static const char gzip[] = "\x1f\x8b", zstd[] = "\x28\xb5\x2f\xfd";
    const int is_gzip = s->codec == AOEI_CODEC_GZIP;
    const size_t n = is_gzip ? sizeof gzip - 1 : sizeof zstd - 1;
    const int skippable = !is_gzip && s->in_len >= 4 && ((unsigned char)s->in[0] & 0xf0) == 0x50 &&
                          memcmp(s->in + 1, "\x2a\x4d\x18", 3) == 0; /* a zstd file may begin with a skippable frame */
    if (s->in_len < n || skippable || memcmp(s->in, is_gzip ? gzip : zstd, n) == 0)
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the file is not compressed with %s, although its name ends in %s; remove this extension, or compress "
        "the file",
        s->name, codec_name(s->codec), is_gzip ? ".gz" : ".zst");
}

/* Reads the next block of compressed bytes into s->in. */
static int fill(aoei_stream *s, aoe_error *err) {
    s->in_pos = 0;
    int rc = read_file(s, s->in, IN_SIZE, &s->in_len, err);
    if (rc) {
        s->in_len = 0;
        return rc;
    }
    s->eof = s->in_len == 0;
    return s->read == s->in_len ? check_signature(s, err) : 0;
}

/* Returns the byte offset in the compressed file at which decompression continues. */
static uint64_t offset_of(const aoei_stream *s) {
    return s->read - (s->in_len - s->in_pos);
}

static int fail_truncated(const aoei_stream *s, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: the %s data are incomplete: the file ends at byte %" PRIu64 "; copy or download it again",
                     s->name, codec_name(s->codec), offset_of(s));
}

static int fail_corrupt(const aoei_stream *s, const char *reason, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: corrupt %s data near byte %" PRIu64 " (%s); copy or download the file again", s->name,
                     codec_name(s->codec), offset_of(s), reason);
}

/* Decompresses up to `capacity` bytes of a gzip file into out. *got is set to the number of bytes. */
static int read_gzip(aoei_stream *s, char *out, size_t capacity, size_t *got, aoe_error *err) {
    uInt want = capacity < UINT_MAX ? (uInt)capacity : UINT_MAX;
    z_stream *z = &s->gzip;
    for (;;) {
        int rc = s->in_pos == s->in_len && !s->eof ? fill(s, err) : 0;
        if (rc)
            return rc;
        if (s->between) {
            if (s->eof)
                return 0;
            if (inflateReset(z) != Z_OK)
                return fail_corrupt(s, "bad state", err);
            s->between = 0;
        }
        z->next_in = (Bytef *)(s->in + s->in_pos);
        z->avail_in = (uInt)(s->in_len - s->in_pos);
        z->next_out = (Bytef *)out;
        z->avail_out = want;
        int result = inflate(z, Z_NO_FLUSH);
        s->in_pos = s->in_len - z->avail_in;
        *got = want - z->avail_out;
        s->between = result == Z_STREAM_END;
        if (result == Z_MEM_ERROR)
            return aoei_fail_nomem(err, IN_SIZE);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return fail_corrupt(s, z->msg ? z->msg : "invalid data", err);
        if (*got)
            return 0;
        if (s->eof && !s->between)
            return fail_truncated(s, err);
    }
}

/* Decompresses up to `capacity` bytes of a zstd file into out. *got is set to the number of bytes. */
static int read_zstd(aoei_stream *s, char *out, size_t capacity, size_t *got, aoe_error *err) {
    for (;;) {
        int rc = s->in_pos == s->in_len && !s->eof ? fill(s, err) : 0;
        if (rc)
            return rc;
        if (s->between && s->eof)
            return 0;
        ZSTD_inBuffer in = {s->in, s->in_len, s->in_pos};
        ZSTD_outBuffer to = {out, capacity, 0};
        size_t result = ZSTD_decompressStream(s->zstd, &to, &in);
        s->in_pos = in.pos;
        *got = to.pos;
        if (ZSTD_isError(result))
            return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation
                       ? aoei_fail_nomem(err, IN_SIZE)
                       : fail_corrupt(s, ZSTD_getErrorName(result), err);
        s->between = result == 0;
        if (*got)
            return 0;
        if (s->eof && !s->between)
            return fail_truncated(s, err);
    }
}

aoei_codec aoei_codec_of(const char *path) {
    if (has_suffix(path, ".gz"))
        return AOEI_CODEC_GZIP;
    return has_suffix(path, ".zst") ? AOEI_CODEC_ZSTD : AOEI_CODEC_PLAIN;
}

int aoei_stream_attach(aoei_stream **out, FILE *file, const char *name, aoei_codec codec, aoe_error *err) {
    *out = NULL;
    aoei_stream *s = aoei_calloc(1, sizeof *s);
    if (!s) {
        aoei_fail_nomem(err, sizeof *s);
        return AOE_ENOMEM;
    }
    s->file = file;
    s->codec = codec;
    s->name = aoei_strdup(name);
    if (!s->name)
        goto fail;
    if (codec != AOEI_CODEC_PLAIN && !(s->in = aoei_malloc(IN_SIZE)))
        goto fail;
    if (codec == AOEI_CODEC_GZIP) {
        s->gzip.zalloc = zlib_alloc;
        s->gzip.zfree = zlib_free;
        if (inflateInit2(&s->gzip, 15 + 16) != Z_OK) /* 15 permits the largest window, and adding 16 requires a gzip
                                                        header */
            goto fail;
        s->gzip_ready = 1;
    }
    if (codec == AOEI_CODEC_ZSTD && !(s->zstd = ZSTD_createDStream()))
        goto fail;
    *out = s;
    return 0;
fail:
    aoei_stream_close(s);
    aoei_fail_nomem(err, IN_SIZE);
    return AOE_ENOMEM;
}

/* Reads an open file, which the stream then owns, also if this function fails. */
static int take_file(aoei_stream **out, FILE *file, const char *path, aoe_error *err) {
    struct stat st;
    int rc = 0;
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode))
        rc = aoei_fail(err, AOE_EIO, "%s: this is a directory; give the path of a file", path);
    if (!rc)
        rc = aoei_stream_attach(out, file, path, aoei_codec_of(path), err);
    if (rc)
        fclose(file);
    else
        (*out)->owns_file = 1;
    return rc;
}

int aoei_stream_open(aoei_stream **out, const char *path, aoe_error *err) {
    *out = NULL;
    if (strcmp(path, "-") == 0)
        return aoei_stream_attach(out, stdin, "stdin", AOEI_CODEC_PLAIN, err);
    FILE *file = fopen(path, "rb");
    if (!file && (errno == ENOENT || errno == ENOTDIR))
        return aoei_fail(err, AOE_ENOENT, "%s: no such file; check the path", path);
    if (!file)
        return aoei_fail_errno(err, errno, "%s: cannot open", path);
    return take_file(out, file, path, err);
}

int aoei_stream_open_fd(aoei_stream **out, int fd, const char *path, aoe_error *err) {
    *out = NULL;
    FILE *file = fdopen(fd, "rb");
    if (file)
        return take_file(out, file, path, err);
    const int errnum = errno;
    (void)close(fd);
    return aoei_fail_errno(err, errnum, "%s: cannot open", path);
}

void aoei_stream_close(aoei_stream *s) {
    if (!s)
        return;
    if (s->gzip_ready)
        inflateEnd(&s->gzip);
    ZSTD_freeDStream(s->zstd);
    if (s->owns_file)
        fclose(s->file);
    aoei_free(s->in);
    aoei_free(s->name);
    aoei_free(s);
}

const char *aoei_stream_name(const aoei_stream *s) {
    return s->name;
}

int aoei_stream_read(aoei_stream *s, char *out, size_t capacity, size_t *got, aoe_error *err) {
    *got = 0;
    switch (s->codec) {
    case AOEI_CODEC_GZIP:
        return read_gzip(s, out, capacity, got, err);
    case AOEI_CODEC_ZSTD:
        return read_zstd(s, out, capacity, got, err);
    case AOEI_CODEC_PLAIN:
        break;
    }
    return read_file(s, out, capacity, got, err);
}
