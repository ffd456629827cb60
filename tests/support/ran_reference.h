/* SPDX-License-Identifier: MIT
 * The Recurrent Attention Network in double precision, a text at a time and step after step as its definition reads
 * (docs/ran.md), for tests: forward with dropout masks by their definition, pooling, and the masked-LM head. It shares nothing
 * with the encoder but the configuration and the order of the weights.
 */
#ifndef AOE_TESTS_RAN_REFERENCE_H
#define AOE_TESTS_RAN_REFERENCE_H

#include "encoder/encoder.h"
#include "encoder/ran.h"
#include "nn/batch.h"

typedef struct ran_reference {
    const aoei_encoder_config *config;
    const aoei_batch *batch;          /* with text_index */
    const aoei_encoder_dropout *drop; /* NULL: none */
    double **weights;                 /* [slots] float32 values as double, owned; a test may change them */
    double *first, *last;             /* [N, D] embedding output, last hidden state; owned */
    double *cells;                    /* [windows, D] raw cells of the last layer, text after text; owned */
    double *last_cell;                /* [texts, D] of the last layer; owned */
    size_t *windows;                  /* [texts] how many; owned */
} ran_reference;

void ran_reference_create(ran_reference *r, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *weights,
                          const aoei_batch *batch, const aoei_encoder_dropout *drop);
void ran_reference_destroy(ran_reference *r);
void ran_reference_forward(ran_reference *r);
/* out[texts, D] of the last forward. */
void ran_reference_pool(const ran_reference *r, aoe_pooling pooling, double *out);
/* Summed cross entropy of n tokens of the last forward, with dropout before the head. */
double ran_reference_mlm_loss(const ran_reference *r, const uint32_t *token, const int32_t *target, size_t n);

/* The windows of a text by the definition's loop: begin[i], end[i]; returns how many (at most tokens). */
size_t ran_reference_windows(const aoei_encoder_config *c, size_t tokens, size_t *begin, size_t *end);

/* A small configuration: hidden 16, 2 layers, 2 heads of 6, windows of 4 tokens, the last of at least 2, vocabulary 30. */
aoei_encoder_config ran_tiny_config(void);

#endif
