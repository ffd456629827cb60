/* SPDX-License-Identifier: MIT
 * Vectors normalized to unit length, stored in panels (kernels.h) and transposed panels for
 * matmuls, and the gradient of a vector from that of its unit vector. A zero vector stays zero
 * and receives no gradient.
 */
#ifndef AOEI_LOSS_UNIT_ROWS_H
#define AOEI_LOSS_UNIT_ROWS_H

#include <stddef.h>

#include "base/arena.h"

typedef struct aoei_unit_rows {
    size_t N; /* rows */
    size_t D;
    double *z;        /* [N, D] in panels: unit vectors */
    double *zt;       /* [D, N] in panels: unit vectors, transposed */
    double *dz;       /* [N, D] in panels: d loss / d z; set to 0 by aoei_unit_rows_set, then accumulated */
    double *inv_norm; /* [N] 1 / norm of the row before normalization; 0 for a zero row */
} aoei_unit_rows;

/* Takes the memory of N rows of size D from the arena, which may be a measuring arena. A larger N or D never needs less. */
void aoei_unit_rows_lay_out(aoei_unit_rows *r, aoei_arena *a, size_t N, size_t D);
/* Sets row u of z and zt to v / |v| and row u of dz to 0. v: [D]. Different rows may be set in parallel. */
void aoei_unit_rows_set(aoei_unit_rows *r, size_t u, const double *v);
/* g[D] += scale * d loss / d v of row u, through the norm. */
void aoei_unit_rows_grad(const aoei_unit_rows *r, size_t u, double scale, double *g);

#endif
