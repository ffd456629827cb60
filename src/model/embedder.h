/* SPDX-License-Identifier: MIT
 * Internal functions of the embedder.
 */
#ifndef AOEI_MODEL_EMBEDDER_H
#define AOEI_MODEL_EMBEDDER_H

#include "model/text_batch.h"

/* Computes embeddings as aoe_embed does, except that the texts were already tokenized with aoei_encode_for_inference or
 * aoei_encode_for_chunks. vectors: [lists->n, aoe_embedder_dims]. */
int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err);
/* Sets *bytes to the size in bytes of the arena of an embedder with the options `o`. o->batch_tokens must be positive.
 * Errors: AOE_ENOMEM.
 */
int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err);

#endif
