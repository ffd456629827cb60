/* SPDX-License-Identifier: MIT
 * Internal functions of the embedder.
 */
#pragma once

#include "model/text_batch.h"

/* Makes the embedder the owner of its model and of the context of the model. */
void aoei_embedder_own_model(aoe_embedder *e);
/* Computes complete embeddings: as aoe_embed does, except that they are not truncated. vectors: [n, aoei_vector_dims].
 */
int aoei_embed_complete(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                        aoe_error *err);
/* Writes the first aoe_embedder_dims components of complete[aoei_vector_dims] to v, which may be equal to `complete`.
 * The result is normalized only if the caller of aoe_model_open requested it. Evaluations truncate embeddings with this
 * function, because cosines do not depend on the length, and other similarities are those of sentence-transformers. */
void aoei_embed_truncate(const aoe_embedder *e, float *v, const float *complete);
/* Computes embeddings and truncates them with aoei_embed_truncate. The texts were already tokenized with
 * aoei_encode_for_inference or aoei_encode_for_chunks. vectors: [lists->n, aoe_embedder_dims]. */
int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err);
/* Returns the address of the pointer to the cache for evaluations of e; NULL: e has none. The cache is borrowed. */
struct aoe_eval_cache **aoei_embedder_eval_cache(aoe_embedder *e);
/* Sets *bytes to the size in bytes of the arena of an embedder with the options `o`. o->batch_tokens must be positive.
 * Errors: AOE_ENOMEM.
 */
int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err);
