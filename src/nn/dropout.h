/* SPDX-License-Identifier: MIT
 * Dropout of matrices with one row for each token of a batch. The mask of an element depends only on the seed, the step, the
 * site, the text, the token and the column (docs/numerics.md, "Masks"), not on the batch or the threads. A site is an operation
 * of an encoder layer that applies dropout.
 */
#ifndef AOEI_NN_DROPOUT_H
#define AOEI_NN_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Parameters of dropout at one site in one optimizer step. */
typedef struct aoei_dropout {
    double p;        /* probability of dropping an element; 0: no dropout */
    uint32_t key[2]; /* key of the step, computed by aoei_dropout_key (base/random.h) */
    uint32_t site;   /* aoei_site(layer, kind), or aoei_adapter_site */
} aoei_dropout;

/* Kinds of sites. Site 0 is the embedding output; encoder layer l (from 0) has the sites 4 l + 1 to 4 l + 3. */
enum { AOEI_SITE_EMBEDDING = 0, AOEI_SITE_ATTENTION = 1, AOEI_SITE_ATTENTION_OUTPUT = 2, AOEI_SITE_FFN_OUTPUT = 3 };
static inline uint32_t aoei_site(size_t layer, uint32_t kind) {
    return (uint32_t)(4 * layer) + kind;
}

/* y = residual + dropout(x), all of one type and shape; an absent residual counts as 0. y may be x or residual. To compute the
 * gradient of x, call this function with the gradient of y as x and without a residual; in this case, y may be bf16 and x
 * float32. If p is 0, the function computes y = residual + x (float32 only), or copies x if the residual is absent. */
void aoei_dropout_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor residual, const aoei_batch *batch,
                      const aoei_dropout *drop);

/* ---- for operations in nn/ that include dropout */

/* Returns the index of the text to which token `row` of the batch belongs. */
size_t aoei_batch_text(const aoei_batch *b, size_t row);
/* Returns the kernel arguments for the mask of token `row`, which belongs to text `text`. */
aoei_dropout_row aoei_dropout_token(const aoei_dropout *drop, const aoei_batch *b, size_t text, size_t row);

#endif
