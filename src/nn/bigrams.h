/* SPDX-License-Identifier: MIT
 * Bigram embeddings, the pairs of adjacent tokens of a text. Each bigram has a row of a table with K rows, K a power of
 * two, which a hash of its two token ids selects. The mean over the n token vectors of a text becomes the mean over its
 * n tokens and n - 1 bigrams: y[t] = (x[t] + b[t]) n / (2 n - 1), where b[t] is the embedding of the bigram of tokens t
 * and t + 1, and 0 for the last token. Shapes: N tokens, D components.
 */
#pragma once

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Returns the row of the bigram of two tokens. rows: K, a power of two. */
size_t aoei_bigram_row(int32_t first, int32_t second, size_t rows);
/* Computes y from x, the embeddings of the tokens, in place: x[N, D] is float32. table: [K, D] of any type. */
void aoei_bigrams_forward(const aoe_context *ctx, aoei_tensor x, aoei_tensor table, const aoei_batch *batch);
/* Replaces dy[N, D] (float32) by the gradient of x, and adds the gradient of the table to dtable[K, D] (float32),
 * unless it is absent. */
void aoei_bigrams_backward(const aoe_context *ctx, aoei_tensor dy, aoei_tensor dtable, const aoei_batch *batch);
