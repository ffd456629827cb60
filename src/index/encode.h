/* SPDX-License-Identifier: MIT
 * Rows of the vector files from embeddings: unit length, then values, int8 codes and signs. Codes and signs are those
 * of the stored values, which are rounded if the index stores bfloat16.
 */
#pragma once

#include "aoe_index.h"

/* Sets out[D] to x[D], scaled to unit length, so that dot products are cosines; a zero vector stays zero. out may be x.
 * Returns D, or the number of the first component that is not finite. */
size_t aoei_scale_to_unit(float *out, const float *x, size_t D);

/* Rows that have not been written yet. A zeroed struct is empty. */
typedef struct aoei_rows {
    unsigned char *file[3]; /* [capacity, stride] rows of the files of codes, signs and values; owned. file[2] is NULL
                               if the index stores only codes */
    size_t stride[3];       /* bytes of a row; 0 for a missing file */
    size_t capacity;        /* rows for which memory is allocated */
    float *vector;          /* [D] buffer, owned */
    size_t dims;            /* D */
    aoe_index_store store;
} aoei_rows;

/* Allocates memory for n rows, and keeps the rows so far. dims and store are those of the index. */
int aoei_rows_reserve(aoei_rows *r, size_t n, size_t dims, aoe_index_store store, aoe_error *err);
void aoei_rows_free(aoei_rows *r);
/* Sets row i from the vector x[D], which is scaled to unit length; a zero vector stays zero. Errors: AOE_ENUMERIC (a
 * component is not finite). */
int aoei_rows_encode(aoei_rows *r, size_t i, const float *x, aoe_error *err);
/* Copies row `from` to row `to`. */
void aoei_rows_copy(aoei_rows *r, size_t to, size_t from);
