/* SPDX-License-Identifier: MIT
 * Embeds texts of passages, of which some may be empty for the model.
 */
#pragma once

#include "aoe.h"

/* Sets vectors[n, D] to the embeddings of documents. A text for which the model has no tokens, such as one of control
 * characters, gets a zero vector, so that its passage can still be found by its words. *tokens is increased by the
 * number of tokens. If the function fails because of one text, *failed is its index, otherwise SIZE_MAX. */
int aoei_embed_texts(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, size_t *tokens, size_t *failed,
                     aoe_error *err);
