/* SPDX-License-Identifier: MIT
 * The template of rerankers that are language models: the text in which Qwen3-Reranker is asked whether a document
 * answers a query. A text pair is inserted into the template before it is tokenized. The model card of Qwen3-Reranker
 * defines the template.
 */
#pragma once

#include "aoe_tokenizer.h"

/* The tokens before and after the instruction, the query and the document. */
typedef struct aoei_reranker_template {
    aoe_ids start, end; /* owned */
} aoei_reranker_template;

/* Tokenizes the constant parts of the template. lowercase: as in aoe_encode_options. The caller frees *r, even if the
 * function fails. */
int aoei_reranker_template_create(aoei_reranker_template *r, const aoe_tokenizer *t, int lowercase, aoe_error *err);
void aoei_reranker_template_free(aoei_reranker_template *r); /* accepts a zeroed struct */
/* Replaces *ids by the tokens of a pair in the template. The instruction is o->prompt without {text}, or the default.
 * If the result has more than o->max_length tokens, the document is truncated. Errors: AOE_EARG (o->max_length is too
 * small for the template), AOE_ENOMEM. */
int aoei_reranker_template_encode(const aoei_reranker_template *r, const aoe_tokenizer *t, aoe_text query,
                                  aoe_text document, const aoe_encode_options *o, aoe_ids *ids, aoe_error *err);
