/* SPDX-License-Identifier: MIT
 * The transformer encoder, in all variants that aoei_encoder_config describes.
 */
#ifndef AOEI_ENCODER_TRANSFORMER_H
#define AOEI_ENCODER_TRANSFORMER_H

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_transformer_ops;

#endif
