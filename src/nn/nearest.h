/* SPDX-License-Identifier: MIT
 * Exact nearest-neighbor search: for each query, the k texts with the largest inner product. Scores are computed and
 * scanned in blocks, so the workspace does not grow with the number of texts. If scores are equal, the lower row comes
 * first. Results depend neither on threads nor on block boundaries. Vectors are not normalized; pass unit vectors to
 * rank by cosine.
 */
#ifndef AOEI_NN_NEAREST_H
#define AOEI_NN_NEAREST_H

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

#define AOEI_NO_TEXT UINT32_MAX /* the row of a missing neighbor */

typedef struct aoei_neighbor {
    float score;   /* inner product; -infinity if `text` is AOEI_NO_TEXT */
    uint32_t text; /* row of the text, or AOEI_NO_TEXT if there are fewer than k texts */
} aoei_neighbor;

/* Returns 1 if the text must not be a neighbor of this query. The function is called on several threads at the same time. */
typedef int (*aoei_nearest_skip_fn)(const void *user, size_t query, uint32_t text);

typedef struct aoei_nearest_job {
    aoei_tensor queries;       /* [Q, D] float32 */
    aoei_tensor texts;         /* [N, D] float32, N < 2^32 - 1 */
    size_t k;                  /* number of neighbors per query */
    aoei_nearest_skip_fn skip; /* filter of texts; NULL: no text is skipped */
    const void *user;          /* argument of skip */
    aoei_tensor workspace;     /* workspace of aoei_nearest_workspace bytes */
} aoei_nearest_job;

/* best[Q][k] receives the k best texts of each query, best first. Texts with a NaN score are ignored. */
void aoei_nearest(const aoe_context *ctx, const aoei_nearest_job *j, aoei_neighbor *best);
/* Returns the size in bytes of the workspace for up to Q queries and N texts of D components. */
size_t aoei_nearest_workspace(const aoe_context *ctx, size_t Q, size_t N, size_t D);

#endif
