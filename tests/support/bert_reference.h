/* SPDX-License-Identifier: MIT
 * Reference implementation of the encoder in double precision: BERT, and the options of the other architectures. Tests
 * compare the encoder of the library with it and compute finite differences of it. It computes each token directly from
 * the formulas. Dropout masks are computed directly with the Philox generator. It shares no code with src/encoder or
 * src/nn, except the list of the encoder's weights (encoder/slots.h), in which the index of a weight is called its
 * slot.
 */
#pragma once

#include "encoder/config.h"
#include "encoder/encoder.h"
#include "nn/batch.h"

typedef struct bert_reference {
    const aoei_encoder_config *config;
    const aoei_batch *batch;
    const aoei_encoder_dropout *drop; /* NULL: no dropout */
    double **weights;                 /* [slots] row-major weights in double, owned; NULL: the weight is absent */
    double *first, *last; /* [N, D] hidden states before the first layer and after the last layer, or the weighted mean
                             of hidden states; owned */
    const double *first_vectors; /* [n_texts, D] vectors that replace the embedding output of the first token of each
                                    text (DiffCSE), set by the test, borrowed; NULL: none */
    double *states; /* [layers + 1, N, D] all hidden states, of which the last one follows the final norm; allocated by
                       the test, owned; NULL: not stored */
} bert_reference;

/* Creates the reference model with copies of `weights` [slots] in double precision. The model keeps the pointers c,
 * batch and drop, which must stay valid. */
void bert_reference_create(bert_reference *r, const aoe_context *ctx, const aoei_encoder_config *c,
                           const aoei_tensor *weights, const aoei_batch *batch, const aoei_encoder_dropout *drop);
void bert_reference_destroy(bert_reference *r);
void bert_reference_forward(bert_reference *r);
/* Returns the activation of x: exact GELU, GELU with the tanh approximation or with a logistic function (Hendrycks and
 * Gimpel 2016), SiLU (Elfwing et al. 2017), or ReLU. */
double bert_reference_activation(double x, aoei_activation form);
/* Writes the pooled vectors of the most recent forward pass to out[n_texts, D]. */
void bert_reference_pool(const bert_reference *r, aoe_pooling pooling, double *out);
