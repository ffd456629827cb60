/* SPDX-License-Identifier: MIT
 * Computes initial weights. Each weight tensor has a separate stream of random numbers, so its values do not depend on
 * the order in which the tensors are initialized.
 */
#include "encoder/initial_weights.h"

#include <math.h>

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/random.h"

#define WEIGHT_SD 0.02

void aoei_init_weight(float *to, const aoei_encoder_config *c, size_t slot, uint64_t seed) {
    aoei_slot d;
    aoei_rng rng;
    aoei_slot_describe(c, slot, &d);
    aoei_rng_init(&rng, seed, AOEI_STREAM_INIT, aoei_slot_stream(c, slot));
    /* lora_A is uniform in [-bound, bound]: Kaiming uniform with a = sqrt(5), as in PEFT */
    const double bound = 1 / sqrt((double)(d.fan_in ? d.fan_in : d.cols));
    for (size_t i = 0; i < d.rows * d.cols; i++)
        to[i] = d.fan_in                     ? (float)(bound * (2 * aoei_rng_uniform(&rng) - 1))
                : d.norm                     ? 1.0f
                : d.vector || d.adapter == 2 ? 0.0f
                : d.adapter                  ? (float)(bound * (2 * aoei_rng_uniform(&rng) - 1))
                                             : (float)(WEIGHT_SD * aoei_rng_normal(&rng));
}
