/* SPDX-License-Identifier: MIT
 * From texts to packed batches: tokenization of many texts on all threads, and the host arrays that an aoei_batch points to.
 * Shared by the embedder and the trainer.
 */
#ifndef AOEI_MODEL_TEXT_BATCH_H
#define AOEI_MODEL_TEXT_BATCH_H

#include "model/model.h"
#include "nn/batch.h"

/* Tokens before and after the tokens of the text: special tokens and the prompt. */
typedef struct aoei_ends {
    size_t before, after;
} aoei_ends;

/* The token ids of n texts, concatenated. */
typedef struct aoei_token_lists {
    size_t n;
    int32_t *ids;       /* [offsets[n]], owned */
    size_t *offsets;    /* [n + 1], owned */
    uint8_t *truncated; /* [n], owned */
    aoei_ends *ends;    /* [n], owned; NULL if texts are truncated to max_length, otherwise texts are complete */
} aoei_token_lists;

/* Tokenizes with the prompt and the maximum length of the model. On failure *failed (may be NULL) is the lowest index of a text
 * that failed, or (size_t)-1. The functions below differ only as stated. */
int aoei_encode_texts(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                      aoe_error *err);
/* Inserts text i into prompts[second[i]]; a NULL prompt is that of the model, "" means no prompt. */
int aoei_encode_prompted(const aoe_model *m, const aoe_text *texts, size_t n, const char *const prompts[2],
                         const uint8_t *second, aoei_token_lists *out, size_t *failed, aoe_error *err);
/* Uses the options `o` instead of the settings of the model. A text may have no tokens. */
int aoei_encode_texts_as(const aoe_model *m, const aoe_text *texts, size_t n, const aoe_encode_options *o,
                         aoei_token_lists *out, size_t *failed, aoe_error *err);
/* For inference: with a static model a text may have no tokens. */
int aoei_encode_for_vectors(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                            aoe_error *err);
/* For inference with chunks: texts are not truncated, and out->ends is set. */
int aoei_encode_for_windows(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                            aoe_error *err);
void aoei_token_lists_free(aoei_token_lists *l);
static inline size_t aoei_token_count(const aoei_token_lists *l, size_t i) {
    return l->offsets[i + 1] - l->offsets[i];
}

/* Sets class_of[n] to the index of the first text with an equal token list, after prompt and truncation. l->n must be at most
 * 2^32 - 2. Errors: AOE_ENOMEM. */
int aoei_token_classes(const aoei_token_lists *l, uint32_t *class_of, aoe_error *err);

/* Returns 1 if texts without tokens are allowed (static models); their vector is zero. */
int aoei_allows_no_tokens(const aoe_model *m);

/* Host arrays for a batch of up to max_tokens tokens in max_texts texts. */
typedef struct aoei_batch_buffer {
    aoei_batch batch;     /* points to the arrays below */
    int32_t *ids;         /* [max_tokens], owned */
    uint32_t *positions;  /* [max_tokens], owned */
    uint32_t *offsets;    /* [max_texts + 1], owned */
    uint32_t *text_index; /* [max_texts], owned */
    size_t max_tokens, max_texts;
} aoei_batch_buffer;

int aoei_batch_buffer_create(aoei_batch_buffer *b, size_t max_tokens, size_t max_texts, aoe_error *err);
void aoei_batch_buffer_destroy(aoei_batch_buffer *b); /* accepts a zeroed struct */
void aoei_batch_clear(aoei_batch_buffer *b);
/* Appends one text of n > 0 ids. text_index: key of its dropout masks. The caller must not exceed max_tokens and max_texts. */
void aoei_batch_add(aoei_batch_buffer *b, const int32_t *ids, size_t n, uint32_t text_index);

#endif
