/* SPDX-License-Identifier: MIT
 * Reads bytes from a plain file, a .gz or .zst file, or standard input. Compressed files are decompressed block by
 * block, so the memory use does not depend on the file size.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "aoe.h"

typedef enum aoei_codec { AOEI_CODEC_PLAIN, AOEI_CODEC_GZIP, AOEI_CODEC_ZSTD } aoei_codec;

typedef struct aoei_stream aoei_stream;

aoei_codec aoei_codec_of(const char *path); /* the extension determines the codec: .gz, .zst, or uncompressed for any
                                               other */

/* Opens a file. path: file name, or "-" for standard input, which must be uncompressed. Errors: AOE_ENOENT; AOE_EIO,
 * also if path is a directory; AOE_ENOMEM. */
int aoei_stream_open(aoei_stream **s, const char *path, aoe_error *err);
/* Reads the open file `fd`, whose path is `path`. The stream takes ownership of fd, also if this function fails.
 * Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_stream_open_fd(aoei_stream **s, int fd, const char *path, aoe_error *err);
/* Creates a stream that reads from an open file. The caller closes the file after the stream. name: file name for
 * messages; it is copied. */
int aoei_stream_attach(aoei_stream **s, FILE *file, const char *name, aoei_codec codec, aoe_error *err);
void aoei_stream_close(aoei_stream *s);             /* accepts NULL */
const char *aoei_stream_name(const aoei_stream *s); /* the path, or "stdin"; owned by s */

/* Reads up to `capacity` decompressed bytes into out; `capacity` must be positive. *got is set to the number of bytes
 * read. It is 0 only at the end of the file. Errors: AOE_EFORMAT if the compressed data are truncated or corrupt (the
 * message contains the byte offset in the compressed file), AOE_EIO, AOE_ENOMEM. */
int aoei_stream_read(aoei_stream *s, char *out, size_t capacity, size_t *got, aoe_error *err);
