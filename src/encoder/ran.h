/* SPDX-License-Identifier: MIT
 * The encoder of RAN, the Recurrent Attention Network (Li et al. 2023). It divides a text into windows of tokens and
 * processes them one after another. A cell is a vector that summarizes the text up to the current window. The cell is
 * passed from window to window and from layer to layer. docs/ran.md defines the computation.
 */
#pragma once

#include "encoder/encoder_ops.h"

extern const aoei_encoder_ops aoei_ran_ops;
