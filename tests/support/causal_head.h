/* SPDX-License-Identifier: MIT
 * The language-model head of a causal model with tied embeddings, for tests: it computes the logits of the next token
 * from the hidden states. The library has no such head.
 */
#ifndef AOE_TESTS_CAUSAL_HEAD_H
#define AOE_TESTS_CAUSAL_HEAD_H

#include "model/model.h"

/* Computes logits[n, V] of the tokens ids[n]; each token attends to itself and to earlier tokens. */
void causal_logits(const aoe_model *m, const int32_t *ids, size_t n, float *logits);
/* Returns the id with the largest logit. If several logits are equal, returns the smallest of their ids. */
int32_t causal_best(const float *logits, size_t vocab);

#endif
