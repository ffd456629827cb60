/* SPDX-License-Identifier: MIT
 * The head of rerankers that are language models, such as Qwen3-Reranker. Such a model is asked whether a document
 * answers a query, and the score is the logit of the token "yes" minus the logit of the token "no" at the last token.
 * The head is therefore a dense layer without bias with one output, whose weight is the difference of two rows of the
 * decoder: of lm_head.weight, or of the token embeddings if config.json has no untied decoder. The module LogitScore of
 * sentence-transformers names other tokens, or only the first of the two.
 */
#pragma once

#include "model/model.h"

/* Sets the weight of the classification head of m, whose weights and tokenizer are open. Errors: AOE_EUNSUPPORTED (the
 * tokenizer has no tokens "yes" and "no", and there is no module LogitScore), AOE_EFORMAT, AOE_ENOMEM. */
int aoei_logit_score_head_set(aoe_model *m, aoe_error *err);
