/* SPDX-License-Identifier: MIT
 * The language-model head of a causal model with tied embeddings, for tests: what
 * makes words of hidden states. The library has no use for it.
 */
#ifndef AOE_TESTS_CAUSAL_HEAD_H
#define AOE_TESTS_CAUSAL_HEAD_H

#include "model/model.h"

/* logits[n, V] of the tokens ids[n]: each sees those before it and itself. */
void causal_logits(const aoe_model *m, const int32_t *ids, size_t n, float *logits);
/* The id with the largest logit, the first of equal ones. */
int32_t causal_best(const float *logits, size_t vocab);

#endif
