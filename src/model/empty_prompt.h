/* SPDX-License-Identifier: MIT
 * Prompt templates without a text (PromptBERT, Jiang et al. 2022). The embedding of a text is its embedding in the
 * template minus that of the empty template. The tokens of the empty template after {text} keep the positions that they
 * have in the template with the text.
 */
#pragma once

#include "model/model.h"
#include "model/text_batch.h"

/* A prompt template without a text. A zeroed struct is no template. */
typedef struct aoei_empty_prompt {
    int32_t *ids;  /* [n] token ids of the template, with special tokens; owned */
    size_t n;      /* number of tokens */
    size_t before; /* number of tokens before the place of the text */
} aoei_empty_prompt;

/* Tokenizes the template `prompt` as the model does. The pooling of the model must be AOE_POOLING_MASK. Errors:
 * AOE_EARG (another pooling, a template without {text}, or without exactly one mask token), AOE_ENOMEM. The caller
 * frees *p, even if the function fails. */
int aoei_empty_prompt_create(aoei_empty_prompt *p, const aoe_model *m, const char *prompt, aoe_error *err);
void aoei_empty_prompt_destroy(aoei_empty_prompt *p); /* accepts a zeroed struct */
/* Returns 1 if the tokens ids[n] are those of a text in the template, so the text has n - p->n tokens. */
int aoei_empty_prompt_matches(const aoei_empty_prompt *p, const int32_t *ids, size_t n);
/* Adds the empty template to a batch. The tokens after {text} have the positions that they have in the template with a
 * text of n tokens. index: as in aoei_batch_add. */
void aoei_empty_prompt_add(const aoei_empty_prompt *p, aoei_batch_buffer *b, size_t n, uint32_t index);
