/* SPDX-License-Identifier: MIT
 * InfoNCE (MultipleNegativesRankingLoss in sentence-transformers): the cross entropy of a
 * softmax over all candidates, where candidate i is the target of query i. Only queries are
 * anchors. Matrices are stored in panels (kernels.h); scores are computed for a strip of query
 * rows at a time, in a buffer of limited size.
 */
#ifndef AOEI_LOSS_INFO_NCE_H
#define AOEI_LOSS_INFO_NCE_H

#include <stddef.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_info_nce {
    const aoe_context *ctx;    /* borrowed; threads and kernels; set by the caller */
    double tau;                /* temperature; set by the caller */
    double hard;               /* added to the score of query i with candidate B + i, if it exists; set by the caller */
    aoei_unit_rows queries;    /* [B, D] set by the caller */
    aoei_unit_rows candidates; /* [M, D], M >= B, set by the caller */
    double *row_loss;          /* [B] */

    double *score;     /* [score_size] cosines of the current strip in panels, then d loss / d cosine */
    size_t score_size; /* doubles */

    size_t M;          /* number of candidates */
    double scale;      /* factor of the gradient: weight / (B tau); 0: values only */
    size_t from, rows; /* first query and number of queries of the current strip */
} aoei_info_nce;

/* Takes the memory of B queries and M candidates of size D from the arena, which may be a measuring arena. Larger arguments
 * never need less memory. */
void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t D);
/* Returns the loss with the first M candidates, where M is at least B. with_grad: adds weight times the gradient to dz of
 * queries and candidates. */
double aoei_info_nce_loss(aoei_info_nce *c, size_t M, double weight, int with_grad);

#endif
