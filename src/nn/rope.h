/* SPDX-License-Identifier: MIT
 * Rotary positions (RoPE, Su et al. 2021) in the split-half order of Hugging Face's LLaMA, with
 * scaling of the angles for texts that are longer than the texts of pretraining.
 */
#ifndef AOEI_NN_ROPE_H
#define AOEI_NN_ROPE_H

#include <stddef.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

typedef enum aoei_rope_scaling {
    AOEI_ROPE_PLAIN,
    AOEI_ROPE_LINEAR,  /* positions are divided by `factor` */
    AOEI_ROPE_DYNAMIC, /* for texts of T > positions tokens, theta is multiplied by
                          (factor T / positions - factor + 1)^(d / (d - 2)) */
    AOEI_ROPE_LLAMA3   /* wavelengths above positions / low are multiplied by `factor`, wavelengths below positions / high are
                          unchanged, and wavelengths between them are interpolated */
} aoei_rope_scaling;
typedef struct aoei_rope {
    double theta; /* base: component pair i rotates by position * theta^(-2 i / d) */
    aoei_rope_scaling scaling;
    double factor, low, high; /* parameters of the scaling, see aoei_rope_scaling */
    size_t positions;         /* maximum sequence length of pretraining, in tokens */
} aoei_rope;
/* Fills table[N, d] (float32): for each token, the cosines of its d / 2 angles, followed by the sines. */
void aoei_rope_table(const aoe_context *ctx, aoei_tensor table, const aoei_rope *r, const aoei_batch *batch);
/* Rotates the pairs (i, i + d / 2) of every head of x[N, heads d] by the angles of the token. If back is 1, applies the inverse
 * rotation; applied to the gradient of the output, it gives the gradient of the input. x is float32 or bf16 and may be a column
 * view. */
void aoei_rope_apply(const aoe_context *ctx, aoei_tensor x, aoei_tensor table, int back);

#endif
