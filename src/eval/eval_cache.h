/* SPDX-License-Identifier: MIT
 * The embeddings of evaluations, and the cache that an embedder may have for them.
 */
#pragma once

#include "aoe.h"
#include "aoe_eval.h"

/* Computes the embeddings of n texts for an evaluation, with the cache of e if it has one. vectors: [n,
 * aoe_embedder_dims], truncated with aoei_embed_truncate; info: [n]. On failure, *failed is the index of the text that
 * caused the error, or (size_t)-1, and the cache is empty. Errors: see aoe_embed. */
int aoei_eval_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                    size_t *failed, aoe_error *err);
