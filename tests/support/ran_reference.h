/* SPDX-License-Identifier: MIT
 * Reference implementation of the recurrent attention network (RAN) in double precision, for tests. It follows the
 * definition in docs/ran.md step by step, for one text at a time. It computes the forward pass, pooling, and the
 * masked-language-model head. Dropout masks are computed directly with the Philox generator. It shares no code with the
 * encoder of the library, except the configuration and the order of the weights.
 */
#pragma once

#include "encoder/encoder.h"
#include "encoder/ran.h"
#include "nn/batch.h"

typedef struct ran_reference {
    const aoei_encoder_config *config;
    const aoei_batch *batch;          /* the texts; text_index must be set; borrowed */
    const aoei_encoder_dropout *drop; /* NULL: no dropout */
    double **weights;                 /* [slots] weights in double, which a test may change; owned */
    double *first, *last;             /* [N, D] hidden states before the first layer and after the last layer; owned */
    double *cells;     /* [windows, D] cells g_t of the last layer (docs/ran.md), for the windows of all texts; owned */
    double *last_cell; /* [texts, D] final cell of the last layer; owned */
    size_t *windows;   /* [texts] number of windows; owned */
} ran_reference;

void ran_reference_create(ran_reference *r, const aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_tensor *weights, const aoei_batch *batch, const aoei_encoder_dropout *drop);
void ran_reference_destroy(ran_reference *r);
void ran_reference_forward(ran_reference *r);
/* Writes the pooled vectors of the most recent forward pass to out[texts, D]. */
void ran_reference_pool(const ran_reference *r, aoe_pooling pooling, double *out);
/* Returns the sum of the cross entropies of n tokens of the most recent forward pass. token[i] is the index of a token
 * in the batch, and target[i] is the token id to predict. Dropout is applied before the head. */
double ran_reference_mlm_loss(const ran_reference *r, const uint32_t *token, const int32_t *target, size_t n);

/* Computes the windows of a text of `tokens` tokens with the loop in the definition. Window i consists of the tokens
 * [begin[i], end[i]). Returns the number of windows, which is at most `tokens`. */
size_t ran_reference_windows(const aoei_encoder_config *c, size_t tokens, size_t *begin, size_t *end);

/* Returns a small configuration. It has hidden size 16, 2 layers, 2 heads of size 6, and a vocabulary of 30 tokens.
 * Windows have 4 tokens, and the last window at least 2. */
aoei_encoder_config ran_tiny_config(void);
