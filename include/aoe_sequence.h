/* SPDX-License-Identifier: MIT
 *
 * aoe_sequence.h: texts that are tokenized before they are embedded. aoe_embed tokenizes and embeds in one call, with
 * the settings of the model. A program that embeds texts of many callers, such as a server, needs both steps: it
 * tokenizes each text with the settings of its caller, and it then embeds all texts that wait in one batch. This
 * interface is experimental: it may change before version 1.0.
 */
#ifndef AOE_SEQUENCE_H
#define AOE_SEQUENCE_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tokenized text or text pair, with the settings of its embedding. It never changes, and several threads may use it
 * at the same time. It may be used with every embedder of the model for which it was created, and does not borrow it.
 */
typedef struct aoe_sequence aoe_sequence;

/* Treatment of texts that are longer than the maximum sequence length. */
typedef enum aoe_truncation {
    AOE_TRUNCATE_END,   /* keep the first tokens */
    AOE_TRUNCATE_START, /* keep the last tokens, of both texts of a pair; not for models that read texts or pairs in a
                           template */
    AOE_TRUNCATE_NONE   /* keep all tokens. aoe_embed_sequences rejects such a text; aoe_sequence_get_info returns its
                           length, so that a program can do so earlier */
} aoe_truncation;

typedef struct aoe_sequence_options {
    size_t struct_size; /* set by aoe_sequence_options_defaults */
    const char *prompt; /* prompt template, in which {text} stands for the text; "": no prompt; NULL (default): that of
                           the model */
    const char *prompt_name; /* name of a prompt of the model, as in aoe_model_options; NULL (default): `prompt` */
    size_t max_length;       /* maximum tokens per text, at most that of the model; 0 (default): that of the model */
    int truncation;          /* an aoe_truncation; default AOE_TRUNCATE_END */
    int normalize; /* 1: scale the embedding to unit L2 norm; 0: do not; AOE_AUTO (default): as the model does */
    size_t dims;   /* number of components of the embedding, from 1 to aoe_model_dims; 0 (default):
                      aoe_embedder_dims */
} aoe_sequence_options;

AOE_OPTIONS(aoe_sequence_options);

typedef struct aoe_sequence_info {
    size_t struct_size; /* set by the caller */
    size_t tokens;      /* number of tokens, including special tokens and the prompt */
    int truncated;      /* 1 if the text was truncated */
    size_t dims;        /* number of components of the embedding, or of scores of a pair */
    size_t max_length;  /* maximum number of tokens with which the text can be embedded */
    size_t token_dims;  /* number of components of a state of aoe_embed_tokens */
} aoe_sequence_info;

/* Tokenizes n texts with the same options: many texts with the threads of the context of the model, few texts with the
 * calling thread. sequences: [n], owned by the caller, who destroys each element. If the function fails, no element is
 * created, and aoe_embed_failed_text returns the index of the text. The embeddings of aoe_embed_sequences are
 * bit-identical to those of aoe_embed with a model that was opened with the same settings. An embedder that divides
 * texts into chunks (AOE_CHUNK_MEAN) is rejected. Errors: AOE_EFORMAT (invalid UTF-8; a text without tokens), AOE_EARG
 * (an unknown prompt_name, which the message lists; a cross-encoder; dims or max_length are too large). */
AOE_API int aoe_sequences_create(aoe_embedder *e, const aoe_text *texts, size_t n,
                                 const aoe_sequence_options *AOE_NULLABLE o, aoe_sequence **sequences,
                                 aoe_error *AOE_NULLABLE err);
/* Tokenizes n text pairs for a cross-encoder, as aoe_score_pairs does. If `second` is NULL, the model reads each first
 * text alone, as a classifier of single texts does. The options `normalize` and `dims` have no meaning for pairs and
 * must have their defaults. Errors: see aoe_sequences_create; AOE_EARG (an embedding model; `second` is NULL, and the
 * model is a language model whose template contains both texts). */
AOE_API int aoe_sequences_create_pairs(aoe_embedder *e, const aoe_text *first, const aoe_text *AOE_NULLABLE second,
                                       size_t n, const aoe_sequence_options *AOE_NULLABLE o, aoe_sequence **sequences,
                                       aoe_error *AOE_NULLABLE err);
/* Creates a sequence from the token ids ids[n] of the model's tokenizer, special tokens included. The ids are used as
 * they are: the options `prompt` and `prompt_name` must have their defaults, and truncation removes ids at the end or
 * at the start. Errors: AOE_EARG (an id that is not in the vocabulary; no ids; a model that needs other inputs, such
 * as those that subtract the embedding of a prompt). */
AOE_API int aoe_sequence_create_ids(aoe_embedder *e, const int32_t *ids, size_t n,
                                    const aoe_sequence_options *AOE_NULLABLE o, aoe_sequence **sequence,
                                    aoe_error *AOE_NULLABLE err);
AOE_API void aoe_sequence_destroy(aoe_sequence *AOE_NULLABLE s);
/* Sets *info, whose struct_size the caller has set. */
AOE_API void aoe_sequence_get_info(const aoe_sequence *s, aoe_sequence_info *info);
/* Returns the token ids of the sequence, and sets *n to their number. Borrowed from the sequence. */
AOE_API const int32_t *aoe_sequence_ids(const aoe_sequence *s, size_t *n);

/* Computes the embeddings of n sequences, which may have different options. Sequence i writes its `dims` components to
 * vectors[i], which the caller owns. The result does not depend on the other sequences. If a sequence fails,
 * aoe_embed_failed_text returns its index, and the contents of all vectors are undefined. Errors: AOE_ENUMERIC (a
 * component is not finite), AOE_EARG (a sequence of another model; a sequence with too many tokens; a pair),
 * AOE_ENOMEM. */
AOE_API int aoe_embed_sequences(aoe_embedder *e, const aoe_sequence *const *sequences, size_t n, float *const *vectors,
                                aoe_error *AOE_NULLABLE err);
/* Computes the scores of n pairs with a cross-encoder. Pair i writes aoe_model_classes outputs to scores[i].
 * activation: an aoe_score_activation; AOE_AUTO: that of the model. Errors: see aoe_embed_sequences. */
AOE_API int aoe_score_sequences(aoe_embedder *e, const aoe_sequence *const *sequences, size_t n, int activation,
                                float *const *scores, aoe_error *AOE_NULLABLE err);
/* Computes the last hidden states of the tokens of one sequence, before the pooling. states: [tokens, token_dims] (see
 * aoe_sequence_info), owned by the caller. Errors: see aoe_embed_sequences. */
AOE_API int aoe_embed_tokens(aoe_embedder *e, const aoe_sequence *s, float *states, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
