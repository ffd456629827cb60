/* SPDX-License-Identifier: MIT
 * The encoder of static models (Model2Vec). The hidden states are the word embeddings. There are no layers, positions
 * or norms.
 */
#pragma once

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_static_ops;
