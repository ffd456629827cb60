/* SPDX-License-Identifier: MIT
 * Relative positions of disentangled attention (He et al. 2021, DeBERTa). In addition to the product of query and key,
 * the score of a pair contains the product of the query with a key of their distance, and the product of the key with a
 * query of their distance. The distance r of a pair is the position of the query minus the position of the key in their
 * text. Distances are mapped to 2 S rows, where S is the span; distances of both signs that exceed the span use the
 * first or the last row.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "nn/tensor.h"

/* Relative positions of one batch, as an argument of the attention. If both tensors are present, the score of query i
 * and key j of a head is scale (q_i k_j + q_i keys[row] + k_j queries[row]) with row = rows[longest - 1 + i - j]. */
typedef struct aoei_disentangled {
    size_t span;                 /* S; 0: there are no relative positions */
    aoei_tensor keys;            /* [2 S, H d] keys of the rows, in the type of q; absent: the second product is 0 */
    aoei_tensor queries;         /* [2 S, H d] queries of the rows, in the type of q; absent: the third product is 0 */
    const uint32_t *rows;        /* [2 longest - 1] row of each distance, in ascending order of the distances */
    size_t longest;              /* maximum number of tokens in a text */
    aoei_tensor dkeys, dqueries; /* [2 S, H d] float32 gradients of keys and queries; the backward pass adds to them */
} aoei_disentangled;

/* Returns the row of distance r for span S: r + S, limited to 0 to 2 S - 1. If buckets is not 0, r is first mapped to a
 * bucket: distances up to buckets / 2 are not changed, and larger distances up to max_distance are mapped
 * logarithmically to buckets / 2 to `buckets` (make_log_bucket_position in modeling_deberta_v2.py of transformers). */
uint32_t aoei_disentangled_row(ptrdiff_t r, size_t span, size_t buckets, size_t max_distance);
