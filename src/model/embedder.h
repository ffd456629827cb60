/* SPDX-License-Identifier: MIT
 * The inside of aoe_embedder that other parts of the library use.
 */
#ifndef AOEI_MODEL_EMBEDDER_H
#define AOEI_MODEL_EMBEDDER_H

#include "model/text_batch.h"

/* As aoe_embed, for texts that aoei_encode_for_vectors or aoei_encode_for_windows has tokenized. vectors: [lists->n, dims]. */
int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err);
/* *bytes: size of the arena that an embedder with these options (batch_tokens above 0) allocates. Errors: AOE_ENOMEM. */
int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err);

#endif
