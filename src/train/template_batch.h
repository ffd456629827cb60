/* SPDX-License-Identifier: MIT
 * Batches of texts in prompt templates (PromptBERT, Jiang et al. 2022). Each text occurs once in each of one or two
 * templates. The batch also contains references: empty templates (model/empty_prompt.h). The vector of the reference
 * with the same template and the same number n of tokens is subtracted from the vector of a text of n tokens
 * (aoei_pair_step.reference).
 */
#pragma once

#include "model/empty_prompt.h"
#include "train/training_set.h"

enum { AOEI_MAX_TEMPLATES = 2 };

/* The templates. A zeroed struct has no templates. */
typedef struct aoei_templates {
    size_t count;                                /* number of templates */
    aoei_empty_prompt empty[AOEI_MAX_TEMPLATES]; /* [count] the templates */
    size_t longest;                              /* maximum number of tokens in a text without its template */
    uint32_t *row; /* [count (longest + 1)] workspace: row of each reference in the batch; owned */
    int32_t *text; /* [longest + tokens of the longest template] workspace: a text in a template; owned */
} aoei_templates;

/* Tokenizes the templates. The first template is the prompt of the model, with which all texts of the data sets were
 * tokenized. `second` is the second template, or NULL if there is only one. longest: maximum number of tokens in a text
 * of a data set in the first template. Errors: AOE_EARG (another pooling than mask, a template without {text}, or
 * without the token [MASK]), AOE_ENOMEM. */
int aoei_templates_create(aoei_templates *t, const aoe_model *m, const char *second, size_t longest, aoe_error *err);
void aoei_templates_destroy(aoei_templates *t); /* accepts a zeroed struct */
/* Checks that every text of a data set is a text in the first template, whose tokens are those of the template. path:
 * name of the file. Errors: AOE_EARG. */
int aoei_templates_check(const aoei_templates *t, const aoei_dataset *d, const char *path, aoe_error *err);
/* Returns the maximum number of references of a batch of n texts. */
size_t aoei_templates_references(const aoei_templates *t, size_t n);
/* Returns the maximum number of tokens in a batch of n texts in all templates, with its references. tokens: maximum
 * number of tokens in the texts in the first template, as often as they occur. */
size_t aoei_templates_tokens(const aoei_templates *t, size_t n, size_t tokens);
/* Sets *references to the maximum number of references of a batch of n texts. *tokens and *longest are the maximum
 * number of tokens in the texts in the first template, as often as they occur, and of one text, and are set to those of
 * the batch. */
void aoei_templates_measure(const aoei_templates *t, size_t n, size_t *references, size_t *tokens, size_t *longest);
/* Fills the buffer with the texts texts[n] of the data set in each template, followed by their references. reference:
 * [count n] receives the row of the reference of each text. first: number of the first text in the step. Returns the
 * number of references.
 */
size_t aoei_templates_fill(aoei_templates *t, aoei_batch_buffer *b, uint32_t *reference, const aoei_dataset *d,
                           const size_t *texts, size_t n, size_t first);
