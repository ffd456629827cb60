/* SPDX-License-Identifier: MIT
 * Tokenizes texts on all threads and assembles packed batches (aoei_batch), for the embedder and the trainer.
 */
#ifndef AOEI_MODEL_TEXT_BATCH_H
#define AOEI_MODEL_TEXT_BATCH_H

#include "model/model.h"
#include "nn/batch.h"

/* Number of tokens before and after the tokens of a text: special tokens and the prompt. */
typedef struct aoei_affix_lengths {
    size_t prefix, suffix;
} aoei_affix_lengths;

/* The token ids of n texts. */
typedef struct aoei_token_lists {
    size_t n;           /* number of texts */
    int32_t *ids;       /* [offsets[n]] concatenated token ids, owned */
    size_t *offsets;    /* [n + 1] index in `ids` of the first token of each text; the last element is the total; owned */
    uint8_t *truncated; /* [n] 1 for each text that was truncated, owned */
    aoei_affix_lengths *affixes; /* [n] set if the texts are not truncated to the maximum length, otherwise NULL; owned */
} aoei_token_lists;

/* Tokenizes n texts with the prompt and the maximum length of the model. The caller frees *out with aoei_token_lists_free. On
 * failure, *failed (may be NULL) is set to the index of the first text that failed, or to (size_t)-1. Errors: AOE_ENOENT (the
 * model has no tokenizer), AOE_EFORMAT (a text without tokens, invalid UTF-8), AOE_EARG (the prompt is too long), AOE_ENOMEM.
 */
int aoei_encode_texts(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                      aoe_error *err);
/* Like aoei_encode_texts, but text i has the prompt prompts[prompt_index[i]]. An element NULL of `prompts` means the prompt
 * of the model, and "" means no prompt. */
int aoei_encode_with_prompts(const aoe_model *m, const aoe_text *texts, size_t n, const char *const prompts[2],
                             const uint8_t *prompt_index, aoei_token_lists *out, size_t *failed, aoe_error *err);
/* Like aoei_encode_texts, but with the options `o` instead of the settings of the model. A text may have no tokens. */
int aoei_encode_with_options(const aoe_model *m, const aoe_text *texts, size_t n, const aoe_encode_options *o,
                             aoei_token_lists *out, size_t *failed, aoe_error *err);
/* Like aoei_encode_texts, for inference: with a static model, a text may have no tokens. */
int aoei_encode_for_inference(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                              aoe_error *err);
/* Like aoei_encode_for_inference, for texts that are split into chunks: they are not truncated, and out->affixes is set. */
int aoei_encode_for_chunks(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                           aoe_error *err);
void aoei_token_lists_free(aoei_token_lists *l);
/* Returns the number of tokens of text i. */
static inline size_t aoei_token_count(const aoei_token_lists *l, size_t i) {
    return l->offsets[i + 1] - l->offsets[i];
}

/* Sets class_of[i] to the index of the first text with the same token ids as text i. class_of: [l->n]; l->n must be at most
 * 2^32 - 2. Errors: AOE_ENOMEM. */
int aoei_token_classes(const aoei_token_lists *l, uint32_t *class_of, aoe_error *err);

/* Returns 1 if texts without tokens are allowed, as in static models. The embedding of such a text is zero. */
int aoei_allows_no_tokens(const aoe_model *m);

/* A batch and the memory of its arrays, for up to max_tokens tokens in max_texts texts. aoei_batch (nn/batch.h) defines the
 * arrays. */
typedef struct aoei_batch_buffer {
    aoei_batch batch;     /* points to the arrays below */
    int32_t *ids;         /* [max_tokens] token ids, owned */
    uint32_t *positions;  /* [max_tokens] position of each token in its text, owned */
    uint32_t *offsets;    /* [max_texts + 1] index of the first token of each text, and the number of tokens; owned */
    uint32_t *text_index; /* [max_texts] argument text_index of aoei_batch_add for each text, owned */
    size_t max_tokens, max_texts;
} aoei_batch_buffer;

/* Creates an empty batch. Errors: AOE_EARG (2^32 - 1 tokens or texts, or more), AOE_ENOMEM. */
int aoei_batch_buffer_create(aoei_batch_buffer *b, size_t max_tokens, size_t max_texts, aoe_error *err);
void aoei_batch_buffer_destroy(aoei_batch_buffer *b); /* accepts a zeroed struct */
void aoei_batch_clear(aoei_batch_buffer *b);          /* removes all texts */
/* Appends a text of n > 0 tokens. text_index: identifies the text in the random numbers of dropout. The caller must not exceed
 * max_tokens and max_texts. */
void aoei_batch_add(aoei_batch_buffer *b, const int32_t *ids, size_t n, uint32_t text_index);

#endif
