/* SPDX-License-Identifier: MIT
 * Internal functions of the embedder.
 */
#ifndef AOEI_MODEL_EMBEDDER_H
#define AOEI_MODEL_EMBEDDER_H

#include "model/text_batch.h"

/* Like aoe_embed, for texts that aoei_encode_for_vectors or aoei_encode_for_windows has tokenized. vectors: [lists->n, dims].
 */
int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err);
/* Sets *bytes to the arena size of an embedder with these options (batch_tokens above 0). Errors: AOE_ENOMEM. */
int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err);

#endif
