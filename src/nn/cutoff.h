/* SPDX-License-Identifier: MIT
 * Cutoffs (ConSERT, Yan et al. 2021): columns or tokens of the embedding output of a text that are set to zero. They
 * are applied to the embedding output in the forward pass, and to its gradient in the backward pass.
 */
#pragma once

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Sets the elements of x[N, D] that the cutoffs of the batch remove to zero. x contains one row for each token of the
 * batch. The batch must have cutoffs, and their columns must be below D. */
void aoei_cutoff_apply(const aoe_context *ctx, aoei_tensor x, const aoei_batch *batch);
