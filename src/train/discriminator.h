/* SPDX-License-Identifier: MIT
 * Replaced token detection, the second term of the loss of DiffCSE (Chuang et al. 2022). A replacement replaces tokens
 * of each text. The discriminator, the second encoder of the parameters, encodes the new tokens.
 * The embedding output of its first token is replaced by the projected embedding z of the text, without position
 * embedding, norm and dropout. A classifier (the training head of the parameters, [2, D]) predicts for each token
 * whether it was replaced (loss/detection_objective.h). The first token of a text is never replaced. The loss is the
 * mean over all tokens of the batch. Its gradient reaches the discriminator, the classifier and, through z, the first
 * encoder.
 */
#pragma once

#include "train/added_loss.h"

/* Replaces tokens. */
typedef struct aoei_replacement {
    /* Sets ids[n_tokens] to the replaced tokens of the batch. key: key of the step. The random numbers are a function
     * of the key, the index of the text in the step, and the position of the token. */
    void (*replace)(void *self, const aoei_batch *batch, const uint32_t key[2], int32_t *ids);
    void *self;    /* first argument of `replace`; borrowed */
    double weight; /* factor of the mean loss in the loss of the step, non-negative */
} aoei_replacement;

/* The sums over the chunks of a batch. */
typedef struct aoei_detection_sums {
    size_t tokens; /* number of tokens in the whole batch */
    double loss;   /* sum of the losses of the tokens so far */
} aoei_detection_sums;

/* Buffers of the discriminator. tokens and texts: maximum numbers of a chunk. D: hidden size. A zeroed struct has
 * none. */
typedef struct aoei_discriminator {
    aoei_added_loss base; /* the loss that a step adds */
    aoei_replacement replacement;
    uint32_t key[2];          /* key of the step (aoei_dropout_key), set by the caller before each step */
    aoei_encoder_state state; /* activations of a chunk; in the arena of the caller */
    aoei_first_vectors first; /* [texts, D] embeddings z of a chunk and their gradients; in the arena of the caller */
    aoei_detection_sums sums;
    int32_t *ids;         /* [tokens] tokens after replacement; owned */
    uint8_t *label;       /* [tokens] 1 for replaced tokens; owned */
    float *host, *grad;   /* [tokens, D] last hidden states in main memory, and their gradients; owned */
    double *work;         /* [AOEI_DETECTION_WORK tokens] workspace of the loss; owned */
    float *head;          /* [2 (D + 1)] weight of the classifier, followed by its bias, in float32; owned */
    double *values, *sum; /* [2 (D + 1)] the same in float64, and the sum of their gradients; owned */
} aoei_discriminator;

/* Returns 1 if the encoder can be a discriminator: a transformer whose pooling uses the last hidden state. */
int aoei_discriminator_supports(const aoei_encoder_config *c);
/* Initializes a discriminator without buffers, which a step allocates (aoei_added_loss). */
void aoei_discriminator_init(aoei_discriminator *d, const aoei_replacement *replacement);
void aoei_discriminator_destroy(aoei_discriminator *d); /* frees the buffers in main memory; accepts a zeroed struct */

/* Sets key[2] to the key of one of several purposes (0, 1, ...), a function of the key of the step. */
void aoei_replacement_key(uint32_t key[2], const uint32_t step[2], uint32_t purpose);
