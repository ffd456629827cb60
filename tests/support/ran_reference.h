/* SPDX-License-Identifier: MIT
 * Reference implementation of the Recurrent Attention Network in double precision, for tests. It computes one text and one step
 * at a time, as docs/ran.md defines it: the forward pass with dropout masks by their definition, pooling, and the
 * masked-language-model head. It shares no code with the encoder, except the configuration and the order of the weights.
 */
#ifndef AOE_TESTS_RAN_REFERENCE_H
#define AOE_TESTS_RAN_REFERENCE_H

#include "encoder/encoder.h"
#include "encoder/ran.h"
#include "nn/batch.h"

typedef struct ran_reference {
    const aoei_encoder_config *config;
    const aoei_batch *batch;          /* batch with text_index; borrowed */
    const aoei_encoder_dropout *drop; /* NULL: no dropout */
    double **weights;                 /* [slots] float32 weights as double, owned; a test may change them */
    double *first, *last;             /* [N, D] embedding output and last hidden state; owned */
    double *cells;                    /* [windows, D] raw cells of the last layer, text by text; owned */
    double *last_cell;                /* [texts, D] last cell of each text in the last layer; owned */
    size_t *windows;                  /* [texts] number of windows; owned */
} ran_reference;

void ran_reference_create(ran_reference *r, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *weights,
                          const aoei_batch *batch, const aoei_encoder_dropout *drop);
void ran_reference_destroy(ran_reference *r);
void ran_reference_forward(ran_reference *r);
/* Writes the pooled vectors of the most recent forward pass to out[texts, D]. */
void ran_reference_pool(const ran_reference *r, aoe_pooling pooling, double *out);
/* Returns the sum of the cross entropies of n tokens of the most recent forward pass. Dropout is applied before the head. */
double ran_reference_mlm_loss(const ran_reference *r, const uint32_t *token, const int32_t *target, size_t n);

/* Computes the windows of a text with the loop in the definition. Window i consists of the tokens [begin[i], end[i]). Returns
 * the number of windows, which is at most the number of tokens. */
size_t ran_reference_windows(const aoei_encoder_config *c, size_t tokens, size_t *begin, size_t *end);

/* Returns a small configuration: hidden size 16, 2 layers, 2 heads of size 6, windows of 4 tokens, at least 2 tokens in the
 * last window, and a vocabulary of 30 tokens. */
aoei_encoder_config ran_tiny_config(void);

#endif
