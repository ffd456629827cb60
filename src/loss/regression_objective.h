/* SPDX-License-Identifier: MIT
 * Regression of cosines as in Sentence-BERT (Reimers and Gurevych 2019, section 3): the mean
 * squared difference between the cosine of a pair and its target. docs/objectives.md contains
 * the formula.
 */
#ifndef AOEI_LOSS_REGRESSION_OBJECTIVE_H
#define AOEI_LOSS_REGRESSION_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

/* Bytes of workspace for batches of up to B pairs; 0 if the size overflows. Grows with B and with D. */
size_t aoei_regression_objective_workspace(size_t B, size_t D);

/* Value and gradient for a batch of arity 2. target: [B] target cosines, finite. ctx NULL: one thread.
 * Errors: AOE_EARG (also if the workspace is too small), AOE_ENUMERIC with the index of the pair. */
int aoei_regression_objective(const double *target, const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                              const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
