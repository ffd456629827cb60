/* SPDX-License-Identifier: MIT
 * Writes a safetensors file atomically.
 */
#ifndef AOEI_MODELDIR_SAFETENSORS_WRITER_H
#define AOEI_MODELDIR_SAFETENSORS_WRITER_H

#include "modeldir/safetensors.h"

/* Describes a tensor. To write a file, call aoei_st_writer_open with one entry per tensor, aoei_st_writer_write with the
 * data in the order of the entries, and aoei_st_writer_commit. An existing file at `path` is replaced only by
 * aoei_st_writer_commit. */
typedef struct aoei_st_entry {
    const char *name; /* borrowed until aoei_st_writer_open returns */
    aoei_st_dtype dtype;
    size_t n_dims;
    size_t shape[AOEI_ST_MAX_DIMS];
} aoei_st_entry;

typedef struct aoei_st_writer aoei_st_writer;
int aoei_st_writer_open(aoei_st_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_error *err);
/* Writes the next bytes of the data; a piece may be part of a tensor or contain several tensors. */
int aoei_st_writer_write(aoei_st_writer *w, const void *data, size_t bytes, aoe_error *err);
/* Completes the file and frees w, also on failure. Fails with AOE_EARG if data is missing. */
int aoei_st_writer_commit(aoei_st_writer *w, aoe_error *err);
/* Removes the incomplete file and frees w. Accepts NULL. */
void aoei_st_writer_abort(aoei_st_writer *w);

#endif
