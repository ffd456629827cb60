/* SPDX-License-Identifier: MIT
 * Vectors scaled to unit length, in panels (kernels.h) both ways round for the
 * products of the objectives, and the way back: the gradient of a vector from
 * that of its unit vector. A zero vector stays zero and takes no gradient.
 */
#ifndef AOEI_LOSS_UNIT_ROWS_H
#define AOEI_LOSS_UNIT_ROWS_H

#include <stddef.h>

#include "base/arena.h"

typedef struct aoei_unit_rows {
    size_t N; /* rows */
    size_t D;
    double *z;        /* [N, D] in panels: unit vectors */
    double *zt;       /* [D, N] in panels: the same, transposed */
    double *dz;       /* [N, D] in panels: d loss / d z; 0 from aoei_unit_rows_set on, then added to */
    double *inv_norm; /* [N] 1 / norm of the row before it was scaled; 0 for a zero row */
} aoei_unit_rows;

/* Takes the memory of N rows of size D from the arena, which may be a measuring one; more for a larger N or D. */
void aoei_unit_rows_lay_out(aoei_unit_rows *r, aoei_arena *a, size_t N, size_t D);
/* Row u of z and zt = v / |v|, of dz = 0. v: [D]. Rows may be set by several threads. */
void aoei_unit_rows_set(aoei_unit_rows *r, size_t u, const double *v);
/* g[D] += scale * d loss / d v of row u, through the norm. */
void aoei_unit_rows_grad(const aoei_unit_rows *r, size_t u, double scale, double *g);

#endif
