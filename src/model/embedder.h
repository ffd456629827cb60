/* SPDX-License-Identifier: MIT
 * Functions of the embedder that other parts of the library use.
 */
#ifndef AOEI_MODEL_EMBEDDER_H
#define AOEI_MODEL_EMBEDDER_H

#include "model/text_batch.h"

/* Like aoe_embed, for texts that aoei_encode_for_inference or aoei_encode_for_chunks has tokenized. vectors: [lists->n, dims of
 * the model]. */
int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err);
/* Sets *bytes to the size of the arena of an embedder with these options; o->batch_tokens must be positive. Errors: AOE_ENOMEM.
 */
int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err);

#endif
