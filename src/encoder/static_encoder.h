/* SPDX-License-Identifier: MIT
 * The encoder of static models (Model2Vec). The hidden states are the word embeddings. There are no layers, positions
 * or norms.
 */
#ifndef AOEI_ENCODER_STATIC_ENCODER_H
#define AOEI_ENCODER_STATIC_ENCODER_H

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_static_ops;

#endif
