/* SPDX-License-Identifier: MIT
 * The loss of in-batch negatives (equation 2 of the AnglE paper; docs/objectives.md) over the N = 2B unit vectors of a batch,
 * in the order x0 y0 x1 y1 ... Each row is an anchor, and every other row is a candidate for it.
 *
 * Matrices are stored in panels of AOEI_PANEL_F64 adjacent columns (kernels/kernels.h). The [N, N] matrix of scores is
 * symmetric, so only the blocks on and below the diagonal are computed. Its columns are processed in strips that fit in a
 * buffer of limited size.
 */
#ifndef AOEI_LOSS_IBN_H
#define AOEI_LOSS_IBN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_ibn {
    const aoe_context *ctx; /* threads and kernels; borrowed */
    size_t N;               /* number of rows, 2B */
    size_t blocks;          /* number of row blocks of the score matrix; equals its number of column blocks */
    double tau;             /* temperature (divisor of the cosines) */
    const double *label;    /* [B] labels of the pairs; borrowed */
    double threshold;       /* pairs with label >= threshold are positive pairs */
    const uint32_t *group;  /* [N] id of the text of each row; equal texts have equal ids; NULL: all texts differ; borrowed */

    aoei_unit_rows rows;    /* [N, D] unit vectors; the caller sets all rows before each aoei_ibn_loss */
    double *targets;        /* [N] sum of the targets T_uv of each row u */
    double *weight;         /* [N] targets[u] / (N tau) */
    double *max, *sum;      /* [N] largest score of each row, and sum of exp(score - max) over the row */
    double *log_sum;        /* [N] log of the sum of exp(score) over each row; infinity for a row without targets */
    double *row_loss;       /* [N] negative sum of T_uv S_uv over each row u */
    size_t *member;         /* [N] row indices sorted by group, then by index; unused if group is NULL */
    size_t *begin, *end;    /* [N] the rows with the text of row u are member[begin[u]] .. member[end[u] - 1] */
    unsigned char *anchors; /* [blocks] 1 if at least one row of the block has a target, otherwise 0 */

    double *score;     /* [score_size] blocks of the current strip: cosines in the first pass, gradient weights in the second */
    size_t score_size; /* number of doubles in `score` */
    size_t strip_from, strip_to; /* first column block of the current strip, and the block after its last one */
} aoei_ibn;

/* Takes the memory for N rows of D components from the arena. A measuring arena only computes the size. The size never
 * decreases when N or D grows. The caller then sets ctx, tau, label, threshold and group. */
void aoei_ibn_lay_out(aoei_ibn *b, aoei_arena *a, size_t N, size_t D);
/* Returns the loss, which is the mean over all N rows. All rows must have been set. If with_grad is 1, adds the gradient to
 * rows.dz. */
double aoei_ibn_loss(aoei_ibn *b, int with_grad);

#endif
