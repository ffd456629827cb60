/* SPDX-License-Identifier: MIT
 * Reference implementation of BERT in double precision, and of the options that other architectures use instead. It computes
 * token by token from the formulas, with dropout masks from the definition of the generator. Tests compare the encoder with it
 * and compute finite differences of it. It shares no code with src/encoder or src/nn, except the descriptions of the weight
 * slots.
 */
#ifndef AOE_TESTS_BERT_REFERENCE_H
#define AOE_TESTS_BERT_REFERENCE_H

#include "encoder/config.h"
#include "encoder/encoder.h"
#include "nn/batch.h"

typedef struct bert_reference {
    const aoei_encoder_config *config;
    const aoei_batch *batch;
    const aoei_encoder_dropout *drop; /* NULL: no dropout */
    double **weights;                 /* [slots] row-major copies of the weights; owned; NULL for an absent weight */
    double *first, *last;             /* [N, D] embedding output and last hidden state of the most recent forward pass; owned */
} bert_reference;

/* Creates the reference model with copies of `weights` [slots] in double precision. The model keeps the pointers c, batch and
 * drop, which must stay valid. */
void bert_reference_create(bert_reference *r, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *weights,
                           const aoei_batch *batch, const aoei_encoder_dropout *drop);
void bert_reference_destroy(bert_reference *r);
void bert_reference_forward(bert_reference *r);
/* Writes the pooled vectors of the most recent forward pass to out[n_texts, D]. */
void bert_reference_pool(const bert_reference *r, aoe_pooling pooling, double *out);

#endif
