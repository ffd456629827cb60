/* SPDX-License-Identifier: MIT
 * Rotary positions (RoPE, Su et al. 2021). Component i of a head is paired with component i + d / 2, as in Hugging
 * Face's LLaMA. The angles can be scaled, so that the model can encode texts that are longer than those of its
 * pretraining.
 */
#pragma once

#include <stddef.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

typedef enum aoei_rope_scaling {
    AOEI_ROPE_PLAIN,
    AOEI_ROPE_LINEAR,  /* positions are divided by `factor` */
    AOEI_ROPE_DYNAMIC, /* in texts with T tokens, where T > positions, theta is multiplied by (factor * T / positions -
                          factor + 1)^(d / (d - 2)) */
    AOEI_ROPE_YARN,    /* YaRN (Peng et al. 2024): pairs with at least `high` full rotations per `positions` tokens are
                          unchanged, the wavelength of pairs with at most `low` rotations is multiplied by `factor`, and
                          between these pairs, the angle is interpolated linearly in the index of the pair */
    AOEI_ROPE_LONG,  /* LongRoPE (Ding et al. 2024): the angle of pair i is divided by long_factor[i] in texts with more
                        than `positions` tokens, otherwise by short_factor[i] */
    AOEI_ROPE_LLAMA3 /* the wavelength of a pair is the number of tokens per full rotation. Wavelengths above positions
                        / low are multiplied by `factor`, and wavelengths below positions / high are unchanged. Between
                        these limits, the angle is interpolated linearly in the number of rotations per `positions`
                        tokens */
} aoei_rope_scaling;

#define AOEI_ROPE_MAX_PAIRS 256 /* maximum number of factors of LongRoPE */

typedef struct aoei_rope {
    double theta; /* base of the angles: without scaling, pair i is rotated by position * theta^(-2 i / d) */
    aoei_rope_scaling scaling;
    double factor, low, high; /* parameters of the scaling; aoei_rope_scaling describes them */
    double magnitude;         /* factor of cosines and sines, and therefore of queries and keys; 0: 1 */
    int fractional;           /* YaRN: 1: the bounds of the interpolated pairs are not rounded to whole pairs */
    size_t dims;      /* number of components of a head that are rotated, the first ones, even; 0: all components */
    size_t positions; /* maximum sequence length in pretraining, in tokens */
    size_t n_factors; /* LongRoPE: number of factors, which is the number of pairs in a head */
    /* LongRoPE: [n_factors] factors, which are float32 in transformers */
    float short_factor[AOEI_ROPE_MAX_PAIRS], long_factor[AOEI_ROPE_MAX_PAIRS];
} aoei_rope;
/* Returns the number of rotated components of a head with d components. */
static inline size_t aoei_rope_dims(const aoei_rope *r, size_t d) {
    return r->dims ? r->dims : d;
}
/* Fills table[N, d] (float32), where d is the number of rotated components of a head. The row of a token contains the
 * cosines of its d / 2 angles and then the sines. */
void aoei_rope_table(const aoe_context *ctx, aoei_tensor table, const aoei_rope *r, const aoei_batch *batch);
/* Rotates the pairs (i, i + d / 2) of every head of x[N, heads head_dim] by the angles of the token, in place. The
 * components from d on are unchanged. If back is 1, applies
 * the inverse rotation; this converts the gradient of the output to the gradient of the input. x is float32 or bf16 and
 * may be a column view. */
void aoei_rope_apply(const aoe_context *ctx, aoei_tensor x, aoei_tensor table, size_t head_dim, int back);
