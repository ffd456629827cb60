/* SPDX-License-Identifier: MIT
 * Exact search for the nearest vectors: the k texts with the largest inner product
 * with each query, of all of them. Scores are made and looked through a block at a
 * time, so memory does not grow with the number of texts. Of equal scores the lower
 * row comes first; nothing depends on threads or on where a block ends. It scales no
 * vector: for cosines give it unit vectors.
 */
#ifndef AOEI_NN_NEAREST_H
#define AOEI_NN_NEAREST_H

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

#define AOEI_NO_TEXT UINT32_MAX

typedef struct aoei_neighbor {
    float score;   /* inner product; -infinity where there is no text */
    uint32_t text; /* row, or AOEI_NO_TEXT: there are fewer than k */
} aoei_neighbor;

/* 1: the text is to be passed over for this query. Called from several threads. */
typedef int (*aoei_pass_over_fn)(const void *user, size_t query, uint32_t text);

typedef struct aoei_nearest_job {
    aoei_tensor queries; /* [Q, D] float32 */
    aoei_tensor texts;   /* [N, D] float32, N < 2^32 - 1 */
    size_t k;
    aoei_pass_over_fn pass_over; /* NULL: none is */
    const void *user;
    aoei_tensor workspace; /* aoei_workspace_take of aoei_nearest_workspace bytes */
} aoei_nearest_job;

/* best[Q][k] on the host: the k best of each query, best first. A score that is no number is none of the best. */
void aoei_nearest(const aoe_context *ctx, const aoei_nearest_job *j, aoei_neighbor *best);
/* Bytes of workspace for up to Q queries and N texts of D components. */
size_t aoei_nearest_workspace(const aoe_context *ctx, size_t Q, size_t N, size_t D);

#endif
