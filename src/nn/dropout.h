/* SPDX-License-Identifier: MIT
 * For nn/ alone: the generator's counters of a row of tokens, for operations that have dropout inside.
 */
#ifndef AOEI_NN_DROPOUT_H
#define AOEI_NN_DROPOUT_H

#include "nn/nn.h"

/* The text that token `row` belongs to. */
size_t aoei_batch_text(const aoei_batch *b, size_t row);
/* The masks of token `row`, of that text. */
aoei_dropout_row aoei_dropout_token(const aoei_dropout *drop, const aoei_batch *b, size_t text, size_t row);

#endif
