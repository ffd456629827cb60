/* SPDX-License-Identifier: MIT
 * Initial values of weights for training from scratch.
 */
#ifndef AOEI_ENCODER_INITIAL_WEIGHTS_H
#define AOEI_ENCODER_INITIAL_WEIGHTS_H

#include "encoder/config.h"

/* Fills the weight [rows, cols] of `slot`: normal with standard deviation 0.02 (BERT's initialization), norms 1, biases 0; for
 * an adapter lora_A uniform in +-1 / sqrt(cols) and lora_B 0. A pure function of (seed, slot). */
void aoei_init_weight(float *to, const aoei_encoder_config *c, size_t slot, uint64_t seed);

#endif
