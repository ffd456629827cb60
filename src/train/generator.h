/* SPDX-License-Identifier: MIT
 * The generator of DiffCSE (Chuang et al. 2022): a masked language model that replaces tokens and is not trained. Of
 * the tokens of a text that are neither special tokens nor unknown, each is selected with the probability `rate`. A
 * selected token becomes [MASK] with probability 0.8 and a random token with probability 0.1; otherwise it is not
 * changed. The generator encodes these tokens with dropout, with the probabilities of its config.json, and predicts
 * every token, also those that were not selected: the new token is the one with the largest logit.
 */
#pragma once

#include "encoder/encoder.h"
#include "model/model.h"
#include "model/text_batch.h"
#include "train/discriminator.h"
#include "train/masking.h"

/* tokens: maximum number of tokens in a batch. A zeroed struct has no memory. */
typedef struct aoei_generator {
    aoe_context *ctx;     /* borrowed */
    aoe_model *model;     /* masked language model; owned */
    size_t vocab;         /* number of token ids that can be predicted: those of the tokenizer */
    aoei_masking masking; /* kinds of tokens, and tokens that replace others at random */
    aoei_arena arena;     /* memory of all tensors; owned */
    aoei_encoder_state state;
    aoei_mlm_transform transform; /* tensors of the masked-LM head before the decoder, for `tokens` rows */
    aoei_tensor logits;           /* [block, V] float32 logits */
    int32_t *ids;                 /* [tokens] masked tokens; owned */
    uint64_t fingerprint;         /* hash of the weights, for the training record */
} aoei_generator;

/* Opens the masked language model `dir`. trained: the model that is trained; its tokenizer must have the same token for
 * every id. rate: probability that a token is selected. The caller calls aoei_generator_destroy even if this function
 * fails. Errors: AOE_EARG if a token differs; AOE_EFORMAT if the directory contains no masked-LM head or the tokenizer
 * no [MASK] token; AOE_EUNSUPPORTED (see aoei_model_open_mlm), AOE_ENOENT, AOE_ENOMEM. */
int aoei_generator_open(aoei_generator *g, const aoe_model *trained, const char *dir, double rate, aoe_error *err);
/* Allocates the memory for batches of at most this many tokens and texts. longest: maximum number of tokens in a text.
 * Errors: AOE_EARG if the model does not support texts of this length, AOE_ENOMEM. */
int aoei_generator_lay_out(aoei_generator *g, size_t tokens, size_t texts, size_t longest, aoe_error *err);
/* Checks that every text begins with a special token, such as [CLS], which the discriminator replaces by the embedding.
 * path: name of the file in messages. Errors: AOE_EARG. */
int aoei_generator_check_texts(const aoei_generator *g, const aoei_token_lists *texts, const char *path,
                               aoe_error *err);
void aoei_generator_destroy(aoei_generator *g); /* accepts a zeroed struct */
/* Masks ids[n], the tokens of a text, in place. The random numbers are a function of the key, the number of the text in
 * the step, and the position of the token. */
void aoei_generator_mask(const aoei_generator *g, const uint32_t key[2], uint32_t text, int32_t *ids, size_t n);
/* Implements aoei_replacement.replace. self: the generator. */
void aoei_generator_replace(void *self, const aoei_batch *batch, const uint32_t key[2], int32_t *ids);
