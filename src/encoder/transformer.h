/* SPDX-License-Identifier: MIT
 * The transformer encoder, in all variants that aoei_encoder_config describes.
 */
#pragma once

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_transformer_ops;
