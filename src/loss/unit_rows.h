/* SPDX-License-Identifier: MIT
 * Vectors normalized to unit length, and the gradient of a vector from the gradient of its unit vector. The unit vectors are
 * stored as the rows of a matrix z and as the columns of its transpose zt. Both matrices are in panels of AOEI_PANEL_F64
 * adjacent columns (kernels/kernels.h), for matmuls. A zero vector stays zero and receives no gradient.
 */
#ifndef AOEI_LOSS_UNIT_ROWS_H
#define AOEI_LOSS_UNIT_ROWS_H

#include <stddef.h>

#include "base/arena.h"

typedef struct aoei_unit_rows {
    size_t N;         /* number of rows */
    size_t D;         /* components per row */
    double *z;        /* [N, D] unit vectors, in panels */
    double *zt;       /* [D, N] unit vectors, transposed, in panels */
    double *dz;       /* [N, D] d loss / d z, in panels; aoei_unit_rows_set sets a row to 0, then gradients are added to it */
    double *inv_norm; /* [N] 1 / norm of each row before normalization; 0 for a zero row */
} aoei_unit_rows;

/* Takes the memory for N rows of D components from the arena. A measuring arena only computes the size. The size never
 * decreases when N or D grows. */
void aoei_unit_rows_lay_out(aoei_unit_rows *r, aoei_arena *a, size_t N, size_t D);
/* Sets row u of z and of zt to v / |v|, and row u of dz to 0. v: [D]. Different rows may be set in parallel. */
void aoei_unit_rows_set(aoei_unit_rows *r, size_t u, const double *v);
/* Adds scale * d loss / d v to g[D], where v is the vector passed to aoei_unit_rows_set for row u. */
void aoei_unit_rows_grad(const aoei_unit_rows *r, size_t u, double scale, double *g);

#endif
