/* SPDX-License-Identifier: MIT
 * Regression of cosines as in Sentence-BERT (Reimers and Gurevych 2019, section 3; CosineSimilarityLoss in
 * sentence-transformers). The loss is the mean squared difference between the cosine of a pair and the target cosine of
 * the pair. docs/objectives.md contains the formula.
 */
#pragma once

#include "aoe_objective.h"
#include "loss/objective.h"
#include "base/context.h"

/* Returns the size in bytes of the workspace for batches of up to B pairs, or 0 if the size overflows. The size does
 * not decrease if B or D increases. */
size_t aoei_regression_objective_workspace(size_t B, size_t D);

/* Computes the mean squared error of a batch of pairs (arity 2) and its gradient. target[B] contains the target
 * cosines, which are finite. If ctx is NULL, one thread is used. Errors: AOE_EARG (for example, the workspace is too
 * small); AOE_ENUMERIC (a value is not finite; the message contains the index of the pair). */
int aoei_regression_objective(const double *target, const aoei_example_batch *batch, void *workspace,
                              size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                              aoe_error *err);
