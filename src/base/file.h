/* SPDX-License-Identifier: MIT
 * Reads whole files into memory, and maps files read-only.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* A file mapped read-only. A zeroed struct means that no file is mapped. */
typedef struct aoei_map {
    const unsigned char *data; /* [size] contents of the file; NULL if size is 0 */
    size_t size;               /* bytes */
    void *handle;              /* private: owned copy of a file that cannot be mapped, such as a pipe; otherwise NULL */
} aoei_map;

/* Maps a file. Errors: AOE_ENOENT, AOE_EIO, AOE_ENOMEM; AOE_EARG for a directory. The caller calls aoei_map_close. */
int aoei_map_open(aoei_map *m, const char *path, aoe_error *err);
/* Like aoei_map_open, but accepts only a regular file, or a symbolic link to one. Returns AOE_EFORMAT for a pipe or a
 * device without waiting for it. This is for files that a directory names, such as those of a model. */
int aoei_map_regular(aoei_map *m, const char *path, aoe_error *err);
/* Releases the physical memory of the mapped pages; the next access loads them from the file again. */
void aoei_map_drop(const aoei_map *m);
/* Unmaps the file. Accepts a zeroed map. */
void aoei_map_close(aoei_map *m);

/* Reads a whole file into *data and sets *size to its size in bytes. The byte after the last one, (*data)[*size], is
 * NUL. The caller frees *data with aoei_free. Returns AOE_EFORMAT if the file is larger than max_bytes; max_bytes 0
 * means no limit. */
int aoei_read_file(char **data, size_t *size, const char *path, size_t max_bytes, aoe_error *err);
/* Like aoei_read_file, but accepts only what aoei_map_regular accepts. */
int aoei_read_regular(char **data, size_t *size, const char *path, size_t max_bytes, aoe_error *err);
