/* SPDX-License-Identifier: MIT
 * Biases of attention scores that depend on the distance between query and key: learned biases (MPNet, Song et al.
 * 2020) and linear biases (ALiBi, Press et al. 2022). The distance r of a pair is the position of the key minus the
 * position of the query in their text. The biases of all distances of a batch are computed once in a forward pass, and
 * all layers use them.
 */
#pragma once

#include <stddef.h>

#include "nn/tensor.h"

/* Number of buckets of distances. Distances in the same bucket have the same learned bias. */
#define AOEI_SCORE_BUCKETS ((size_t)32)

/* The biases of one batch, as an argument of the attention. Both tensors are float32 and contiguous. */
typedef struct aoei_score_bias {
    /* [H, 2 longest - 1] biases in texts of up to `longest` tokens; the bias of head h for distance r is in column
     * longest - 1 + r of row h; absent: there are no biases */
    aoei_tensor values;
    /* [texts H, AOEI_SCORE_BUCKETS] gradients of the learned biases, summed for each text of the batch; the backward
     * pass of each layer adds to them; absent: the gradients are not computed */
    aoei_tensor grads;
} aoei_score_bias;

/* Returns the number of distances in texts of up to `longest` tokens. */
static inline size_t aoei_score_bias_cols(size_t longest) {
    return 2 * longest - 1;
}

/* Returns the bucket of distance r. Buckets 0 to 15 contain the distances r <= 0, and buckets 16 to 31 the distances r
 * > 0. In both ranges, each of the first 8 buckets contains one value of |r|, and the widths of the next 8 buckets grow
 * logarithmically up to |r| = 128; the last bucket contains all larger |r| (relative_position_bucket in
 * modeling_mpnet.py of transformers, with its 32 buckets and its maximum distance 128). */
size_t aoei_score_bucket(ptrdiff_t r);
/* Writes the learned biases of the distances in texts of up to `longest` tokens to `values`, which may have more
 * columns. table [AOEI_SCORE_BUCKETS, H] contains the bias of each bucket. */
void aoei_score_bias_expand(aoei_tensor values, aoei_tensor table, size_t longest);
/* Writes the linear biases -m_h |r| of the distances in texts of up to `longest` tokens to `values`, which may have
 * more columns. If H is a power of two, m_h = 2^(-8 h / H) for h = 1 to H. Otherwise, let P be the largest power of two
 * below H: the first P heads have the slopes of P heads, and the other heads have every second slope of 2 P heads,
 * beginning with the first.
 */
void aoei_score_bias_slopes(aoei_tensor values, size_t longest);

/* Adds sums[2 T - 1] / scale to the gradients in row `row` of b->grads. sums[T - 1 + r] is the sum of the gradients of
 * all scores with distance r before they are multiplied by scale. The terms of a bucket are added in ascending order of
 * r. */
void aoei_score_bias_add(const aoei_score_bias *b, size_t row, const float *sums, size_t T, float scale);
/* Adds the gradients of all texts, grads [texts H, AOEI_SCORE_BUCKETS], to dtable [AOEI_SCORE_BUCKETS, H]. The texts
 * are added in ascending order. */
void aoei_score_bias_reduce(aoei_tensor dtable, aoei_tensor grads);
