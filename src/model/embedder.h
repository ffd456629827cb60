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
/* Computes complete embeddings of texts that were tokenized with aoei_encode_for_inference or, for scores of pairs
 * before the activation function, with aoei_encode_pairs. prompt: prompt template of all texts, which matters only if
 * the model subtracts the embedding of its empty prompt; NULL: that of the model. unit: [lists->n] 1: the embedding is
 * normalized; NULL: as the model does. vectors: [lists->n, aoei_vector_dims]. */
int aoei_embed_prompted(aoe_embedder *e, const aoei_token_lists *lists, const char *prompt, const uint8_t *unit,
                        float *vectors, aoe_error *err);
/* Truncates a complete embedding as the model directory requests, and then to the D components that the caller
 * requests, which are written to v. unit, unit_truncated: the settings `normalize` and `unit_truncated`
 * (modeldir/settings.h). The contents of `complete` are overwritten. */
void aoei_embed_finish(const aoe_context *ctx, const aoe_model *m, float *v, size_t D, float *complete, int unit,
                       int unit_truncated);
/* Computes the input of the pooling for the only text of `lists`. states: [tokens, aoei_token_width]. */
int aoei_embed_states(aoe_embedder *e, const aoei_token_lists *lists, float *states, aoe_error *err);
/* Returns AOE_EARG, unless the model is a cross-encoder (cross_encoder: 1) or an embedding model (0). */
int aoei_embedder_check_kind(const aoe_embedder *e, int cross_encoder, aoe_error *err);
/* Applies the activation function of a cross-encoder to the outputs x[n] of one pair. */
void aoei_activate_scores(aoe_score_activation activation, float *x, size_t n);
/* Sets the text that aoe_embed_failed_text returns in this thread; (size_t)-1: none. */
void aoei_embedder_set_failed(const aoe_embedder *e, size_t text);
aoe_chunk aoei_embedder_chunk(const aoe_embedder *e);
/* Returns the address of the pointer to the cache for evaluations of e; NULL: e has none. The cache is borrowed. */
struct aoe_eval_cache **aoei_embedder_eval_cache(aoe_embedder *e);
/* Sets *bytes to the size in bytes of the arena of an embedder with the options `o`. o->batch_tokens must be positive.
 * Errors: AOE_ENOMEM.
 */
int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err);
