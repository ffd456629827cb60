/* SPDX-License-Identifier: MIT
 * Writes a safetensors file. An existing file is replaced only after the new file is complete.
 */
#pragma once

#include "modeldir/safetensors.h"

/* Describes a tensor. To write a file, call aoei_st_writer_open with one entry per tensor. Then call
 * aoei_st_writer_write with the data of the tensors, in the order of the entries. Finally, call aoei_st_writer_commit,
 * which also replaces an existing file. */
typedef struct aoei_st_entry {
    const char *name; /* borrowed until aoei_st_writer_open returns */
    aoei_st_dtype dtype;
    size_t n_dims;
    size_t shape[AOEI_ST_MAX_DIMS];
} aoei_st_entry;

typedef struct aoei_st_writer aoei_st_writer;
/* Creates a writer for the file `path` and writes the header. `entries` is borrowed until the function returns. After
 * an error, *w is NULL. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_st_writer_open(aoei_st_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_error *err);
/* Writes the next bytes of the data. The bytes may be part of a tensor, or the data of several tensors. */
int aoei_st_writer_write(aoei_st_writer *w, const void *data, size_t bytes, aoe_error *err);
/* Completes the file and frees w, even if the function fails. Errors: AOE_EARG if not all data has been written;
 * AOE_EIO. */
int aoei_st_writer_commit(aoei_st_writer *w, aoe_error *err);
/* Removes the incomplete file and frees w. Accepts NULL. */
void aoei_st_writer_abort(aoei_st_writer *w);
