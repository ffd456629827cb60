/* SPDX-License-Identifier: MIT
 * Models that consist of the word embeddings of another model (encoder/arch_words.h).
 */
#pragma once

#include "model/model.h"

/* Changes a model whose tensors have been found, and whose weights have not been loaded, to a model that consists of
 * its word embeddings. The word embeddings are frozen. The pooling becomes `pooling`. The layers, the modules and the
 * settings that depend on them are removed. The tokenizer, the maximum sequence length and the prompts remain, except a
 * prompt with a mask token, unless keep_prompt is 1. A model that already consists of word embeddings is not changed,
 * so its modules remain. Errors: AOE_EUNSUPPORTED (adapters, a cross-encoder), AOE_ENOMEM.
 */
int aoei_word_table_select(aoe_model *m, aoe_pooling pooling, int keep_prompt, aoe_error *err);
