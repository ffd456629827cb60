/* SPDX-License-Identifier: MIT
 * Tokenizes texts on all threads and assembles packed batches (aoei_batch), for the embedder and the trainer.
 */
#pragma once

#include "model/model.h"
#include "nn/batch.h"

/* The numbers of special tokens and prompt tokens before and after the tokens of a text. */
typedef struct aoei_affix_lengths {
    size_t prefix, suffix;
} aoei_affix_lengths;

/* The token ids of n texts. */
typedef struct aoei_token_lists {
    size_t n;        /* number of texts */
    int32_t *ids;    /* [offsets[n]] concatenated token ids, owned */
    size_t *offsets; /* [n + 1] index in `ids` of the first token of each text; the last element is the total; owned */
    uint8_t *truncated; /* [n] 1 for each text that was truncated, owned */
    uint8_t *types;     /* [offsets[n]] pairs: token type of each token, owned; NULL: all types are 0 */
    /* [n] numbers of tokens before and after each text, owned; NULL if texts were truncated to the maximum sequence
     * length */
    aoei_affix_lengths *affixes;
    uint32_t *skipped; /* [n] number of tokens at the beginning of each text that the pooling excludes, because they
                          belong to the prompt; owned; NULL: the pooling uses all tokens */
} aoei_token_lists;

/* Tokenizes n texts with the prompt and the maximum sequence length of the model. The caller frees *out with
 * aoei_token_lists_free. If a text cannot be tokenized, *failed is set to the index of the first such text. For all
 * other errors, *failed is set to (size_t)-1. `failed` may be NULL. Errors: AOE_ENOENT (the model has no tokenizer),
 * AOE_EFORMAT (a text without tokens, invalid UTF-8), AOE_EARG (the prompt is too long), AOE_ENOMEM.
 */
int aoei_encode_texts(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                      aoe_error *err);
/* Tokenizes texts as aoei_encode_texts does, but text i gets the prompt prompts[prompt_index[i]]. In `prompts`, NULL
 * stands for the prompt of the model, and "" for no prompt. */
int aoei_encode_with_prompts(const aoe_model *m, const aoe_text *texts, size_t n, const char *const prompts[2],
                             const uint8_t *prompt_index, aoei_token_lists *out, size_t *failed, aoe_error *err);
/* Tokenizes texts as aoei_encode_texts does, but with the options `o` instead of the settings of the model, except the
 * setting `lowercase`. Texts without tokens are allowed. */
int aoei_encode_with_options(const aoe_model *m, const aoe_text *texts, size_t n, const aoe_encode_options *o,
                             aoei_token_lists *out, size_t *failed, aoe_error *err);
/* Tokenizes texts as aoei_encode_texts does, but allows texts without tokens if the model is static. The only weights
 * of a static model are the token embeddings. This function is used for inference. The threads of ctx tokenize the
 * texts; functions without this parameter use the threads of the model's context. prompt: prompt template; "": no
 * prompt; NULL: that of the model. max_length: maximum number of tokens; 0: that of the model. */
int aoei_encode_for_inference(const aoe_context *ctx, const aoe_model *m, const aoe_text *texts, size_t n,
                              const char *prompt, size_t max_length, aoei_token_lists *out, size_t *failed,
                              aoe_error *err);
/* Tokenizes texts as aoei_encode_for_inference does, but does not truncate the texts, and sets out->affixes. The
 * embedder splits these texts into chunks. */
int aoei_encode_for_chunks(const aoe_context *ctx, const aoe_model *m, const aoe_text *texts, size_t n,
                           const char *prompt, aoei_token_lists *out, size_t *failed, aoe_error *err);
/* Tokenizes n text pairs for a cross-encoder, with the maximum sequence length of the model. prompt: template for the
 * first text of each pair; NULL: prompt of the model. max_length: maximum number of tokens; 0: that of the model;
 * SIZE_MAX: pairs are not truncated. left: 1: the first tokens of the texts of a long pair are removed; 0: those that
 * the tokenizer chooses; without effect for models that read a pair in a template. Element i of *out is the pair of
 * first[i] and second[i]. Token types for which the model has no embedding are 0. Errors: see aoei_encode_texts. */
int aoei_encode_pairs(const aoe_context *ctx, const aoe_model *m, const aoe_text *first, const aoe_text *second,
                      size_t n, const char *prompt, size_t max_length, int left, aoei_token_lists *out, size_t *failed,
                      aoe_error *err);
void aoei_token_lists_free(aoei_token_lists *l);
/* Returns the number of tokens of text i. */
static inline size_t aoei_token_count(const aoei_token_lists *l, size_t i) {
    return l->offsets[i + 1] - l->offsets[i];
}

/* Sets class_of[i] to the index of the first text whose token ids are equal to the token ids of text i. class_of:
 * [l->n]. l->n must be at most 2^32 - 2. Errors: AOE_ENOMEM. */
int aoei_token_classes(const aoei_token_lists *l, uint32_t *class_of, aoe_error *err);

/* Returns 1 if the model accepts texts without tokens, as static models do. The embedding of such a text is the zero
 * vector. */
int aoei_allows_no_tokens(const aoe_model *m);

/* A batch, and the memory of its arrays for at most max_tokens tokens and max_texts texts. The arrays are described in
 * aoei_batch (nn/batch.h). */
typedef struct aoei_batch_buffer {
    aoei_batch batch;     /* points to the arrays below */
    int32_t *ids;         /* [max_tokens] token ids, owned */
    uint8_t *types;       /* [max_tokens] token type of each token, used if aoei_batch_add_types was called; owned */
    uint32_t *positions;  /* [max_tokens] position of each token in its text, owned */
    uint32_t *offsets;    /* [max_texts + 1] index of the first token of each text, and the number of tokens; owned */
    uint32_t *text_index; /* [max_texts] value of the argument text_index of aoei_batch_add for each text, owned */
    uint32_t *skipped;    /* [max_texts] value of aoei_batch_skip for each text, owned */
    size_t max_tokens, max_texts;
} aoei_batch_buffer;

/* Creates an empty batch. Errors: AOE_EARG (max_tokens or max_texts is at least 2^32 - 1), AOE_ENOMEM. */
int aoei_batch_buffer_create(aoei_batch_buffer *b, size_t max_tokens, size_t max_texts, aoe_error *err);
void aoei_batch_buffer_destroy(aoei_batch_buffer *b); /* accepts a zeroed struct */
void aoei_batch_clear(aoei_batch_buffer *b);          /* removes all texts */
/* Appends a text with n tokens to the batch. n must be positive. The random numbers of dropout depend on text_index.
 * The batch must not contain more than max_tokens tokens and max_texts texts. */
void aoei_batch_add(aoei_batch_buffer *b, const int32_t *ids, size_t n, uint32_t text_index);
/* Appends a text as aoei_batch_add does, with the token types types[n]. Either all texts of a batch have token types,
 * or none. If `types` is NULL, the function is aoei_batch_add. */
void aoei_batch_add_types(aoei_batch_buffer *b, const int32_t *ids, const uint8_t *types, size_t n,
                          uint32_t text_index);
/* Makes the pooling exclude the tokens lists->skipped[i] of the text that was added last. i: index of the text in
 * `lists`. */
void aoei_batch_skip(aoei_batch_buffer *b, const aoei_token_lists *lists, size_t i);
