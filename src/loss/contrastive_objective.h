/* SPDX-License-Identifier: MIT
 * The objective of examples without labels: a query with a positive text, or with a positive and a negative text.
 */
#ifndef AOEI_LOSS_CONTRASTIVE_OBJECTIVE_H
#define AOEI_LOSS_CONTRASTIVE_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

/* Bytes of workspace for batches of up to B examples; 0 if the size overflows or the arity is neither 2 nor 3. Grows with each
 * argument. */
size_t aoei_contrastive_objective_workspace(size_t B, size_t D, size_t arity);

/* aoe_contrastive with memory from workspace (aligned to AOEI_ALIGN). ctx NULL: one thread, the kernels that AOE_CPU allows.
 * Errors: AOE_EARG (also if the workspace is too small), AOE_ENUMERIC with the index of the example. */
int aoei_contrastive_objective(const aoe_objective_options *o, const aoei_example_batch *batch, void *workspace,
                               size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
