/* SPDX-License-Identifier: MIT
 * Finds all pairs of vectors whose cosine is at least a threshold, by exact search. The pairs are sorted by their first
 * vector and then by their second vector. Scores are computed in blocks, so that the memory does not depend on the
 * number of pairs. Results depend neither on the number of threads nor on the instruction set nor on block boundaries.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

typedef struct aoei_similar_pair {
    uint32_t first, second; /* rows of the two vectors; first < second */
    float score;            /* aoe_cosine of the vectors, rounded to float */
} aoei_similar_pair;

/* Receives the n pairs whose first vector is one of the next rows, borrowed for the call. rows: number of rows whose
 * pairs have been reported, including these. Returns 0 to continue. Otherwise it sets *err and returns an error code,
 * which aoei_similar_pairs returns. */
typedef int (*aoei_similar_pairs_fn)(void *user, const aoei_similar_pair *pairs, size_t n, size_t rows, aoe_error *err);

/* Calls fn for all pairs of vectors [n, dims] whose cosine, rounded to float, is at least (float)threshold. n must be
 * less than 2^32 - 1. Allocates 4 n dims bytes for unit vectors, and at most about 60 MB or, if it is more, 12 n bytes
 * for scores and pairs. Errors: AOE_ENUMERIC, AOE_ENOMEM. */
int aoei_similar_pairs(const aoe_context *ctx, const float *vectors, size_t n, size_t dims, double threshold,
                       aoei_similar_pairs_fn fn, void *user, aoe_error *err);
