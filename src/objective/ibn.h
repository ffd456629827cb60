/* SPDX-License-Identifier: MIT
 * In-batch negatives (equation 2) over the N = 2B unit vectors of a batch, in
 * the order x0 y0 x1 y1 ...: each row is an anchor, every other row a
 * candidate. Vectors lie in panels of four rows, [D][4], so that plain C
 * loops vectorise; the number of rows is rounded up and the rest is zero.
 */
#ifndef AOEI_OBJECTIVE_IBN_H
#define AOEI_OBJECTIVE_IBN_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

enum {
    AOEI_IBN_PANEL = 4,       /* rows of a panel */
    AOEI_IBN_KEEP_ROWS = 1024 /* up to this many rows the scores are kept between the passes: [N, N] doubles, 8 MB */
};

typedef struct aoei_ibn {
    size_t N;      /* rows, 2B */
    size_t panels; /* ceil(N / 4) */
    size_t D;
    double tau;            /* temperature */
    const double *label;   /* [B] */
    double threshold;      /* pairs with label >= threshold are positive */
    const uint32_t *group; /* [N] equal numbers are equal texts, or NULL: all differ */
    double *z;             /* [panels, D, 4] unit vectors, zero beyond N */
    double *inv_norm;      /* [N] 1 / norm of the row before it was scaled; 0 for a zero row */
    double *dz;            /* [panels, D, 4] d loss / d z, written when the gradient is asked for */
    double *score;         /* [4 panels, 4 panels] or NULL (recomputed in the second pass) */
    double *targets;       /* [4 panels] sum of a row's targets */
    double *log_sum;       /* [4 panels] log of the sum of exp(score) of a row */
    double *row_loss;      /* [4 panels] */
} aoei_ibn;

/* Zeroes the rows from N on; call before the rows are set. */
void aoei_ibn_clear_tail(aoei_ibn *b);
/* Row u of z = v / |v|. v: [D]. */
void aoei_ibn_set_row(aoei_ibn *b, size_t u, const double *v);
/* Returns the loss, the mean over all N rows; with_grad: fills dz. */
double aoei_ibn_loss(aoei_ibn *b, int with_grad, aoei_pool *pool);
/* g[D] += scale * d loss / d v of row u, through the norm. */
void aoei_ibn_row_grad(const aoei_ibn *b, size_t u, double scale, double *g);

#endif
