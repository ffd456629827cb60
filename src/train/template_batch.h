/* SPDX-License-Identifier: MIT
 * Batches of texts in two prompt templates (PromptBERT, Jiang et al. 2022). Each text occurs twice, once in each template. The
 * batch also contains references: empty templates, in which the tokens after the place of the text have the positions that they
 * have after a text of n tokens. The vector of the reference is subtracted from the vector of a text of n tokens in the same
 * template (aoei_pair_step.reference).
 */
#ifndef AOEI_TRAIN_TEMPLATE_BATCH_H
#define AOEI_TRAIN_TEMPLATE_BATCH_H

#include "model/text_batch.h"
#include "train/training_set.h"

enum { AOEI_TEMPLATES = 2 };

/* The templates. A zeroed struct has no templates. */
typedef struct aoei_templates {
    int32_t *ids[AOEI_TEMPLATES];  /* [n] token ids of the empty template, with special tokens; owned */
    size_t n[AOEI_TEMPLATES];      /* number of tokens of the empty template */
    size_t before[AOEI_TEMPLATES]; /* number of its tokens before the text */
    size_t longest;                /* maximum number of tokens of a text without its template */
    uint32_t *row;                 /* [AOEI_TEMPLATES (longest + 1)] workspace: row of each reference in the batch; owned */
    int32_t *text;                 /* [longest + largest n] workspace: a text in a template; owned */
} aoei_templates;

/* Tokenizes the templates. The first one is the prompt of the model, with which all texts of the data sets were tokenized;
 * `second` is the other one. longest: maximum number of tokens of a text of a data set in the first template. Errors: AOE_EARG
 * (another pooling than mask, a template without {text}, or without the token [MASK]), AOE_ENOMEM. */
int aoei_templates_create(aoei_templates *t, const aoe_model *m, const char *second, size_t longest, aoe_error *err);
void aoei_templates_destroy(aoei_templates *t); /* accepts a zeroed struct */
/* Checks that every text of a data set is a text in the first template, whose tokens are those of the template. path: name of
 * the file. Errors: AOE_EARG. */
int aoei_templates_check(const aoei_templates *t, const aoei_dataset *d, const char *path, aoe_error *err);
/* Returns the maximum number of references of a batch of n texts. */
size_t aoei_templates_references(const aoei_templates *t, size_t n);
/* Returns the maximum number of tokens that a batch of n texts, which has `tokens` tokens with the texts in the first template
 * twice, may have with the texts in both templates and with its references. */
size_t aoei_templates_tokens(const aoei_templates *t, size_t n, size_t tokens);
/* Fills the buffer with both copies of the texts texts[n] of the data set, followed by their references. reference: [2 n]
 * receives the row of the reference of each copy. first: number of the first text in the step. Returns the number of
 * references.
 */
size_t aoei_templates_fill(aoei_templates *t, aoei_batch_buffer *b, uint32_t *reference, const aoei_dataset *d,
                           const size_t *texts, size_t n, size_t first);

#endif
