/* SPDX-License-Identifier: MIT
 * The InfoNCE loss (MultipleNegativesRankingLoss in sentence-transformers). For each example of a batch, it is the
 * cross entropy of a softmax over candidates. In the usual form, the anchor of example i is its query, the candidates
 * are the positives and negatives of all examples, and candidate i is the target. In other forms, the candidates of one
 * softmax come from several blocks, such as the positives of all examples and the queries of all other examples, each
 * block with its own anchors.
 *
 * Matrices are stored in panels of AOEI_PANEL_F64 adjacent columns (kernels/kernels.h). The buffer of the scores has a
 * limited size, so the scores are computed for a range of examples at a time. This range is called a strip.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "nn/panels.h"
#include "loss/unit_rows.h"

enum { AOEI_NCE_MAX_BLOCKS = 4 /* maximum number of blocks of candidates */ };

/* A block of the candidates of every softmax, with the anchors that are compared with them. The score of example i with
 * candidate j of the block is the cosine of row i of `anchors` and row j of `candidates`, divided by the temperature.
 * All pointers are borrowed. */
typedef struct aoei_nce_block {
    aoei_unit_rows *anchors;    /* [B, D] the first B rows are used */
    aoei_unit_rows *candidates; /* [M, D] the first M rows are used; may be equal to `anchors` */
    size_t M;                   /* number of candidates; a multiple of B: row j belongs to example j % B */
    int others_only;            /* 1: the candidates of example i that belong to example i itself are excluded */
    /* Vectors of a guide model (GISTEmbed, Solatorio 2024) for the rows of `anchors` and `candidates`; NULL in all
     * blocks if there is no guide. A candidate is excluded if its cosine with the anchor is above the threshold of the
     * example. The target is never excluded. */
    const aoei_unit_rows *guide_anchors, *guide_candidates;
} aoei_nce_block;

typedef struct aoei_info_nce {
    const aoe_context *ctx;  /* threads and kernels; borrowed; set by the caller */
    double tau;              /* temperature (divisor of the cosines); set by the caller */
    double hard_negative;    /* number that is added to the score of example i with the candidates B + i, 2B + i, ... of
                                the first block, its own negatives, after the division by tau; unused if the block has
                                no negatives; set by the caller */
    const double *threshold; /* [B] threshold of each example for blocks with a guide, otherwise not used; borrowed; set
                                by the caller */
    double *row_loss;        /* [B] loss of each example */
    size_t *row_left_out;    /* [B] with a guide: number of negatives of each example that are excluded */
    size_t negatives; /* with a guide: number of negatives in all examples and all calls, before any are excluded; the
                         negatives of an example are the candidates other than its target */
    size_t left_out;  /* with a guide: number of these negatives that are excluded */

    double *score; /* [score_size] score buffer: cosines of the current strip, which are later overwritten by d loss / d
                      cosine; stored in panels, one block after the other */
    size_t score_size; /* number of doubles in `score` */

    size_t B;                                  /* number of examples in the current call */
    aoei_nce_block block[AOEI_NCE_MAX_BLOCKS]; /* blocks of the current call */
    size_t n_blocks;                           /* number of blocks */
    size_t start[AOEI_NCE_MAX_BLOCKS + 1];     /* column of the score buffer at which each block starts; last: number of
                                                  columns */
    double scale;      /* factor of the gradient, weight / (B tau); 0: the gradient is not computed */
    size_t from, rows; /* the current strip consists of examples [from, from + rows) */
} aoei_info_nce;

/* Allocates the memory for B examples and n_blocks blocks of up to M candidates each in the arena. If the arena is a
 * measuring arena (base/arena.h), only the size is computed. The size does not decrease if an argument increases. */
void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t n_blocks);
/* Returns the loss of B examples over the given blocks, not multiplied by weight. The target of example i is candidate
 * i of the first block, whose M is at least B. If with_grad is 1, adds weight times the gradient to dz of the anchors
 * and of the candidates of every block. */
double aoei_info_nce_loss(aoei_info_nce *c, size_t B, const aoei_nce_block *blocks, size_t n_blocks, double weight,
                          int with_grad);
