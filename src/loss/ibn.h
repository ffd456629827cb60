/* SPDX-License-Identifier: MIT
 * The loss of in-batch negatives (equation 2 of the AnglE paper; docs/objectives.md). A batch of B pairs has N = 2B
 * unit vectors, in the order x0 y0 x1 y1 ... They are the rows of a matrix. Each row is an anchor: the loss contains a
 * softmax over the scores of this row with all other rows. The score S_uv of rows u and v is their cosine divided by
 * the temperature; the target T_uv is above 0 if v is a positive of u. ibn.c contains the formulas.
 *
 * Matrices are stored in panels of AOEI_PANEL_F64 adjacent columns (kernels/kernels.h). The [N, N] matrix of scores is
 * symmetric, so only the blocks on and below the diagonal are computed. Its columns are processed in strips that fit in
 * a buffer of limited size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_ibn {
    const aoe_context *ctx; /* threads and kernels; borrowed */
    size_t N;               /* number of rows, 2B */
    size_t blocks;          /* number of block rows of the score matrix, which is also its number of block columns */
    double tau;             /* temperature (divisor of the cosines) */
    const double *label;    /* [B] labels of the pairs; borrowed */
    double threshold;       /* a pair is positive if its label is at least `threshold` */
    /* [N] id of the text of each row; rows with equal texts have equal ids; NULL: all texts differ; borrowed */
    const uint32_t *group;

    aoei_unit_rows rows; /* [N, D] unit vectors; the caller sets all rows before each call of aoei_ibn_loss */
    double *targets;     /* [N] for each row u, the sum of its targets T_uv over v */
    double *weight;      /* [N] targets[u] / (N tau) */
    double *max, *sum;   /* [N] each, for each row: the largest score; the sum of exp(score - max) over its scores */
    double *log_sum;  /* [N] for each row, the log of the sum of exp(score) over its scores; infinity if all targets of
                         the row are 0 */
    double *row_loss; /* [N] for each row u, the negative sum of T_uv S_uv over v */
    size_t *member;   /* [N] row indices, sorted by the id of the text and then by index; unused if group is NULL */
    size_t *begin, *end;    /* [N] the rows that have the text of row u are member[begin[u]] to member[end[u] - 1] */
    unsigned char *anchors; /* [blocks] 1 if at least one row of the block row has a target above 0, otherwise 0 */

    double *score;     /* [score_size] score buffer with the blocks of the current strip: cosines in the first pass,
                          gradient factors in the second pass */
    size_t score_size; /* number of doubles in `score` */
    size_t strip_from, strip_to; /* the current strip consists of block columns [strip_from, strip_to) */
} aoei_ibn;

/* Allocates the memory for N rows of D components in the arena. If the arena is a measuring arena (base/arena.h), only
 * the size is computed. The size does not decrease if N or D increases. After this call, the caller sets ctx, tau,
 * label, threshold and group. */
void aoei_ibn_lay_out(aoei_ibn *b, aoei_arena *a, size_t N, size_t D);
/* Returns the loss, which is the mean over all N rows. The caller must have set all rows of b->rows. If with_grad is 1,
 * adds the gradient to b->rows.dz. */
double aoei_ibn_loss(aoei_ibn *b, int with_grad);
