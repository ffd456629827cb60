/* SPDX-License-Identifier: MIT
 * The encoder of static models (Model2Vec). Its hidden states are the word embeddings; it has no layers, positions or norms.
 */
#ifndef AOEI_ENCODER_STATIC_ENCODER_H
#define AOEI_ENCODER_STATIC_ENCODER_H

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_static_ops;

#endif
