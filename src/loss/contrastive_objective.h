/* SPDX-License-Identifier: MIT
 * The objective of examples without labels. An example is a query with a positive text and any number of negative
 * texts.
 */
#pragma once

#include "aoe_objective.h"
#include "loss/objective.h"
#include "base/context.h"

/* Returns the size in bytes of the workspace for batches of up to B examples. Returns 0 if the size overflows, or if
 * the arity is below 2. The size does not decrease if an argument increases. */
size_t aoei_contrastive_objective_workspace(size_t B, size_t D, size_t arity);

/* Computes the result of aoe_contrastive (aoe.h) without allocating memory. The workspace must be aligned to
 * AOEI_ALIGN. If ctx is NULL, one thread is used, with the kernels that the environment variable AOE_CPU allows.
 * Errors: AOE_EARG (for example, the workspace is too small); AOE_ENUMERIC (a value is not finite; the message contains
 * the index of the example). */
int aoei_contrastive_objective(const aoe_objective_options *o, const aoei_example_batch *batch, void *workspace,
                               size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                               aoe_error *err);
