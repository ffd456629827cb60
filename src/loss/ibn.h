/* SPDX-License-Identifier: MIT
 * In-batch negatives (equation 2) over the N = 2B unit vectors of a batch, in
 * the order x0 y0 x1 y1 ...: each row is an anchor, every other row a
 * candidate. Matrices are stored in panels (kernels.h). The [N, N] matrix of scores is
 * symmetric: only the blocks on and below the diagonal are computed, in strips of columns that
 * fit in a buffer of limited size.
 */
#ifndef AOEI_LOSS_IBN_H
#define AOEI_LOSS_IBN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_ibn {
    const aoe_context *ctx; /* borrowed: threads and kernels */
    size_t N;               /* rows, 2B */
    size_t blocks;          /* blocks of rows, and of columns, of the scores */
    double tau;             /* temperature */
    const double *label;    /* [B] */
    double threshold;       /* pairs with label >= threshold are positive */
    const uint32_t *group;  /* [N] equal numbers mark identical texts; NULL: all texts differ */

    aoei_unit_rows rows;    /* [N, D] set by the caller, once before each aoei_ibn_loss */
    double *targets;        /* [N] sum of the targets of a row */
    double *weight;         /* [N] targets / (N tau) */
    double *max, *sum;      /* [N] largest score of a row, sum of exp(score - max) */
    double *log_sum;        /* [N] log of the sum of exp(score) of a row; infinity without targets */
    double *row_loss;       /* [N] minus the sum of the target scores of a row */
    size_t *member;         /* [N] rows by group, then by index; unused without groups */
    size_t *begin, *end;    /* [N] a row's group is member[begin] .. member[end - 1] */
    unsigned char *anchors; /* [blocks] 1 if a row of the block has a target */

    double *score;               /* [score_size] blocks of the current strip: cosines, in the second sweep weights */
    size_t score_size;           /* doubles */
    size_t strip_from, strip_to; /* columns of the strip, in blocks */
} aoei_ibn;

/* Takes the memory of N rows of size D from the arena, which may be a measuring arena. A larger N or D never needs less. */
void aoei_ibn_lay_out(aoei_ibn *b, aoei_arena *a, size_t N, size_t D);
/* Returns the loss, the mean over all N rows, which must be set. with_grad: adds the gradient to dz of the rows. */
double aoei_ibn_loss(aoei_ibn *b, int with_grad);

#endif
