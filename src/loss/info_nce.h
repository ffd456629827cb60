/* SPDX-License-Identifier: MIT
 * The contrastive objective of queries with candidates: the cross entropy of a
 * softmax over all candidates, in which query i belongs to candidate i. One
 * direction: queries are anchors, candidates are not. Matrices lie in panels
 * (kernels.h); scores exist a strip of whole query rows at a time, in a fixed storage.
 */
#ifndef AOEI_LOSS_INFO_NCE_H
#define AOEI_LOSS_INFO_NCE_H

#include <stddef.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_info_nce {
    const aoe_context *ctx;    /* borrowed: threads and kernels; set by the caller, as is */
    double tau;                /* the temperature */
    double hard;               /* with more than B candidates: added to the score of query i with candidate B + i */
    aoei_unit_rows queries;    /* [B, D] set by the caller */
    aoei_unit_rows candidates; /* [M, D], M >= B, set by the caller */
    double *row_loss;          /* [B] */

    double *score;     /* [score_size] cosines of the strip at hand in panels, turned into d loss / d cosine */
    size_t score_size; /* doubles */

    size_t M;          /* candidates in use */
    double scale;      /* of the gradient: weight / (B tau); 0: values only */
    size_t from, rows; /* queries of the strip at hand */
} aoei_info_nce;

/* Takes the memory of B queries and M candidates of size D from the arena, which may be a measuring one; more for larger ones.
 */
void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t D);
/* Returns the loss with the first M candidates, B <= M <= those there are; with_grad: adds weight times its gradient to dz of
 * queries and candidates. */
double aoei_info_nce_loss(aoei_info_nce *c, size_t M, double weight, int with_grad);

#endif
