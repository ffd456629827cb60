/* SPDX-License-Identifier: MIT
 * InfoNCE (MultipleNegativesRankingLoss in sentence-transformers): the cross entropy of a softmax over all candidates, where
 * candidate i is the target of query i. Only queries are anchors. Matrices are stored in panels of AOEI_PANEL_F64 adjacent
 * columns (kernels/kernels.h). The scores are computed for a strip of queries at a time, in a buffer of limited size.
 */
#ifndef AOEI_LOSS_INFO_NCE_H
#define AOEI_LOSS_INFO_NCE_H

#include <stddef.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_info_nce {
    const aoe_context *ctx; /* threads and kernels; borrowed; set by the caller */
    double tau;             /* temperature (divisor of the cosines); set by the caller */
    double hard_negative; /* added, after the division by tau, to the score of query i with its own negative, which is candidate
                             B + i; unused if there are fewer candidates; set by the caller */
    aoei_unit_rows queries;    /* [B, D] unit vectors of the queries; rows set by the caller */
    aoei_unit_rows candidates; /* [M, D] unit vectors of the candidates, M >= B; rows set by the caller */
    double *row_loss;          /* [B] loss of each query */

    double *score;     /* [score_size] cosines of the current strip in panels, later replaced by d loss / d cosine */
    size_t score_size; /* number of doubles in `score` */

    size_t M;          /* number of candidates of the current call; at most the number of rows of `candidates` */
    double scale;      /* factor of the gradient, weight / (B tau); 0: no gradient is computed */
    size_t from, rows; /* index of the first query of the current strip, and number of its queries */
} aoei_info_nce;

/* Takes the memory for B queries and M candidates of D components from the arena. A measuring arena only computes the size.
 * The size never decreases when an argument grows. */
void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t D);
/* Returns the loss (not multiplied by weight) with the first M candidates, where M is at least B. If with_grad is 1, adds
 * weight times the gradient to dz of the queries and of the candidates. */
double aoei_info_nce_loss(aoei_info_nce *c, size_t M, double weight, int with_grad);

#endif
