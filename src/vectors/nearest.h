/* SPDX-License-Identifier: MIT
 * Exact nearest-neighbor search: for each query, finds the k texts with the largest inner product, or with the smallest
 * distance. Scores are computed and scanned in blocks, so the workspace has a limited size even if there are many
 * texts. If scores are equal, the text with the lower row index ranks first. Results depend neither on the number of
 * threads nor on block boundaries. Vectors are not normalized; to rank by cosine, pass unit vectors.
 */
#pragma once

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"
#include "vectors/best.h"

/* A filter of texts. Returns 1 if `text` must not be a neighbor of `query`, otherwise 0. The function is called by
 * several threads at the same time. */
typedef int (*aoei_nearest_skip_fn)(const void *user, size_t query, uint32_t text);

typedef struct aoei_nearest_job {
    aoei_tensor queries; /* [Q, D] float32 */
    aoei_tensor texts;   /* [N, D] float32, with N < 2^32 - 1 */
    size_t k;            /* number of neighbors per query */
    /* AOE_SIMILARITY_COSINE (0) and AOE_SIMILARITY_DOT: the scores are the inner products. Otherwise, they are the
     * values of the similarity, which take much more time, because they are not computed by a matmul */
    aoe_similarity_function similarity;
    aoei_nearest_skip_fn skip; /* filter of texts; NULL: no filter */
    const void *user;          /* first argument of skip */
    aoei_tensor workspace;     /* workspace of aoei_nearest_workspace bytes */
} aoei_nearest_job;

/* Finds the k best texts of each query and stores them in best[Q][k], from the best to the worst. Texts with a NaN
 * score are ignored. */
void aoei_nearest(const aoe_context *ctx, const aoei_nearest_job *j, aoei_neighbor *best);
/* Returns the size in bytes of the workspace for up to Q queries and N texts of D components. */
size_t aoei_nearest_workspace(const aoe_context *ctx, size_t Q, size_t N, size_t D);
/* Copies the rows of `from` [rows, cols] to the tensor `to` [rows, cols] and normalizes them to unit length. Rows of
 * zeros remain zeros. function, what: names of the public function and of its argument, for the message. Errors:
 * AOE_ENUMERIC if a value is not finite. */
int aoei_unit_rows(const aoe_context *ctx, aoei_tensor to, const float *from, const char *function, const char *what,
                   aoe_error *err);
