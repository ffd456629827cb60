/* SPDX-License-Identifier: MIT
 * The InfoNCE loss (MultipleNegativesRankingLoss in sentence-transformers). For each query, it is the cross entropy of a
 * softmax over all candidates; candidate i is the target of query i. Matrices are stored in panels of AOEI_PANEL_F64 adjacent
 * columns (kernels/kernels.h). The buffer of the scores has a limited size, so the scores are computed for a range of queries
 * at a time. This range is called a strip.
 */
#ifndef AOEI_LOSS_INFO_NCE_H
#define AOEI_LOSS_INFO_NCE_H

#include <stddef.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

typedef struct aoei_info_nce {
    const aoe_context *ctx;    /* threads and kernels; borrowed; set by the caller */
    double tau;                /* temperature (divisor of the cosines); set by the caller */
    double hard_negative;      /* number that is added to the score of query i with its own negative, candidate B + i, after the
                                  division by tau; unused if there are no negatives; set by the caller */
    aoei_unit_rows queries;    /* [B, D] unit vectors of the queries; the caller sets all rows */
    aoei_unit_rows candidates; /* [M, D] unit vectors of the candidates, with M >= B; the caller sets all rows */
    double *row_loss;          /* [B] loss of each query */

    double *score; /* [score_size] score buffer: cosines of the current strip, which are later overwritten by d loss / d cosine;
                      stored in panels */
    size_t score_size; /* number of doubles in `score` */

    size_t M;          /* number of candidates in the current call; at most the number of rows of `candidates` */
    double scale;      /* factor of the gradient, weight / (B tau); 0: the gradient is not computed */
    size_t from, rows; /* the current strip consists of queries [from, from + rows) */
} aoei_info_nce;

/* Allocates the memory for B queries and M candidates of D components in the arena. If the arena is a measuring arena
 * (base/arena.h), only the size is computed. The size does not decrease if an argument increases. */
void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t D);
/* Returns the loss for the first M candidates, not multiplied by weight. M is at least B. If with_grad is 1, adds weight times
 * the gradient to c->queries.dz and c->candidates.dz. */
double aoei_info_nce_loss(aoei_info_nce *c, size_t M, double weight, int with_grad);

#endif
