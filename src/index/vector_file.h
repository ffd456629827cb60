/* SPDX-License-Identifier: MIT
 * A file of vectors: a header of 64 bytes, and then rows of the same size. Files are append-only. A row counts only if
 * the database names it: rows after the last committed row are ignored, and the next writer removes them.
 *
 * Header, in the byte order of the machine (a file with another byte order is rejected):
 *     0  magic "aoevecs1"        8  format version        12  byte order mark 0x01020304
 *    16  type of the rows       20  dims                  24  bytes of a row
 *    32  generation             40  id of the index       48  0 (12 bytes)
 *    60  CRC-32 of bytes 0 to 59
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"

enum { AOEI_VECTORS_HEADER = 64 /* bytes of the header */ };

typedef enum aoei_vector_type {
    AOEI_VECTORS_CODES = 1, /* int8 codes, see vectors/codes.h */
    AOEI_VECTORS_SIGNS = 2, /* signs, see vectors/codes.h */
    AOEI_VECTORS_F32 = 3,   /* float32 components */
    AOEI_VECTORS_BF16 = 4   /* bfloat16 components */
} aoei_vector_type;

/* Contents of the header of a file. */
typedef struct aoei_vector_header {
    aoei_vector_type type;
    size_t dims;         /* D */
    size_t stride;       /* bytes of a row */
    uint64_t generation; /* number of the compaction that created the file, counted from 1 */
    uint64_t index_id;   /* id of the index, as in the database */
} aoei_vector_header;

/* Rows that are mapped for reading. A zeroed struct is empty. */
typedef struct aoei_vectors {
    const unsigned char *rows; /* [n, stride]; NULL if n is 0 or nothing is mapped */
    size_t n;                  /* number of mapped rows */
    size_t stride;             /* bytes of a row */
    void *map;                 /* private: start of the mapping */
    size_t map_bytes;
} aoei_vectors;

/* A file that is open for appending. A zeroed struct is not open. */
typedef struct aoei_vector_file {
    char *path; /* owned; NULL: not open */
    int fd;
    size_t stride; /* bytes of a row */
} aoei_vector_file;

/* Returns the number of bytes of a row. */
size_t aoei_vector_stride(aoei_vector_type type, size_t dims);
/* Returns the path of a file, which the caller frees with aoei_free; NULL if out of memory. */
char *aoei_vector_path(const char *dir, aoei_vector_type type, uint64_t generation);

/* Maps the first n rows of a file. Errors: AOE_ENOENT, AOE_EFORMAT (the header differs from *h or is damaged, or there
 * are fewer than n rows), AOE_EUNSUPPORTED (newer version, other byte order), AOE_EIO, AOE_ENOMEM. The caller calls
 * aoei_vectors_close. */
int aoei_vectors_map(aoei_vectors *s, const char *path, const aoei_vector_header *h, size_t n, aoe_error *err);
void aoei_vectors_close(aoei_vectors *s);

/* Creates a file with a header. A file or link of this name is removed first. */
int aoei_vector_file_create(aoei_vector_file *f, const char *path, const aoei_vector_header *h, aoe_error *err);
/* Opens a file with at least n rows, and removes the rows after row n. Errors: see aoei_vectors_map. */
int aoei_vector_file_open(aoei_vector_file *f, const char *path, const aoei_vector_header *h, size_t n, aoe_error *err);
/* Writes `count` rows from row `first` on. */
int aoei_vector_file_write(const aoei_vector_file *f, size_t first, const void *rows, size_t count, aoe_error *err);
/* Reads `count` rows from row `first` on. Errors: AOE_EFORMAT (the file ends before). */
int aoei_vector_file_read(const aoei_vector_file *f, size_t first, void *rows, size_t count, aoe_error *err);
/* Waits until all rows are on the disk. */
int aoei_vector_file_sync(const aoei_vector_file *f, aoe_error *err);
/* Removes the rows after row n. */
int aoei_vector_file_truncate(const aoei_vector_file *f, size_t n, aoe_error *err);
void aoei_vector_file_close(aoei_vector_file *f); /* accepts a zeroed struct */
