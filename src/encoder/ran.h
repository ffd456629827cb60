/* SPDX-License-Identifier: MIT
 * RAN, the Recurrent Attention Network (Li et al. 2023): an encoder that processes a text in windows of tokens, one after
 * the other. It passes a cell, a vector with a summary of the text, from window to window and from layer to layer. docs/ran.md
 * defines the computation.
 */
#ifndef AOEI_ENCODER_RAN_H
#define AOEI_ENCODER_RAN_H

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_ran_ops;

#endif
