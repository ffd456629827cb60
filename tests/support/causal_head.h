/* SPDX-License-Identifier: MIT
 * Language-model head of a causal model with tied embeddings, for tests. It computes the logits of the next token from
 * the hidden states. The library has no such head.
 */
#pragma once

#include "model/model.h"

/* Computes logits[n, V] for the tokens ids[n]. Row t contains the logits of the token after ids[t]. */
void causal_logits(const aoe_model *m, const int32_t *ids, size_t n, float *logits);
/* Returns the id with the largest of logits[vocab]. If several ids have the largest logit, returns the smallest of
 * them. */
int32_t causal_best(const float *logits, size_t vocab);
