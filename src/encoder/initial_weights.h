/* SPDX-License-Identifier: MIT
 * Initial values of weights for training from scratch.
 */
#pragma once

#include "encoder/config.h"

/* Fills to[rows, cols] with the initial values of the weight in `slot` (a slot is the index of a weight,
 * slot_layout.h). Matrices are drawn from a normal distribution with mean 0 and standard deviation 0.02, as in BERT.
 * Weights of norms are 1, and biases are 0. The adapter weight lora_A is uniform between -1 / sqrt(cols) and 1 /
 * sqrt(cols), and lora_B is 0. The values depend only on the seed and the slot. */
void aoei_init_weight(float *to, const aoei_encoder_config *c, size_t slot, uint64_t seed);
