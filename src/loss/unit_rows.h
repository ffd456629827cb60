/* SPDX-License-Identifier: MIT
 * Unit vectors: vectors v divided by their norms, and the gradient of v computed from the gradient of its unit vector.
 * The unit vectors are the rows of a matrix z and the columns of its transpose zt. Both matrices are stored in panels
 * of AOEI_PANEL_F64 adjacent columns (kernels/kernels.h), for matmuls. A zero vector remains zero and has the gradient
 * 0.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"

typedef struct aoei_unit_rows {
    size_t N;   /* number of rows */
    size_t D;   /* components per row */
    double *z;  /* [N, D] unit vectors, in panels */
    double *zt; /* [D, N] transpose of z, in panels */
    double *dz; /* [N, D] gradient of the loss with respect to z, in panels; aoei_unit_rows_set sets a row to 0, and the
                   loss functions add gradients to it */
    double *inv_norm; /* [N] for each row, 1 / |v|, where v is the vector before normalization; 0 if v is a zero
                         vector */
} aoei_unit_rows;

/* Allocates the memory for N rows of D components in the arena. If the arena is a measuring arena (base/arena.h), only
 * the size is computed. The size does not decrease if N or D increases. */
void aoei_unit_rows_lay_out(aoei_unit_rows *r, aoei_arena *a, size_t N, size_t D);
/* Sets row u of z and column u of zt to v[D] / |v|, and row u of dz to 0. Different rows may be set in parallel. */
void aoei_unit_rows_set(aoei_unit_rows *r, size_t u, const double *v);
/* Adds `scale` times the gradient of the loss with respect to v to g[D], where v is the vector that was passed to
 * aoei_unit_rows_set for row u. */
void aoei_unit_rows_grad(const aoei_unit_rows *r, size_t u, double scale, double *g);
