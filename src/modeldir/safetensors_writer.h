/* SPDX-License-Identifier: MIT
 * Writes a safetensors file atomically.
 */
#ifndef AOEI_MODELDIR_SAFETENSORS_WRITER_H
#define AOEI_MODELDIR_SAFETENSORS_WRITER_H

#include "modeldir/safetensors.h"

/* Description of a tensor. Usage: open with one entry per tensor, write the data in the order of the entries, commit. The file
 * appears at `path` only on commit. */
typedef struct aoei_st_entry {
    const char *name; /* borrowed until open returns */
    aoei_st_dtype dtype;
    size_t n_dims;
    size_t shape[AOEI_ST_MAX_DIMS];
} aoei_st_entry;

typedef struct aoei_st_writer aoei_st_writer;
int aoei_st_writer_open(aoei_st_writer **w, const char *path, const aoei_st_entry *entries, size_t n, aoe_error *err);
int aoei_st_writer_write(aoei_st_writer *w, const void *data, size_t bytes, aoe_error *err); /* pieces of any size */
int aoei_st_writer_commit(aoei_st_writer *w, aoe_error *err); /* closes w; fails if data is missing */
void aoei_st_writer_abort(aoei_st_writer *w);                 /* accepts NULL */

#endif
