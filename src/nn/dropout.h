/* SPDX-License-Identifier: MIT
 * Dropout of matrices with one row for each token of a batch. A site is a number that identifies one use of dropout,
 * for example the output of the attention in encoder layer 3. The mask of an element depends only on the seed, the
 * step, the site, the text, the token and the column (docs/numerics.md, "Masks"). It does not depend on the batch or
 * the number of threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Parameters of dropout at one site in one optimizer step. */
typedef struct aoei_dropout {
    double p;        /* probability of dropping an element; 0: no dropout */
    uint32_t key[2]; /* Philox key of the optimizer step, computed by aoei_dropout_key (base/random.h) */
    uint32_t site;   /* number of the dropout site, for example the result of aoei_site(layer, kind) or
                        aoei_adapter_site */
} aoei_dropout;

/* Kinds of dropout sites. The embedding output is site 0. Encoder layer l (counted from 0) has sites 4 l + 1 to 4 l +
 * 3. */
enum { AOEI_SITE_EMBEDDING = 0, AOEI_SITE_ATTENTION = 1, AOEI_SITE_ATTENTION_OUTPUT = 2, AOEI_SITE_FFN_OUTPUT = 3 };
static inline uint32_t aoei_site(size_t layer, uint32_t kind) {
    return (uint32_t)(4 * layer) + kind;
}

/* Computes y = residual + dropout(x). All tensors have one type and shape. If residual is absent, computes y =
 * dropout(x). y may be x or residual. To compute the gradient of x, pass the gradient of y as x and no residual; in
 * this case, y may be bf16 and x float32. If p is 0, the function computes y = residual + x, or copies x if residual is
 * absent. */
void aoei_dropout_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor residual,
                      const aoei_batch *batch, const aoei_dropout *drop);

/* ---- only for operations of nn/ that apply dropout as a part of their computation */

/* Returns the index of the text to which token `row` of the batch belongs. */
size_t aoei_batch_text(const aoei_batch *b, size_t row);
/* Returns the kernel arguments for the dropout mask of token `row` of the batch, which belongs to text `text`. */
aoei_dropout_row aoei_dropout_token(const aoei_dropout *drop, const aoei_batch *b, size_t text, size_t row);
