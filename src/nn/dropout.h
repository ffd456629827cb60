/* SPDX-License-Identifier: MIT
 * Dropout of token rows. The mask of an element depends only on the seed, the step, the
 * layer, the text and the token (docs/numerics.md, "Masks"), not on the batch or the threads.
 */
#ifndef AOEI_NN_DROPOUT_H
#define AOEI_NN_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Dropout at one site (one place in one layer) in one optimizer step. */
typedef struct aoei_dropout {
    double p;        /* probability of dropping an element; 0: no dropout */
    uint32_t key[2]; /* the key of the seed and the step (base/random.h) */
    uint32_t site;   /* aoei_site(layer, kind), or aoei_adapter_site */
} aoei_dropout;

/* Kinds of sites within a layer. Site 0 is the embedding output; layer l (from 0) has the sites 4 l + 1 to 4 l + 3. */
enum { AOEI_SITE_EMBEDDING = 0, AOEI_SITE_ATTENTION = 1, AOEI_SITE_ATTENTION_OUTPUT = 2, AOEI_SITE_FFN_OUTPUT = 3 };
static inline uint32_t aoei_site(size_t layer, uint32_t kind) {
    return (uint32_t)(4 * layer) + kind;
}

/* y = residual + dropout(x), all of one type and shape; an absent residual counts as 0. y may be x or residual.
 * The backward of x is this function applied to the gradient without a residual; for it, y may be bf16 and x float32.
 * With p = 0 it is an addition (float32 only) or a copy. */
void aoei_dropout_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor residual, const aoei_batch *batch,
                      const aoei_dropout *drop);

/* ---- for operations of nn/ that apply dropout themselves */

/* The index of the text that token `row` of the batch belongs to. */
size_t aoei_batch_text(const aoei_batch *b, size_t row);
/* The mask of token `row`, which belongs to text `text`. */
aoei_dropout_row aoei_dropout_token(const aoei_dropout *drop, const aoei_batch *b, size_t text, size_t row);

#endif
