/* SPDX-License-Identifier: MIT
 * BERT, and the options that other encoders have instead, in double precision, token by token from the formulas, with dropout
 * masks from the generator's definition: what the encoder is held against, and what finite differences are taken of. Shares no
 * code with src/model or src/nn but the description of the slots.
 */
#ifndef AOE_TESTS_BERT_REFERENCE_H
#define AOE_TESTS_BERT_REFERENCE_H

#include "encoder/config.h"
#include "encoder/encoder.h"
#include "nn/batch.h"

typedef struct bert_reference {
    const aoei_encoder_config *config;
    const aoei_batch *batch;
    const aoei_encoder_dropout *drop; /* NULL: none */
    double **weights;                 /* [slots] row-major, owned; NULL where absent */
    double *first, *last;             /* [N, D] embedding output and last hidden state, owned; of the last forward */
} bert_reference;

/* Copies the weights [slots]. */
void bert_reference_create(bert_reference *r, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *weights,
                           const aoei_batch *batch, const aoei_encoder_dropout *drop);
void bert_reference_destroy(bert_reference *r);
void bert_reference_forward(bert_reference *r);
/* out[n_texts, D] of the last forward. */
void bert_reference_pool(const bert_reference *r, aoe_pooling pooling, double *out);

#endif
