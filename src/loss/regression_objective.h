/* SPDX-License-Identifier: MIT
 * Regression of cosines as in Sentence-BERT (Reimers and Gurevych 2019, section 3; CosineSimilarityLoss in
 * sentence-transformers): the mean squared difference between the cosine of a pair and its target. docs/objectives.md contains
 * the formula.
 */
#ifndef AOEI_LOSS_REGRESSION_OBJECTIVE_H
#define AOEI_LOSS_REGRESSION_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

/* Returns the bytes of workspace for batches of up to B pairs; 0 if the size overflows. The size never decreases when B or D
 * grows. */
size_t aoei_regression_objective_workspace(size_t B, size_t D);

/* Computes the mean squared error of a batch of arity 2 and its gradient. target: [B] target cosines, all finite. If ctx is
 * NULL, one thread is used. Errors: AOE_EARG (for example if the workspace is too small), AOE_ENUMERIC with the index of the
 * pair. */
int aoei_regression_objective(const double *target, const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                              const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
