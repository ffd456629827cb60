/* SPDX-License-Identifier: MIT
 * What a reader sees of an index: the vectors of one commit. A view never changes. The searches of an index share one
 * view until there is a new commit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"
#include "index/lengths.h"
#include "index/ranges.h"
#include "index/schema.h"
#include "index/vector_file.h"
#include "index/sql.h"

typedef struct aoei_view {
    _Atomic size_t references; /* number of owners */
    uint64_t commits;          /* number of the commit */
    uint64_t generation;       /* generation of the vector files */
    size_t rows;               /* N, rows of the vector files that the commit contains, with removed rows */
    size_t live_rows;          /* number of bits of `live` */
    uint64_t *live;            /* [(N + 63) / 64] bitmap of the rows that belong to a document; owned. Bits after the
                                  last row are 0 */
    size_t dims;               /* D */
    aoe_index_store store;     /* type of the values */
    int damaged;               /* 1: a file contains fewer than N rows, which is possible only if repair was 1 */
    aoei_vectors codes, signs, values; /* mapped files, at least N rows each; values.rows is NULL if the index stores
                                          only codes */
    _Atomic(aoei_lengths *) lengths;   /* see aoei_view_lengths; owned; NULL: not read yet */
    _Atomic(aoei_ranges *) ranges;     /* see aoei_view_ranges; owned; NULL: not read yet */
} aoei_view;

/* Returns a view of the commit that the read transaction of d sees. `last`: the view of an earlier commit, or NULL; if
 * there is no newer commit, it is returned again, with one more reference. repair: 1: a damaged
 * file is mapped as far as possible, instead of an error. The caller calls aoei_view_release. Errors:
 * AOE_EFORMAT, AOE_EIO, AOE_ENOMEM; AOE_ENOENT if a vector file does not exist, which also happens if a compaction has
 * removed it. */
int aoei_view_load(aoei_view **out, aoei_view *last, aoei_db *d, const char *dir, const aoei_index_settings *settings,
                   int repair, aoe_error *err);
/* Adds or removes a reference. The last one frees the view. aoei_view_release accepts NULL. */
aoei_view *aoei_view_keep(aoei_view *v);
void aoei_view_release(aoei_view *v);
/* Set *lengths to the lengths of the passages of the commit, and *ranges to the ranges of its documents, which the view
 * owns. The first call reads them. Several threads may call these functions, each with its own connection in a
 * transaction of this commit. aoei_view_ranges is an aoei_ranges_fn (allowed.h); user: the view. */
int aoei_view_lengths(aoei_view *v, aoei_db *d, const aoei_lengths **lengths, aoe_error *err);
int aoei_view_ranges(void *user, aoei_db *d, const aoei_ranges **ranges, aoe_error *err);
/* Writes the vector of a row to vector[D]: the stored values, or the codes if there are no values. */
void aoei_view_vector(const aoei_view *v, size_t row, float *vector);
/* Sets h[3] to the headers of the files of codes, signs and values. Returns the number of files: 3, or 2 if the index
 * stores only codes. */
size_t aoei_view_headers(aoei_vector_header h[3], const aoei_index_settings *settings, uint64_t generation);
/* Returns 1 if row i belongs to a document. */
static inline int aoei_view_is_live(const aoei_view *v, size_t row) {
    return row < v->rows && (v->live[row / 64] >> (row % 64) & 1);
}
